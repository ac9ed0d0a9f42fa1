// MLS-MPM: the moving least squares material point method [1], with APIC transfers [2]. One world, parallel
// inside the step.
//
// Particles carry position x, velocity v, its affine part C (a velocity gradient) and the deformation
// gradient F. With w_i a B-spline at node i, d_i = x_i - x, and D^-1 = 4/dx^2 (quadratic) or 3/dx^2 (cubic),
// a step is
//
//   deform      F+ = (1 + dt C) F, then the material's plastic flow;  tau = Kirchhoff stress(F+)   laws/law.h
//   to grid     m_i = sum w_i m,  p_i = sum w_i (m v + (m C - dt V D^-1 tau) d_i)             transfer.h
//   on grid     v_i = p_i / (m_i + floor) + dt g;  walls;  colliders                          grid_velocity.h
//   to particles v+ = sum w_i v_i,  C+ = D^-1 sum w_i v_i d_i',  x+ = x + dt v+               transfer.h
//
// and its transpose runs these backwards, recomputing the grid from the particles: nothing but (x, v, C, F)
// is kept. Each stage's transpose sits beside it.
//
// Particles are sorted by block of cells in the workspace (the state stays in the caller's order), and
// pencils of cells scatter in four colours: no atomics, the same bits for any number of threads, and empty
// space costs no time.
//
// State      particle/x, particle/v (dimension numbers a particle), particle/C, particle/F (dimension^2, row
//            by row) and, where snow or sand is present, particle/plastic (one number: Jp of snow, volume
//            correction of sand)
// Controls   collider/<name>/{position, rotation, velocity, angular_velocity} of each collider that moves;
//            actuation
// Parameters gravity, dt, material/<name>/<parameter>, wall/friction (2 x dimension numbers, where a wall has
//            friction), collider/<name>/{friction, position, rotation} as the model.h says
//
// A liquid uses only det F, kept in F's first entry. Errors name particle and step: a particle that moves
// more than largest_courant cells in a step, one that leaves the grid, an element that inverts (det F <= 0).
//
// [1] Hu et al., A moving least squares material point method, SIGGRAPH 2018.
// [2] Jiang et al., The affine particle-in-cell method, 2015.
// Tests: tests/mpm/.
#pragma once

#include <memory>
#include <vector>

#include "costate/mpm/model.h"
#include "costate/system/system.h"

namespace costate::mpm {

template <class Real>
std::shared_ptr<System<Real>> system(const Model& model);

// The state of the model's particles at rest: C = 0, F = 1.
template <class Real>
std::vector<Real> initial_state(const Model& model);

extern template std::shared_ptr<System<float>> system<float>(const Model&);
extern template std::shared_ptr<System<double>> system<double>(const Model&);
extern template std::vector<float> initial_state<float>(const Model&);
extern template std::vector<double> initial_state<double>(const Model&);

}  // namespace costate::mpm

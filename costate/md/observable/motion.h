// How far atoms come, and how long they remember their velocity, as losses with exact gradients.
//
//   displacement   |x_k - x_0|^2 / atoms    the mean square displacement; in the long run 2 dimensions D t
//   velocity       v_k . v_0 / atoms        the autocorrelation; D = int_0^inf <v(t).v(0)> dt / dimensions
//
// A loss is sum_k weight_k quantity_k over its steps. With the weights of `green_kubo` the quantity
// `velocity` is the diffusion coefficient D itself. The start x_0, v_0 is a constant: its own gradient leaves
// out what the loss has of it directly. Positions are not wrapped into the box, so displacements are true
// ones.
// [Allen, Tildesley: Computer Simulation of Liquids, section 2.7]
// Tests: tests/md/motion_test.cpp.
#pragma once

#include <vector>

#include "costate/md/model.h"
#include "costate/system/objective.h"

namespace costate::md {

enum class Motion { displacement, velocity };

struct ObserveMotion {
  Motion of = Motion::displacement;
  std::vector<double> start = {};  // the states that the worlds start from: one for all, or one per world
  std::vector<std::int64_t> steps = {};  // empty: the final state
  std::vector<double> weights = {};      // one for all, or one per step; empty: 1
  std::vector<int> atoms = {};           // empty: all
};

template <class Real>
ObjectivePtr<Real> observe(const Model& model, const ObserveMotion& what);

// Weights of steps 0 ... steps with which the sum over `velocity` is the diffusion coefficient (trapezoids).
std::vector<double> green_kubo(std::int64_t steps, double dt, int dimensions);

extern template ObjectivePtr<float> observe(const Model&, const ObserveMotion&);
extern template ObjectivePtr<double> observe(const Model&, const ObserveMotion&);

}  // namespace costate::md

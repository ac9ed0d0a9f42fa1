// Soft bodies and cloth as a System: implicit steps with exact derivatives with respect to everything.
//
//   state      "x" [m], "v" [m/s]: 3 numbers per vertex; with bdf2 also "x_old", "v_old" of the step before;
//              "part/<name>/crease" [rad] of triangles that crease, one number per inner edge;
//              then those of the carrier as "model/q", "model/v", "model/act"
//   control    "hold/<name>/velocity" [m/s] of driven holds, "hold/<name>/spin" [rad/s] of those that turn,
//              "drive/<material>/<number>", "drive/<part>/pressure" [Pa], "drive/wind" [m/s] of driven ones;
//              then those of the carrier
//   parameter  "rest" [m], "gravity", "drag", "wind", "wind_drag", "dt", and of each material
//              "material/<name>/..." the numbers of its law, density, viscosity, thickness, bending; then
//              those of the carrier
//
// Laws are in laws/, cells and hinges in elements/, the step and its transpose in step/, meshes in mesh/.
// Arithmetic is double: System<float> rounds states and parameters, and nothing in between.
// Tests: tests/soft/.
#pragma once

#include <memory>

#include "costate/soft/soft_model.h"
#include "costate/system/system.h"

namespace costate::soft {

// Error for what makes no model: cells of no volume, vertices of no cell, numbers out of range.
template <class Real>
std::shared_ptr<System<Real>> soft_bodies(const SoftModel& model);

extern template std::shared_ptr<System<float>> soft_bodies<float>(const SoftModel&);
extern template std::shared_ptr<System<double>> soft_bodies<double>(const SoftModel&);

// The state at rest, or that of the given positions and velocities (empty: rest, and none).
std::vector<double> soft_state(const SoftModel& model, const std::vector<double>& x = {},
                               const std::vector<double>& v = {});

}  // namespace costate::soft

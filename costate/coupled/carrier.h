// An articulated model (costate/rigid: joints, actuators, MJCF, URDF) among soft bodies and cloth, both ways:
// vertices ride on its bodies, as the surface of a finger or as the seam of a pad, and the model feels what
// they feel.
//
//   soft::SoftModel m = ...;
//   m.holds = {{.name = "finger", .vertices = ..., .body = "left_finger"}};
//   m.carrier = coupled::carrier({.model = gripper});
//   const auto system = soft::soft_bodies<double>(m);
//       states: "x", "v" of the vertices, then "model/q", "model/v", "model/act"; controls: "ctrl"
//
// A step finds both at once (soft/step/carried_step.cpp): forces f of the dofs, one per dof, such that
//
//   (q, v, act)+ = rigid step with the generalised forces f
//   z_r = p(q+) + R(q+) c                   vertices that ride
//   grad of the soft bodies' potential = 0  free vertices
//   f = -sum J(q+)' (wrench of the residual of the vertices that ride)
//
// The rigid step is the model's own, with its integrator, limits, contacts and actuators; gravity and the
// length of a step are those of the soft bodies. Parameters: all of the model's by their names.
// Tests: tests/coupled/carrier_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "costate/rigid/rigid_system.h"
#include "costate/soft/step/carrier.h"

namespace costate::coupled {

struct CarrierModel {
  rigid::Model model = {};
  rigid::SystemOptions options = {};       // applied_forces is set whatever it says
  std::vector<double> initial_state = {};  // (q, v, act); empty: the model's reference configuration
};

// Error for what the model's dynamics do not simulate.
std::shared_ptr<const soft::Carrier> carrier(const CarrierModel& from);

}  // namespace costate::coupled

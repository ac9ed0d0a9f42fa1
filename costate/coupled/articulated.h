// Articulated models among material points, both ways. Shapes ride on bodies of a rigid model (costate/rigid:
// joints, actuators, MJCF, URDF); the nodes of the grid see them as colliders, and what momentum they give to
// the nodes the model loses.
//
//   mpm::Model m = ...;
//   m.mechanism = coupled::articulated({.model = arm, .shapes = {{.collider = cup, .body = "hand"}}});
//   const auto system = mpm::system<double>(m);     states: particles, then "q", "v", "act"; controls: "ctrl"
//
// A step of length dt from (q, v, act), with the shapes' Jacobians J_s(q) from generalised velocities to
// those of a shape's origin (V, W) and what body_contact.h sums up for each shape, an impulse j = (J, L) and
// a stiffness K = [K Kvw; Kvw' Kw]:
//
//   v0 = velocity after a rigid step that feels no material         the nodes are looked at with J_s v0: j, K
//   v1 = v0 + (M + sum J_s' K J_s)^-1 sum J_s' j                    the nodes are pushed with J_s v1: j
//   (q, v, act)+ = rigid step with the generalised forces sum J_s' j / dt
//
// v1 is where one Newton step towards the velocity after the step leads: with v0 alone a light link would be
// thrown back and forth by heavy water. Whatever v1 is, the model receives what the nodes lose. The rigid
// step is the model's own, with its integrator, limits, contacts and actuators; the step's length and gravity
// are the material's, those of the model are not used. Transposes: articulated.cpp, beside what they
// transpose.
//
// Parameters: all of the model's by their names but gravity and dt, then collider/<name>/{friction, position,
// rotation} of each shape, in its body's frame. In two dimensions the model moves in the plane z = 0: hinges
// about z, slides across it. Tests: tests/coupled/.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "costate/mpm/bodies/mechanism.h"
#include "costate/rigid/rigid_system.h"

namespace costate::coupled {

struct Attached {
  mpm::Collider collider = {};  // position and rotation in the body's frame
  std::string body = {};        // of the model
};

struct Articulation {
  rigid::Model model = {};
  std::vector<Attached> shapes = {};
  rigid::SystemOptions options = {};       // applied_forces is set whatever it says
  std::vector<double> initial_state = {};  // (q, v, act); empty: the model's reference configuration
};

// Throws an Error for a body that the model does not have, and for what its dynamics do not simulate.
std::shared_ptr<const mpm::Mechanism> articulated(const Articulation& articulation);

// World poses of the shapes of `mechanism`, which is one of these, at a state and parameters of its own
// signature (empty: its defaults).
struct ShapePose {
  std::array<double, 3> position, rotation;  // a rotation vector
};
std::vector<ShapePose> shape_poses(const mpm::Mechanism& mechanism, const std::vector<double>& x,
                                   const std::vector<double>& p = {});

}  // namespace costate::coupled

// implicitfast [1, "integrators"]: the step of euler.h with more on the implicit side.
//
//   (M + h B) a = tau + J' f,   B = damping of joints and tendons - d tau_act / d v - gyroscopic slopes
//
// implicit.h and gyroscopic.h hold B and its transpose.
// [1] MuJoCo documentation, Computation.  Tests: tests/rigid/rigid_system_test.cpp,
// tests/rigid/dynamics/gyroscopic_test.cpp.
#pragma once

#include "costate/core/error.h"
#include "costate/rigid/step/euler.h"

namespace costate::rigid {

struct ImplicitFast : Euler {
  // Free joints of bodies behind which nothing moves or weighs.
  static std::vector<int> lone_free_joints(const Model& model) {
    std::vector<int> lone;
    for (std::size_t j = 0; j < model.joints.size(); ++j) {
      const Joint& joint = model.joints[j];
      bool alone = joint.type == JointType::free;
      for (std::size_t b = 0; alone && b < model.bodies.size(); ++b) {
        const Body& other = model.bodies[b];
        if (int(b) != joint.body && other.root == joint.body) alone = other.mass == 0 && other.joints == 0;
      }
      if (alone) lone.push_back(int(j));
    }
    return lone;
  }

  static void set_up(const Model& model, Stepper& stepper) {
    stepper.implicit = Implicit::damping_and_actuators;
    if (!stepper.hard()) stepper.tree.spinning = lone_free_joints(model);
    if (has_fluid(model))
      throw Error({"implicitfast does not support forces of a fluid", {}, "use Euler or RK4"});
    if (stepper.hard() && stepper.tree.spatial_tendons)
      throw Error({"implicitfast does not support spatial tendons together with hard contact",
                   {},
                   "use Euler, or another contact model"});
    for (const TreeActuator& a : stepper.tree.actuators) {
      const bool supported =
          a.kind == TreeActuator::Kind::scalar_joint || a.kind == TreeActuator::Kind::tendon;
      if (a.muscle_gain) throw Error({"implicitfast does not support muscles", {}, "use Euler or RK4"});
      if (!supported && (a.affine_gain || a.affine_bias))
        throw Error(
            {"implicitfast supports velocity-dependent actuators on slide and hinge joints and tendons only",
             {},
             "use Euler or RK4"});
    }
  }
};

}  // namespace costate::rigid

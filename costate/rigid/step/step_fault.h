// What is wrong with the inputs of a step that is not finite, in words: a quaternion without a direction, a
// body that nothing weighs. Tests: tests/rigid/rigid_system_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/rigid/step/step.h"
#include "costate/system/system.h"

namespace costate::rigid {

// Mass and inertia of everything that a dof moves, and its armature: zero if there is none at all.
template <class Real>
Real inertia_behind(const Tree& tree, const Inputs<Real>& in, int lane, int lanes, std::size_t dof) {
  const TreeDof& d = tree.dofs[dof];
  Real sum = in.p[tree.joints[d.joint].p.armature * lanes + lane];
  for (int i = d.body; i < int(tree.bodies.size()); ++i) {
    int up = i;
    while (up > d.body) up = tree.bodies[up].parent;
    if (up != d.body) continue;
    const BodyParameters& at = tree.bodies[i].p;
    sum += in.p[at.mass * lanes + lane];
    for (int k = 0; k < 3; ++k) sum += in.p[(at.inertia + k) * lanes + lane];
  }
  return sum;
}

template <class Real>
typename System<Real>::Fault step_fault(const Stepper& stepper, const Signature& signature,
                                        const std::vector<std::string>& joint_names, const Inputs<Real>& in,
                                        int lane, int lanes) {
  const Tree& tree = stepper.tree;
  const auto all_zero = [&](const Real* numbers, int first, int count) {
    for (int i = first; i < first + count; ++i)
      if (numbers[i * lanes + lane] != Real(0)) return false;
    return true;
  };
  for (std::size_t j = 0; j < tree.joints.size(); ++j) {
    const TreeJoint& joint = tree.joints[j];
    if (joint.type != JointType::free && joint.type != JointType::ball) continue;
    const int first = joint.type == JointType::free ? joint.q + 3 : joint.q;
    if (!all_zero(in.x, first, 4)) continue;
    return {"the quaternion of joint \"" + joint_names[j] + "\", q[" + std::to_string(first) + "] to q[" +
                std::to_string(first + 3) + "], is zero",
            "no rotation is 1 0 0 0; rigid::initial_state(model) is where the model starts"};
  }
  for (const auto& unit : tree.p.units) {
    if (all_zero(in.p, unit.at, unit.length))
      return {"the parameter " + signature.fields(Role::parameter)[tree.p.field_of[unit.at]].name +
                  " is zero, and a direction must not be",
              "give it a length"};
  }
  for (std::size_t d = 0; d < tree.dofs.size(); ++d) {
    if (inertia_behind(tree, in, lane, lanes, d) > 0) continue;
    return {"joint \"" + joint_names[tree.dofs[d].joint] + "\" moves nothing that has a mass",
            "give its body a mass, or the joint armature"};
  }
  return {};
}

}  // namespace costate::rigid

// Actuators as a force term: their forces (actuation.h), of each joint together within the joint's limits.
//
//   tau_act = clamp(sum of the actuators' forces on a dof, actuator_force_range of its joint)
//
// Tests: tests/rigid/parity_test.cpp, rigid_system_test.cpp.
#pragma once

#include "costate/rigid/dynamics/actuation_adjoint.h"

namespace costate::rigid {

struct ActuatorForces {
  static bool on_bodies(const Tree& tree) { return tree.body_actuators; }

  // Adds to d.tau_act and, for sites, to d.applied; sets d.act_dot.
  template <class S>
  static void forces(const ForceInput<S>& in, Data<S>& d) {
    const StateIn<S>& x = in.x;
    actuation(in.tree, in.p, x.q, x.v, x.act, x.u, d.tau_act.data(), d);
    for (const TreeJoint& joint : in.tree.joints) {
      if (joint.p.actuator_force_range < 0) continue;
      S& tau = d.tau_act[joint.dof];
      tau = clamp_to(in.p + joint.p.actuator_force_range, tau);
    }
  }

  // Before limits, where a joint has some: what forces_vjp and implicit integrators look at.
  template <class S>
  static void recall_unlimited(const ForceInput<S>& in, Data<S>& d) {
    if (!in.tree.joint_force_limits) return;
    const StateIn<S>& x = in.x;
    std::fill(d.tau_act.begin(), d.tau_act.end(), S(0));
    actuation(in.tree, in.p, x.q, x.v, x.act, x.u, d.tau_act.data(), d);
  }

  // Needs recall_unlimited.
  template <class S>
  static void forces_vjp(const ForceInput<S>& in, const ForceBar<S>& bar, Data<S>& d) {
    const StateIn<S>& x = in.x;
    const StateBar<S>& to = bar.to;
    const S* tau_act_bar = bar.tau;
    if (in.tree.joint_force_limits) {
      std::copy(bar.tau, bar.tau + in.tree.nv, d.tau_act_bar.begin());
      for (const TreeJoint& joint : in.tree.joints) {
        const int range = joint.p.actuator_force_range;
        if (range < 0) continue;
        const std::size_t dof = joint.dof;
        d.tau_act_bar[dof] =
            clamp_vjp(in.p + range, d.tau_act[dof], bar.tau[dof], bar.wanted(range) ? to.p + range : nullptr);
      }
      tau_act_bar = d.tau_act_bar.data();
    }
    actuation_vjp<S>(in.tree, in.p, x.q, x.v, x.act, x.u, tau_act_bar, bar.act_dot, bar.slope, bar.wanted,
                     {to.q, to.v, to.act, to.u, to.p}, d);
  }
};

}  // namespace costate::rigid

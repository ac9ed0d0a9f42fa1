// Passive forces of joints: springs and dampers.
//
//   slide, hinge        tau = -k (q - springref) - b v
//   free translation    tau = -k (x - x_spring) - b v
//   ball, free rotation tau = -k log(q_spring^-1 q) - b w          body axes
//
// k stiffness, b damping, each shared by the dofs of a joint. q_spring of ball and free joints is the model's
// qpos_spring.
// Tests: tests/rigid/parity_test.cpp, rigid_system_test.cpp.
#pragma once

#include "costate/rigid/dynamics/force_term.h"
#include "costate/rigid/dynamics/kinematics.h"
#include "costate/rigid/dynamics/so3.h"

namespace costate::rigid {

// log(q_spring^-1 q / |q|)
template <class S>
COSTATE_INLINE Vec3<S> spring_rotation(const double* spring, const S* q) {
  S inverse;
  const Quat<S> unit = unit_quat(q, inverse);
  using T = value_t<S>;
  const Quat<S> rest{S(T(spring[0])), S(T(spring[1])), S(T(spring[2])), S(T(spring[3]))};
  return log_map(conjugate(rest) * unit);
}

struct PassiveForces {
  template <class S>
  static void forces(const ForceInput<S>& in, Data<S>& d) {
    const Tree& tree = in.tree;
    const S *p = in.p, *q = in.x.q, *v = in.x.v;
    S* tau = d.tau.data();
    for (const TreeJoint& joint : tree.joints) {
      if (tree.dampers) {
        const S b = p[joint.p.damping];
        for (int i = 0; i < dof_size(joint.type); ++i) tau[joint.dof + i] -= b * v[joint.dof + i];
      }
      if (!joint.has_spring) continue;
      const S k = p[joint.p.stiffness];
      const double* rest = tree.qpos_spring.data() + joint.q;
      switch (joint.type) {
        case JointType::free:
          for (int i = 0; i < 3; ++i) tau[joint.dof + i] -= k * (q[joint.q + i] - value_t<S>(rest[i]));
          add_to(tau + joint.dof + 3, -k * spring_rotation(rest + 3, q + joint.q + 3));
          break;
        case JointType::ball:
          add_to(tau + joint.dof, -k * spring_rotation(rest, q + joint.q));
          break;
        case JointType::slide:
        case JointType::hinge:
          tau[joint.dof] -= k * (q[joint.q] - p[joint.p.springref]);
          break;
      }
    }
  }

  template <class S>
  static void forces_vjp(const ForceInput<S>& in, const ForceBar<S>& bar, Data<S>&) {
    const Tree& tree = in.tree;
    const S *p = in.p, *q = in.x.q, *v = in.x.v, *tau_bar = bar.tau;
    const Wanted& wanted = bar.wanted;
    S *q_bar = bar.to.q, *v_bar = bar.to.v, *p_bar = bar.to.p;
    for (const TreeJoint& joint : tree.joints) {
      const int n = dof_size(joint.type);
      if (tree.dampers) {
        const S b = p[joint.p.damping];
        for (int i = joint.dof; i < joint.dof + n; ++i) {
          v_bar[i] -= b * tau_bar[i];
          if (wanted(joint.p.damping)) p_bar[joint.p.damping] -= v[i] * tau_bar[i];
        }
      }
      if (!joint.has_spring) continue;
      const S k = p[joint.p.stiffness];
      const bool want_k = wanted(joint.p.stiffness);
      const double* rest = tree.qpos_spring.data() + joint.q;
      const auto rotation = [&](const double* spring, const S* quat, int dof) {
        const Vec3<S> phi = spring_rotation(spring, quat), force_bar = vec3_at(tau_bar + dof);
        add_to(q_bar + dof, -k * log_jacobian_transpose(phi, force_bar));
        if (want_k) p_bar[joint.p.stiffness] -= dot(phi, force_bar);
      };
      switch (joint.type) {
        case JointType::free:
          for (int i = 0; i < 3; ++i) {
            q_bar[joint.dof + i] -= k * tau_bar[joint.dof + i];
            if (want_k)
              p_bar[joint.p.stiffness] -= (q[joint.q + i] - value_t<S>(rest[i])) * tau_bar[joint.dof + i];
          }
          rotation(rest + 3, q + joint.q + 3, joint.dof + 3);
          break;
        case JointType::ball:
          rotation(rest, q + joint.q, joint.dof);
          break;
        case JointType::slide:
        case JointType::hinge:
          q_bar[joint.dof] -= k * tau_bar[joint.dof];
          if (want_k) p_bar[joint.p.stiffness] -= (q[joint.q] - p[joint.p.springref]) * tau_bar[joint.dof];
          if (wanted(joint.p.springref)) p_bar[joint.p.springref] += k * tau_bar[joint.dof];
          break;
      }
    }
  }
};

}  // namespace costate::rigid

// Moving positions along velocities for a time h: q+ = q (+) h v.
//
//   slide, hinge, free translation   q+ = q + h v
//   ball, free rotation              q+ = q/|q| * exp(h w),  w in body axes
//
// Transpose, with theta the rotation in body axes and y the new quaternion: theta_y_bar = (1/2) vec(y* y_bar)
// (what y_bar has along y is lost: |y| = 1), theta_q_bar = R(exp) theta_y_bar, (h w)_bar = J' theta_y_bar
// (so3.h).
// Tests: tests/rigid/dynamics/so3_test.cpp, rigid_system_test.cpp.
#pragma once

#include "costate/rigid/dynamics/kinematics.h"
#include "costate/rigid/dynamics/so3.h"

namespace costate::rigid {

template <class S>
COSTATE_INLINE void store_quat(S* to, const Quat<S>& q) {
  to[0] = q.w;
  to[1] = q.x;
  to[2] = q.y;
  to[3] = q.z;
}

template <class S>
void integrate_position(const Tree& tree, const S* q, const S* v, const S& h, S* out) {
  for (const TreeJoint& joint : tree.joints) {
    const auto turn = [&](int at, int dof) {
      S inverse;
      store_quat(out + at, unit_quat(q + at, inverse) * exp_map(h * vec3_at(v + dof)));
    };
    switch (joint.type) {
      case JointType::free:
        for (int k = 0; k < 3; ++k) out[joint.q + k] = q[joint.q + k] + h * v[joint.dof + k];
        turn(joint.q + 3, joint.dof + 3);
        break;
      case JointType::ball:
        turn(joint.q, joint.dof);
        break;
      case JointType::slide:
      case JointType::hinge:
        out[joint.q] = q[joint.q] + h * v[joint.dof];
        break;
    }
  }
}

// out_bar: ambient (nq). Adds to q_bar (tangent, nv) and v_bar; returns h_bar.
template <class S>
S integrate_position_vjp(const Tree& tree, const S* q, const S* v, const S& h, const S* out_bar, S* q_bar,
                         S* v_bar) {
  S h_bar(0);
  for (const TreeJoint& joint : tree.joints) {
    const auto line = [&](int at, int dof) {
      q_bar[dof] += out_bar[at];
      v_bar[dof] += h * out_bar[at];
      h_bar += v[dof] * out_bar[at];
    };
    const auto turn = [&](int at, int dof) {
      S inverse;
      const Vec3<S> w = vec3_at(v + dof), phi = h * w;
      const Quat<S> e = exp_map(phi), y = unit_quat(q + at, inverse) * e;
      const Vec3<S> y_theta_bar = S(value_t<S>(0.5)) * (conjugate(y) * quat_at(out_bar + at)).vec();
      add_to(q_bar + dof, rotate(e, y_theta_bar));
      const Vec3<S> phi_bar = exp_jacobian_transpose(phi, y_theta_bar);
      add_to(v_bar + dof, h * phi_bar);
      h_bar += dot(w, phi_bar);
    };
    switch (joint.type) {
      case JointType::free:
        for (int k = 0; k < 3; ++k) line(joint.q + k, joint.dof + k);
        turn(joint.q + 3, joint.dof + 3);
        break;
      case JointType::ball:
        turn(joint.q, joint.dof);
        break;
      case JointType::slide:
      case JointType::hinge:
        line(joint.q, joint.dof);
        break;
    }
  }
  return h_bar;
}

// The ambient cotangent (nq) of the tangent one (nv): orthogonal to every quaternion. Overwrites q_bar.
template <class S>
void ambient_cotangent(const Tree& tree, const S* q, const S* tangent, S* q_bar) {
  for (const TreeJoint& joint : tree.joints) {
    const auto turn = [&](int at, int dof) {
      S inverse;
      const Quat<S> unit = unit_quat(q + at, inverse);
      store_quat(q_bar + at, quat_cotangent(unit, inverse, vec3_at(tangent + dof)));
    };
    switch (joint.type) {
      case JointType::free:
        for (int k = 0; k < 3; ++k) q_bar[joint.q + k] = tangent[joint.dof + k];
        turn(joint.q + 3, joint.dof + 3);
        break;
      case JointType::ball:
        turn(joint.q, joint.dof);
        break;
      case JointType::slide:
      case JointType::hinge:
        q_bar[joint.q] = tangent[joint.dof];
        break;
    }
  }
}

}  // namespace costate::rigid

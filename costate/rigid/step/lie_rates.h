// Runge-Kutta on rotations [1]: a stage stands at q0 (+) phi, phi = h times the rate of the stage before, and
// the rate of phi is J^-1(phi) w, so that a method of fourth order is of fourth order for rotations too.
// [1] Munthe-Kaas: High order Runge-Kutta methods on manifolds, Appl. Numer. Math. 29 (1999).
// Tests: tests/rigid/dynamics/free_body_test.cpp (order), rigid_system_test.cpp.
#pragma once

#include "costate/rigid/dynamics/data.h"
#include "costate/rigid/dynamics/so3.h"

namespace costate::rigid {

// The rate at which the rotation vector phi of a stage moves, q = q0 (+) phi: J^-1(phi) w for rotations, v
// for the rest.
template <class S>
void lie_rates(const Tree& t, const S& h, const S* rate_before, const S* v, S* rate) {
  std::copy(v, v + t.nv, rate);
  if (!rate_before) return;
  for (const TreeJoint& joint : t.joints) {
    if (joint.type != JointType::free && joint.type != JointType::ball) continue;
    const int dof = joint.type == JointType::free ? joint.dof + 3 : joint.dof;
    const Vec3<S> r = log_jacobian(h * vec3_at(rate_before + dof), vec3_at(v + dof));
    for (int k = 0; k < 3; ++k) rate[dof + k] = r[k];
  }
}
// Adds to the cotangents of v and of the rates before; returns h_bar.
template <class S>
S lie_rates_vjp(const Tree& t, const S& h, const S* rate_before, const S* v, const S* rate_bar,
                S* rate_before_bar, S* v_bar) {
  S h_bar(0);
  int next = 0;
  const auto copy_until = [&](int end) {
    for (; next < end; ++next) v_bar[next] += rate_bar[next];
  };
  for (const TreeJoint& joint : t.joints) {
    if (!rate_before || (joint.type != JointType::free && joint.type != JointType::ball)) continue;
    const int dof = joint.type == JointType::free ? joint.dof + 3 : joint.dof;
    copy_until(dof);
    next = dof + 3;
    Vec3<S> phi_bar, w_bar;
    const Vec3<S> before = vec3_at(rate_before + dof);
    log_jacobian_vjp(h * before, vec3_at(v + dof), vec3_at(rate_bar + dof), phi_bar, w_bar);
    add_to(v_bar + dof, w_bar);
    add_to(rate_before_bar + dof, h * phi_bar);
    h_bar += dot(before, phi_bar);
  }
  copy_until(t.nv);
  return h_bar;
}

}  // namespace costate::rigid

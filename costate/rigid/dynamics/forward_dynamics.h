// Forward dynamics of the bare tree, and all its derivatives: a = M(q)^-1 (tau - c(q, v)).
//
//   da/dtau = M^-1,     da/dq = -M^-1 dRNEA/dq,     da/dv = -M^-1 dRNEA/dv                              [1]
//
// q in the tangent space: nv columns (for ball and free joints the rotation in body axes, free translations
// in world axes). These are the blocks of a controller's linearisation; a rollout's gradient never forms
// them.
//
// dRNEA follows from the transpose of RNEA (rnea_adjoint.h) at lambda = e_k. Then the virtual velocity is the
// one motion S_k behind joint k and zero elsewhere, and what the sweep sums over subtrees are composites: F
// the force, I^c the inertia, B^c the matrix that takes a virtual velocity to v_bar,
//
//   B w = I (w x v) - w x* (I v),   before a joint: B + (S qd) x* I^c
//
// With v0, a0, v1 the motions before and after the joint of dof m, X = v0 x S_m:
//
//   k on the way from m to the world, another joint (S_k acts on all behind m):
//     dtau_k/dq_m = <S_k, P_m>,   P_m = S_m x* F + B_before' X + I^c (a0 x S_m)
//     dtau_k/dv_m = <S_k, Q_m>,   Q_m = B_after' S_m + I^c X
//   m on the way from k to the world, or the same joint, with A = I^c S_k, U = B_before S_k + v0_k x* A:
//     dtau_k/dq_m = <X, U> + <v0 x X + a0 x S_m, A>
//     dtau_k/dv_m = <S_m, U> + <X + v1 x S_m, A>
//
// A free joint counts as a translation followed by a rotation.
//
// [1] Carpentier, Mansard: Analytical derivatives of rigid body dynamics algorithms, RSS 2018.
// Tests: tests/rigid/dynamics/forward_dynamics_test.cpp (Pinocchio; the transpose row by row).
#pragma once

#include <algorithm>

#include "costate/rigid/dynamics/crba.h"
#include "costate/rigid/dynamics/rnea_adjoint.h"

namespace costate::rigid {

// d.qacc for given forces tau; leaves the factor of M in d.M and d.inverse_D. p: prepared parameters.
template <class S>
void forward_dynamics(const Tree& tree, const S* p, const S* q, const S* v, const S* tau, Data<S>& d) {
  kinematics(tree, p, q, d);
  body_inertias(tree, p, d);
  rnea(tree, p, v, static_cast<const S*>(nullptr), d.bias.data(), d);
  crba(tree, p, d);
  factor(tree.dofs, d.M.data(), d.inverse_D.data());
  for (std::size_t i = 0; i < d.qacc.size(); ++i) d.qacc[i] = tau[i] - d.bias[i];
  solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), d.qacc.data());
}

// A matrix from motions to forces, in blocks: n and f rows, w and v columns.
template <class S>
struct MotionToForce {
  Mat3<S> nw, nv, fw, fv;

  static MotionToForce zero() {
    const Mat3<S> z = Mat3<S>::zero();
    return {z, z, z, z};
  }
  MotionToForce& operator+=(const MotionToForce& b) {
    nw += b.nw;
    nv += b.nv;
    fw += b.fw;
    fv += b.fv;
    return *this;
  }
  friend Force<S> operator*(const MotionToForce& b, const Motion<S>& m) {
    return {b.nw * m.w + b.nv * m.v, b.fw * m.w + b.fv * m.v};
  }
  // The transpose, from motions to forces too.
  friend Force<S> transpose_times(const MotionToForce& b, const Motion<S>& m) {
    return {transpose_times(b.nw, m.w) + transpose_times(b.fw, m.v),
            transpose_times(b.nv, m.w) + transpose_times(b.fv, m.v)};
  }
};

// w -> I (w x v) - w x* (I v)
template <class S>
MotionToForce<S> velocity_product(const Inertia<S>& I, const Motion<S>& v) {
  const Force<S> Iv = I * v;
  const Mat3<S> vw = skew(v.w), vv = skew(v.v), h = skew(I.h), f = skew(Iv.f);
  return {skew(Iv.n) - I.Io.full() * vw - h * vv, f - h * vw, f + h * vw - I.mass * vv, (-I.mass) * vw};
}
// w -> m x* (I w)
template <class S>
MotionToForce<S> cross_inertia(const Motion<S>& m, const Inertia<S>& I) {
  const Mat3<S> w = skew(m.w), v = skew(m.v), h = skew(I.h);
  const Mat3<S> wh = w * h;
  return {w * I.Io.full() - v * h, wh + I.mass * v, S(-1) * wh, I.mass * w};
}

// Scratch of the derivatives, per dof.
template <class S>
struct DerivativeData {
  explicit DerivativeData(const Tree& t)
      : B(t.bodies.size()),
        P(t.dofs.size()),
        Q(P),
        A(P),
        U(P),
        X(t.dofs.size()),
        Y(X),
        Z(X),
        tau_q(square(t)),
        tau_v(square(t)) {}
  std::vector<MotionToForce<S>> B;
  std::vector<Force<S>> P, Q, A, U;
  std::vector<Motion<S>> X, Y, Z;  // v0 x S, v0 x X + a0 x S, X + v1 x S
  std::vector<S> tau_q, tau_v;     // dRNEA, row by row; zero between branches

 private:
  static std::size_t square(const Tree& t) { return t.dofs.size() * t.dofs.size(); }
};

// The vectors of the dofs [begin, end) that move together, and B before them.
template <class S>
void joint_vectors(int begin, int end, const Motion<S>& v0, const Motion<S>& a0, const Motion<S>& sv,
                   const Inertia<S>& Ic, const Force<S>& F, MotionToForce<S>& B, const Data<S>& d,
                   DerivativeData<S>& r) {
  const MotionToForce<S> after = B;
  B += cross_inertia(sv, Ic);
  for (int i = begin; i < end; ++i) {
    const Motion<S>& axis = d.axis[i];
    const Motion<S> X = cross(v0, axis), turned = cross(a0, axis);
    r.X[i] = X;
    r.Y[i] = cross(v0, X) + turned;
    r.Z[i] = X + cross(v0 + sv, axis);
    r.A[i] = Ic * axis;
    r.U[i] = B * axis + cross(v0, r.A[i]);
    r.P[i] = cross(axis, F) + transpose_times(B, X) + Ic * turned;
    r.Q[i] = transpose_times(after, axis) + Ic * X;
  }
}

// r.tau_q, r.tau_v. Needs rnea(v, qdd) and crba's composites in d.
template <class S>
void rnea_derivatives(const Tree& tree, const S* v, const S* qdd, const Data<S>& d, DerivativeData<S>& r) {
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) r.B[i] = velocity_product(d.inertia[i], d.v[i]);
  // First dof of the group that a dof moves with.
  const auto group_begin = [&](int i) {
    const TreeJoint& joint = tree.joints[tree.dofs[i].joint];
    if (joint.type == JointType::free) return i < joint.dof + 3 ? joint.dof : joint.dof + 3;
    return joint.dof;
  };
  for (std::size_t i = tree.bodies.size() - 1; i > 0; --i) {
    const TreeBody& body = tree.bodies[i];
    MotionToForce<S> B = r.B[i];
    for (int j = body.joint_end - 1; j >= body.joint_begin; --j) {
      const TreeJoint& joint = tree.joints[j];
      const Motion<S>&v0 = d.v_before[j], &a0 = d.a_before[j];
      if (joint.type == JointType::free) {
        const Motion<S> slide{Vec3<S>::zero(), vec3_at(v + joint.dof)},
            turn = combine(d, joint.dof + 3, 3, v);
        const Motion<S> a_mid{Vec3<S>::zero(), a0.v + vec3_at(qdd + joint.dof)};
        joint_vectors(joint.dof + 3, joint.dof + 6, slide, a_mid, turn, d.composite[i], d.force[i], B, d, r);
        joint_vectors(joint.dof, joint.dof + 3, v0, a0, slide, d.composite[i], d.force[i], B, d, r);
      } else {
        const int n = dof_size(joint.type);
        joint_vectors(joint.dof, joint.dof + n, v0, a0, combine(d, joint.dof, n, v), d.composite[i],
                      d.force[i], B, d, r);
      }
    }
    if (body.parent > 0) r.B[body.parent] += B;
  }
  const int n = tree.nv;
  for (int k = 0; k < n; ++k) {
    const std::size_t at = k;
    const int end = group_begin(k);
    for (int m = k; m >= 0; m = tree.dofs[m].parent) {
      const std::size_t up = m;
      const auto same_or_up = [&](std::size_t from,
                                  std::size_t to) {  // `to` on the way from `from`, or in its group
        r.tau_q[from * static_cast<std::size_t>(n) + to] = dot(r.X[to], r.U[from]) + dot(r.Y[to], r.A[from]);
        r.tau_v[from * static_cast<std::size_t>(n) + to] =
            dot(d.axis[to], r.U[from]) + dot(r.Z[to], r.A[from]);
      };
      same_or_up(at, up);
      if (m >= end) {
        if (m != k) same_or_up(up, at);
      } else {
        r.tau_q[up * static_cast<std::size_t>(n) + at] = dot(d.axis[up], r.P[at]);
        r.tau_v[up * static_cast<std::size_t>(n) + at] = dot(d.axis[up], r.Q[at]);
      }
    }
  }
}

// nv x nv matrices, row by row, overwritten. After forward_dynamics at the same state.
template <class S>
void forward_dynamics_derivatives(const Tree& tree, const S* p, const S* v, Data<S>& d, DerivativeData<S>& r,
                                  S* da_dq, S* da_dv, S* da_dtau) {
  const int n = tree.nv;
  rnea(tree, p, v, static_cast<const S*>(d.qacc.data()), d.bias.data(), d);
  rnea_derivatives(tree, v, static_cast<const S*>(d.qacc.data()), d, r);
  std::fill(da_dtau, da_dtau + n * n, S(0));
  for (int i = 0; i < n; ++i) {
    S* row = da_dtau + i * n;
    row[i] = S(1);
    solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), row);
    S *by_q = da_dq + i * n, *by_v = da_dv + i * n;
    std::fill(by_q, by_q + n, S(0));
    std::fill(by_v, by_v + n, S(0));
    // Row i of M^-1 times dRNEA, whose entries couple k with its ancestors only, both ways.
    for (int k = 0; k < n; ++k) {
      const S weight = row[k];
      S q_sum(0), v_sum(0);
      for (int m = tree.dofs[k].parent; m >= 0; m = tree.dofs[m].parent) {
        const std::size_t down = k * n + m, up = m * n + k;
        by_q[m] -= weight * r.tau_q[down];
        by_v[m] -= weight * r.tau_v[down];
        q_sum += row[m] * r.tau_q[up];
        v_sum += row[m] * r.tau_v[up];
      }
      const std::size_t diagonal = k * n + k;
      by_q[k] -= q_sum + weight * r.tau_q[diagonal];
      by_v[k] -= v_sum + weight * r.tau_v[diagonal];
    }
  }
}

}  // namespace costate::rigid

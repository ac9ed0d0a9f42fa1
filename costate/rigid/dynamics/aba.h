// Forward dynamics by articulated bodies [1, ch. 7]: a = M(q)^-1 (tau - c(q, v)) in time proportional to the
// number of dofs, without M.
//
// With the accelerations and forces that the velocities alone cause (rnea_forward without qdd) taken off,
// each body asks for f = I a + b, and what lies behind a dof S is one articulated body:
//
//   up the tree     U = I^A S,   D = <S, U> + armature,   u = tau - <S, b^A>
//                   I^A before = I^A - U U'/D,            b^A before = b^A + U u/D
//   down the tree   qdd = (u - <a, U>)/D,                 a behind = a before + S qdd
//
// A joint of several dofs is taken dof by dof, a massless body between each two. The tables U and 1/D are a
// factor of M: two sweeps of the same kind give M^-1 x.
//
// Transpose: lambda = M^-1 qdd_bar is the cotangent of tau; -lambda through the transpose of RNEA gives the
// rest (rnea_adjoint.h).
//
// The steps use CRBA and its factor instead (crba.h): constraints and implicit damping need M itself. An arm
// of 7 dofs is quicker that way too; at 32 dofs this one takes a fifth less time, and for long chains much
// less (bench/bench_rigid.cpp has both).
//
// [1] Featherstone: Rigid Body Dynamics Algorithms, 2008. Tests: tests/rigid/dynamics/aba_test.cpp.
#pragma once

#include "costate/rigid/dynamics/rnea_adjoint.h"

namespace costate::rigid {

// Symmetric, from motions to forces: n = nw w + nv v, f = nv' w + fv v.
template <class S>
struct ArticulatedInertia {
  Sym3<S> nw;
  Mat3<S> nv;
  Sym3<S> fv;

  static COSTATE_INLINE ArticulatedInertia of(const Inertia<S>& I) {
    return {I.Io, skew(I.h), I.mass * Sym3<S>::identity()};
  }
  friend COSTATE_INLINE Force<S> operator*(const ArticulatedInertia& I, const Motion<S>& m) {
    return {I.nw * m.w + I.nv * m.v, transpose_times(I.nv, m.w) + I.fv * m.v};
  }
  COSTATE_INLINE ArticulatedInertia& operator+=(const ArticulatedInertia& b) {
    nw += b.nw;
    nv += b.nv;
    fv += b.fv;
    return *this;
  }
  // I - s U U'
  COSTATE_INLINE void take_off(const S& s, const Force<S>& U) {
    nw -= s * outer(U.n);
    nv -= outer(s * U.n, U.f);
    fv -= s * outer(U.f);
  }
};

template <class S>
struct AbaData {
  explicit AbaData(const Tree& t)
      : inertia(t.bodies.size()),
        bias(t.bodies.size()),
        acceleration(t.bodies.size()),
        U(t.dofs.size()),
        inverse_D(t.dofs.size()) {}

  std::vector<ArticulatedInertia<S>> inertia;  // of the body and all behind it, before its joints
  std::vector<Force<S>> bias;
  std::vector<Motion<S>> acceleration;
  std::vector<Force<S>> U;
  std::vector<S> inverse_D;
};

// The factor of M: U and 1/D. Needs body_inertias.
template <class S>
void aba_factor(const Tree& tree, const S* p, const Data<S>& d, AbaData<S>& w) {
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) w.inertia[i] = ArticulatedInertia<S>::of(d.inertia[i]);
  for (std::size_t i = tree.bodies.size() - 1; i > 0; --i) {
    const TreeBody& body = tree.bodies[i];
    ArticulatedInertia<S>& I = w.inertia[i];
    for (int k = body.dof_end - 1; k >= body.dof_begin; --k) {
      w.U[k] = I * d.axis[k];
      const S D = dot(d.axis[k], w.U[k]) + p[tree.joints[tree.dofs[k].joint].p.armature];
      w.inverse_D[k] = S(1) / D;
      I.take_off(w.inverse_D[k], w.U[k]);
    }
    if (body.parent > 0) w.inertia[body.parent] += I;
  }
}

// x <- M^-1 (x - sum <S, b>), with b in w.bias on entry: the force that each body asks for. Overwrites w.bias
// and w.acceleration.
template <class S>
void aba_sweeps(const Tree& tree, const Data<S>& d, AbaData<S>& w, S* x) {
  for (std::size_t i = tree.bodies.size() - 1; i > 0; --i) {
    const TreeBody& body = tree.bodies[i];
    Force<S> b = w.bias[i];
    for (int k = body.dof_end - 1; k >= body.dof_begin; --k) {
      x[k] = w.inverse_D[k] * (x[k] - dot(d.axis[k], b));
      b += x[k] * w.U[k];
    }
    if (body.parent > 0) w.bias[body.parent] += b;
  }
  w.acceleration[0] = Motion<S>::zero();
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
    const TreeBody& body = tree.bodies[i];
    Motion<S> a = w.acceleration[body.parent];
    for (int k = body.dof_begin; k < body.dof_end; ++k) {
      x[k] -= w.inverse_D[k] * dot(a, w.U[k]);
      a += x[k] * d.axis[k];
    }
    w.acceleration[i] = a;
  }
}

// d.qacc for given forces tau; leaves the factor of M in w. p: prepared parameters.
template <class S>
void aba(const Tree& tree, const S* p, const S* q, const S* v, const S* tau, Data<S>& d, AbaData<S>& w) {
  kinematics(tree, p, q, d);
  body_inertias(tree, p, d);
  rnea_forward<S>(tree, vec3_at(p + tree.p.gravity), v, nullptr, d);
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) w.bias[i] = body_force(d.inertia[i], d.v[i], d.a[i]);
  aba_factor(tree, p, d, w);
  std::copy(tau, tau + tree.nv, d.qacc.begin());
  aba_sweeps(tree, d, w, d.qacc.data());
}

// x <- M^-1 x with the factor that aba or aba_factor left.
template <class S>
void aba_solve(const Tree& tree, const Data<S>& d, AbaData<S>& w, S* x) {
  std::fill(w.bias.begin(), w.bias.end(), Force<S>::zero());
  aba_sweeps(tree, d, w, x);
}

// Cotangents of q (tangent space), v, tau and the wanted parameters, given that of qdd; after aba at the same
// state. bar.qdd is not used.
template <class S>
void aba_vjp(const Tree& tree, const S* p, const S* q, const S* v, const S* qdd_bar, const Wanted& wanted,
             const RneaBar<S>& bar, S* tau_bar, Data<S>& d, AbaData<S>& w) {
  std::copy(qdd_bar, qdd_bar + tree.nv, d.lambda.begin());
  aba_solve(tree, d, w, d.lambda.data());
  rnea_forward<S>(tree, vec3_at(p + tree.p.gravity), v, d.qacc.data(), d);
  for (std::size_t i = 0; i < d.lambda.size(); ++i) {
    tau_bar[i] += d.lambda[i];
    d.minus_lambda[i] = -d.lambda[i];
  }
  for (const TreeJoint& joint : tree.joints) {
    if (!wanted(joint.p.armature)) continue;
    for (int i = joint.dof; i < joint.dof + dof_size(joint.type); ++i)
      bar.p[joint.p.armature] -= d.lambda[i] * d.qacc[i];
  }
  virtual_velocities<S>(tree, d.minus_lambda.data(), d);
  rnea_vjp<S>(tree, p, q, v, d.qacc.data(), d.minus_lambda.data(), false, wanted, bar, d);
}

}  // namespace costate::rigid

// The gyroscopic force of a free body that carries nothing else, implicit in the velocity: implicitfast
// treats it so [1], and a spinning body gains no energy.
//
// In body axes, with w the angular velocity, I the moment of inertia about the body's origin and
// h = mass * com, the force of inertia at rest is
//
//   c = (R (w x (w x h)),  w x I w)
//
// on (translation, rotation), so that its slope has columns for rotations only:
//
//   G x = (R (x x (w x h) + w x (x x h)),  x x I w + w x I x)
//
// M + hB + hG is not symmetric. With the factor of K = M + hB, the columns V = K^-1 G and N = 1 + h V_rot (3
// x 3),
//
//   (K + hG)^-1 f = y - h V N^-1 y_rot,   y = K^-1 f             (K + hG)^-T b = K^-1 (b - h E N^-T V' b)
//
// where E puts three numbers in the places of the rotation. Cotangent of G: that of -h <mu, G a> with mu the
// second solution, bilinear and symmetric in (w, a_rot).
//
// [1] MuJoCo documentation, Computation: "gyroscopic derivatives for free bodies".
// Tests: tests/rigid/dynamics/gyroscopic_test.cpp, parity_test.cpp.
#pragma once

#include "costate/rigid/dynamics/crba.h"
#include "costate/rigid/dynamics/rnea_adjoint.h"

namespace costate::rigid {

// A body in its own axes.
template <class S>
struct Spin {
  Vec3<S> w, h;
  Sym3<S> I;
};
template <class S>
COSTATE_INLINE Spin<S> spin_of(const TreeJoint& joint, const TreeBody& body, const S* p, const S* v) {
  const Vec3<S> c = vec3_at(p + body.p.com);
  Sym3<S> I = sym3_at(p + body.p.inertia);
  I += p[body.p.mass] * point_inertia(c);
  return {vec3_at(v + joint.dof + 3), p[body.p.mass] * c, I};
}

// G e_k for the three rotations, then K^-1 of it: columns of six.
template <class S>
struct SpinColumns {
  S V[3][6];
  Mat3<S> N_inverse;
};

template <class S>
SpinColumns<S> spin_columns(const Tree& tree, const TreeJoint& joint, const S* p, const S* v,
                            const Data<S>& d) {
  const std::size_t b = joint.body;
  const Spin<S> s = spin_of(joint, tree.bodies[b], p, v);
  const S h = p[tree.p.dt];
  SpinColumns<S> out;
  Mat3<S> N = Mat3<S>::identity();
  const Vec3<S> Iw = s.I * s.w, wh = cross(s.w, s.h);
  for (int k = 0; k < 3; ++k) {
    Vec3<S> e = Vec3<S>::zero();
    e[k] = S(1);
    const Vec3<S> f = d.R[b] * (cross(e, wh) + cross(s.w, cross(e, s.h)));
    const Vec3<S> n = cross(e, Iw) + cross(s.w, s.I * e);
    S* column = out.V[k];
    for (int i = 0; i < 3; ++i) {
      column[i] = f[i];
      column[3 + i] = n[i];
    }
    solve_factored_block(tree.dofs, joint.dof, 6, d.M.data(), d.inverse_D.data(), column);
    for (int i = 0; i < 3; ++i) N(i, k) += h * column[3 + i];
  }
  out.N_inverse = inverse(N);
  return out;
}

// From K^-1 f to (K + hG)^-1 f.
template <class S>
void add_gyroscopic(const Tree& tree, const S* p, const S* v, const Data<S>& d, S* y) {
  for (const int j : tree.spinning) {
    const TreeJoint& joint = tree.joints[j];
    const SpinColumns<S> s = spin_columns(tree, joint, p, v, d);
    S* a = y + joint.dof;
    const Vec3<S> x = p[tree.p.dt] * (s.N_inverse * vec3_at(a + 3));
    for (int i = 0; i < 6; ++i) a[i] -= s.V[0][i] * x[0] + s.V[1][i] * x[1] + s.V[2][i] * x[2];
  }
}

// From b to what K^-1 makes (K + hG)^-T b of.
template <class S>
void add_gyroscopic_transposed(const Tree& tree, const S* p, const S* v, const Data<S>& d, S* b) {
  for (const int j : tree.spinning) {
    const TreeJoint& joint = tree.joints[j];
    const SpinColumns<S> s = spin_columns(tree, joint, p, v, d);
    S* at = b + joint.dof;
    Vec3<S> Vb = Vec3<S>::zero();
    for (int k = 0; k < 3; ++k) {
      for (int i = 0; i < 6; ++i) Vb[k] += s.V[k][i] * at[i];
    }
    const Vec3<S> g = p[tree.p.dt] * transpose_times(s.N_inverse, Vb);
    for (int i = 0; i < 3; ++i) at[3 + i] -= g[i];
  }
}

// The cotangents of -h <mu, G a>. q_bar in the tangent space.
template <class S>
void gyroscopic_vjp(const Tree& tree, const S* p, const S* v, const S* mu, const S* a, const Wanted& wanted,
                    S* q_bar, S* v_bar, S* p_bar, const Data<S>& d) {
  const S h = p[tree.p.dt];
  for (const int j : tree.spinning) {
    const TreeJoint& joint = tree.joints[j];
    const std::size_t b = joint.body;
    const TreeBody& body = tree.bodies[b];
    const Spin<S> s = spin_of(joint, body, p, v);
    const Vec3<S> x = vec3_at(a + joint.dof + 3);
    // <mu, G a> = f.(x x (w x h) + w x (x x h)) + n.(x x I w + w x I x)
    const Vec3<S> f = transpose_times(d.R[b], vec3_at(mu + joint.dof)), n = vec3_at(mu + joint.dof + 3);
    const Vec3<S> Gx = cross(x, cross(s.w, s.h)) + cross(s.w, cross(x, s.h));
    const Vec3<S> fx = cross(f, x), nx = cross(n, x), fw = cross(f, s.w), nw = cross(n, s.w);
    add_to(v_bar + joint.dof + 3,
           -h * (cross(s.h, fx) + cross(cross(x, s.h), f) + s.I * nx + cross(s.I * x, n)));
    add_to(q_bar + joint.dof + 3, -h * cross(Gx, f));
    if (wanted(tree.p.dt)) p_bar[tree.p.dt] -= dot(f, Gx) + dot(nx, s.I * s.w) + dot(nw, s.I * x);
    if (!(wanted(body.p.mass) || wanted(body.p.com) || wanted(body.p.inertia))) continue;
    inertia_vjp<S>(body.p, p, Mat3<S>::identity(), Vec3<S>::zero(), {-h * nx, -h * fx},
                   {s.w, Vec3<S>::zero()}, {-h * nw, -h * fw}, {x, Vec3<S>::zero()}, p_bar);
  }
}

}  // namespace costate::rigid

// Noslip iterations: after the convex problem of constraints.h is solved, friction alone once more, as if it
// were not soft.
//
// The convex problem lets contacts and joints with dry friction creep, since its friction gives way. A model
// that asks for N noslip iterations [1] sweeps N times over the forces F_k of friction, in the order dry
// friction of dofs, of tendons, then contacts, and takes each to the least |acceleration|^2 that its bound
// allows while all the others are held:
//
//   a        = a_s + M^-1 J' (F - F_s)                 a_s, F_s: what the convex problem gives
//   b        = J_k a - aref_k - A_kk F_k,              A = J M^-1 J'
//   F_k      = argmin 1/2 F' A_kk F + b' F             over |F| <= c
//
//   dry friction   one row,   c = frictionloss
//   pyramid        one row per tangent,  c = mu_k (f_+ + f_-), the forces of its two edges
//   ellipse        all rows of a contact but the normal one: |(F_i / mu_i)_i| <= f_n    (noslip_cone.h)
//
// Normal forces, limits and equalities keep the force of the convex problem.
//
// Transpose: the sweeps in reverse, with the forces before each of them kept. With F_bar = J M^-1 a_bar they
// give the cotangents of A, of r = J a_s - aref, of F_s and of c. Those of r, F_s and c join the transpose of
// the convex problem (constraint_adjoint.h, contact_adjoint.h): c.noslip.m is added to the cotangent of the
// forces there, c.noslip.pull to aref's, and so on. The rest, dA = dJ W + W' dJ' - W' dM W with W = M^-1 J',
// needs a row of J_bar per row of friction, and a product <W_k, dM X_k> each.
//
// [1] MuJoCo documentation, Computation, "noslip solver".
// Tests: tests/rigid/contact/noslip_test.cpp (Dual, contract, MuJoCo).
#pragma once

#include <vector>

#include "costate/rigid/constraints/constraints.h"

namespace costate::rigid {

// Rows of friction that a sweep moves together: [first, first + rows) of NoslipData.
struct NoslipBlock {
  int group = 0;  // of the constraints
  int first = 0, rows = 1;
  bool cone = false;  // bounded by an ellipse
};

template <class S>
struct NoslipData {
  std::vector<NoslipBlock> blocks;
  std::vector<int> row;                   // among all rows, of each row of friction
  std::vector<int> place;                 // of each row among those of friction, or -1
  std::vector<S> L, inverse_D;            // the factor of M
  std::vector<S> W, A;                    // W_k one after the other; A row by row
  std::vector<S> start, residual, bound;  // F_s, J a_s - aref, c (of a cone: f_n in its first row)
  std::vector<S> force, history;          // F, and F before each sweep
  std::vector<S> a;                       // after the sweeps

  // The transpose.
  std::vector<S> force_bar, start_bar, residual_bar, bound_bar, A_bar;
  std::vector<S> J_bar, X;                 // of each row of friction, nv numbers
  std::vector<S> m, pull, friction, work;  // of all rows: cotangents of f, -y, mu; of a contact <m, f>
  bool transposed = false;                 // these wait to be added

  int rows() const { return int(row.size()); }
};

template <class S>
struct ConstraintData;

// c.noslip.a, given the convex problem's solution in c.a with the rows evaluated there and c.mass. keep: the
// history, for the transpose.
template <class S>
void noslip(const Tree& tree, const Constraints& cons, bool keep, ConstraintData<S>& c);

// Given the cotangent of c.noslip.a in c.Ma, and M^-1 times it in lambda: c.Ma becomes the cotangent of c.a.
// Fills what "the transpose" names. Needs the history.
template <class S>
void noslip_vjp(const Tree& tree, const Constraints& cons, const S* lambda, ConstraintData<S>& c);

#if defined(COSTATE_ON_DEVICE)  // refused there (rigid_model.cpp)
template <class S>
void noslip(const Tree&, const Constraints&, bool, ConstraintData<S>&) {}
template <class S>
void noslip_vjp(const Tree&, const Constraints&, const S*, ConstraintData<S>&) {}
#endif

}  // namespace costate::rigid

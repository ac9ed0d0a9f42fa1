// What a kind of constraint is: a file with a struct of static functions, and one line in kinds.h.
//
//   weight(tree, g, row)      where the row's inverse weight comes from
//   rows(in, d, J)            positions r of the group's rows (limits: pos - margin) and its Jacobian
//   rows_vjp(in, bar, d)      its transpose
//
// Rows of friction also have loss(tree, g), rows that hold bodies together bias(in, d, bias).
// make_constraints says which groups a model has, constraint_rows.h makes reference accelerations and weights
// of r, constraint_adjoint.h transposes.
// Tests: tests/rigid/constraints/constraints_test.cpp (cotangents of every kind against Dual),
// parity_test.cpp.
#pragma once

#include <algorithm>

#include "costate/rigid/constraints/constraints.h"
#include "costate/rigid/dynamics/data.h"
#include "costate/rigid/dynamics/rnea_adjoint.h"

namespace costate::rigid {

template <class S>
struct GroupInput {
  const Tree& tree;
  const ConstraintGroup& g;
  const S *p, *q;

  std::size_t index() const { return g.index; }
  int dofs() const { return int(g.dofs.size()); }
};

template <class S>
struct GroupGeometry {
  S r[6];
  S e = S(0);  // violation that the softness sees, where it is one for all rows; else it is |r| of each
  bool shared_e = false;  // it is
};

template <class S>
struct ConstraintBar {
  S *q, *v, *p;  // q in the tangent space
};

// Cotangents of the rows, and what they are added to.
template <class S>
struct GroupBar {
  const S *r, *J;
  const S* acc;  // of the rows' accelerations, where they hold bodies together
  const Wanted& wanted;
  const ConstraintBar<S>& to;
};

// The inverse weight of a row is a sum of up to two parameters.
struct WeightSource {
  int first = kAbsent, second = kAbsent;
};
template <class S>
COSTATE_INLINE S weight_of(const WeightSource& from, const S* p) {
  S w(0);
  if (from.first >= 0) w += p[from.first];
  if (from.second >= 0) w += p[from.second];
  return w;
}

struct ConstraintKind {
  // Rows hold points of bodies together: J a - aref contains their true relative acceleration, so the
  // reference also takes off the acceleration that velocities alone cause (dJ/dt v).
  static constexpr bool kHoldsBodies = false;
  template <class S>
  static void bias(const GroupInput<S>&, const Data<S>&, S*) {}
  // The parameter that bounds the force of dry friction.
  static int loss(const Tree&, const ConstraintGroup&) { return kAbsent; }
};

}  // namespace costate::rigid

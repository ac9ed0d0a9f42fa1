// Dry friction of a dof or a tendon: pos = 0, J = 1 or the tendon's. The force is bounded by the parameter
// frictionloss.
#pragma once

#include "costate/rigid/constraints/paths.h"

namespace costate::rigid {

struct DofFriction : ConstraintKind {
  static const TreeJoint& joint(const Tree& tree, const ConstraintGroup& g) {
    return tree.joints[tree.dofs[g.index].joint];
  }
  static int loss(const Tree& tree, const ConstraintGroup& g) { return joint(tree, g).p.frictionloss; }
  static WeightSource weight(const Tree& tree, const ConstraintGroup& g, int) {
    return {joint(tree, g).p.invweight + g.index - joint(tree, g).dof, kAbsent};
  }
  template <class S>
  static GroupGeometry<S> rows(const GroupInput<S>&, const Data<S>&, S* J) {
    GroupGeometry<S> out;
    out.r[0] = S(0);
    J[0] = S(1);
    return out;
  }
  template <class S>
  static void rows_vjp(const GroupInput<S>&, const GroupBar<S>&, Data<S>&) {}
};

struct TendonFriction : ConstraintKind {
  static int loss(const Tree& tree, const ConstraintGroup& g) { return tree.tendons[g.index].p.frictionloss; }
  static WeightSource weight(const Tree& tree, const ConstraintGroup& g, int) {
    return {TendonPath::weight(tree, g.index), kAbsent};
  }
  template <class S>
  static GroupGeometry<S> rows(const GroupInput<S>& in, const Data<S>& d, S* J) {
    GroupGeometry<S> out;
    out.r[0] = S(0);
    std::fill(J, J + in.dofs(), S(0));
    TendonPath::add_jacobian(in, in.g.index, S(1), d, J);
    return out;
  }
  template <class S>
  static void rows_vjp(const GroupInput<S>& in, const GroupBar<S>& bar, Data<S>& d) {
    TendonPath::vjp(in, in.g.index, S(1), S(0), bar.J, bar.to, d);
  }
};

}  // namespace costate::rigid

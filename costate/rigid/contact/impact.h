// Rigid contact: what two bodies do to each other's velocities in the moment they meet.
//
//   M (v+ - v) = J' lambda,      lambda from w = J v and A = J M^-1 J' by impact_law.h
//
// for the one contact point where a world's bodies meet; of several at once, one after the other. Where the
// point would rebound more slowly than rest_speed, e counts as 0 and the point stays in contact from then on,
// as a row of the convex problem: this is what ends the infinitely many ever smaller bounces of a ball
// (Zeno). Joint limits, equalities and contacts at rest do not take part in the impulse: they answer to the
// new velocities with their own softness.
//
// Transpose. With lambda_bar = J M^-1 v+_bar, Z from impact_law.h, nu = M^-1 (v+_bar - J' Z),
// w_bar = -((1 + e) Z_0, Z_t):
//
//   J_bar = lambda nu' - Z (v+ - v)' + w_bar v',      v_bar = v+_bar + J' w_bar,      e_bar = -w_0 Z_0
//   M_bar = -nu (v+ - v)'    by rnea_adjoint.h, without velocities
//
// which contact_adjoint.h carries on to positions and shapes. That the moment itself moves is the split
// step's business.
//
// Compiled once for each scalar in impact.cpp. Tests: tests/rigid/contact/event_test.cpp.
#pragma once

#include "costate/rigid/contact/contact_adjoint.h"
#include "costate/rigid/contact/impact_law.h"

namespace costate::rigid {

template <class S>
struct ImpactWork {
  ImpactWork(const Tree& tree, const Constraints& cons)
      : columns(kMostRows * tree.nv),
        change(tree.nv),
        nu(change.size()),
        q_bar(change.size()),
        ambient(tree.nq),
        gap(cons.points) {}

  std::vector<S> columns;  // M^-1 J' of a point
  std::vector<S> change;   // v+ - v
  std::vector<S> nu, q_bar, ambient, gap;
};

// v += M^-1 J' lambda for the contact point `event` of each world (< 0: none). Returns the worlds in which
// the point stays in contact.
template <class S>
mask_t<S> impact(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S& event, S* v,
                 Data<S>& d, ConstraintData<S>& c, ImpactWork<S>& w);

// x_bar: from the cotangents of (q, v+) to those of (q, v). Adds to p_bar.
template <class S>
void impact_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const S& event,
                const Wanted& wanted, S* x_bar, S* p_bar, Data<S>& d, ConstraintData<S>& c, ImpactWork<S>& w);

}  // namespace costate::rigid

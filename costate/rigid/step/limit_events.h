// Limits of joints as events of a split step (split_step.h): where one begins to act, and where it ends.
//
//   gap   r = x - low - margin, high - x - margin     of a hinge or a slide
//         r = high - |phi| - margin                   of a ball joint
//   rate  r' = J v
//
// each a group's row (path_limit.h, ball_limit.h), numbered after the contact points. A limit is a spring and
// a damper like a contact without friction, so that the parts in which it pushes are as long as those of a
// contact (part_lengths.h). Limits of tendons are left to the time grid (onset_watch.h).
// Tests: tests/rigid/constraints/limit_onset_test.cpp.
#pragma once

#include "costate/rigid/constraints/kinds.h"
#include "costate/rigid/step/step.h"

namespace costate::rigid {

// f(event, group, row of the group)
template <class F>
void each_limit(const Constraints& cons, const F& f) {
  for (std::size_t j = 0; j < cons.cut_limits.size(); ++j) {
    const CutLimit& limit = cons.cut_limits[j];
    f(std::size_t(cons.points) + j, cons.groups[std::size_t(limit.group)], limit.row);
  }
}

inline constexpr int kMostLimitNumbers = 3;  // of a group's Jacobian: two rows of one dof, or one of three

template <class S>
S limit_row(const Tree& tree, const ConstraintGroup& g, int row, const S* p, const S* q, const Data<S>& d,
            S* J) {
  const GroupInput<S> in{tree, g, p, q};
  return g.kind == GroupKind::ball_limit ? BallLimit::rows(in, d, J).r[row]
                                         : JointLimit::rows(in, d, J).r[row];
}

// gap[event] at the positions q.
template <class S>
void limit_gaps(const Tree& tree, const Constraints& cons, const S* p, const S* q, const Data<S>& d, S* gap) {
  S J[kMostLimitNumbers];
  each_limit(cons, [&](std::size_t event, const ConstraintGroup& g, int row) {
    gap[event] = limit_row(tree, g, row, p, q, d, J);
  });
}

// Adds to q_bar, in the tangent space, and where wanted to p_bar.
template <class S>
void limit_gaps_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* gap_bar,
                    const Wanted& wanted, S* q_bar, S* p_bar, Data<S>& d) {
  each_limit(cons, [&](std::size_t event, const ConstraintGroup& g, int row) {
    if (!any(gap_bar[event] != S(0))) return;
    S r_bar[2] = {S(0), S(0)}, J_bar[kMostLimitNumbers] = {S(0), S(0), S(0)};
    r_bar[row] = gap_bar[event];
    const GroupInput<S> in{tree, g, p, q};
    const ConstraintBar<S> to{q_bar, nullptr, p_bar};
    const GroupBar<S> bar{r_bar, J_bar, nullptr, wanted, to};
    if (g.kind == GroupKind::ball_limit)
      BallLimit::rows_vjp(in, bar, d);
    else
      JointLimit::rows_vjp(in, bar, d);
  });
}

}  // namespace costate::rigid

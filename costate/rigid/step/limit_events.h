// Limits of joints and tendons as events of a split step (split_step.h): where one begins to act, and where
// it ends.
//
//   gap   r = x - low - margin, high - x - margin     of a hinge, a slide or the length of a tendon
//         r = high - |phi| - margin                   of a ball joint
//   rate  r' = J v
//
// each a group's row (path_limit.h, ball_limit.h), numbered after the contact points. A limit is a spring and
// a damper like a contact without friction, so that the parts in which it pushes are as long as those of a
// contact (part_lengths.h).
// Tests: tests/rigid/constraints/limit_onset_test.cpp.
#pragma once

#include "costate/rigid/constraints/kinds.h"
#include "costate/rigid/contact/impact_law.h"
#include "costate/rigid/dynamics/tendon.h"
#include "costate/rigid/step/step.h"

namespace costate::rigid {

inline bool is_limit(GroupKind kind) {
  return kind == GroupKind::joint_limit || kind == GroupKind::ball_limit || kind == GroupKind::tendon_limit;
}

// f(event, group, row of the group)
template <class F>
void each_limit(const Constraints& cons, const F& f) {
  for (std::size_t j = 0; j < cons.cut_limits.size(); ++j) {
    const CutLimit& limit = cons.cut_limits[j];
    f(std::size_t(cons.points) + j, cons.groups[std::size_t(limit.group)], limit.row);
  }
}

// Whether lengths of tendons are among the gaps.
inline bool cuts_tendons(const Constraints& cons) {
  for (const CutLimit& limit : cons.cut_limits)
    if (cons.groups[std::size_t(limit.group)].kind == GroupKind::tendon_limit) return true;
  return false;
}

inline constexpr int kMostLimitNumbers = 3;  // of a joint's Jacobian: two rows of one dof, or one of three

template <class S>
S joint_limit_row(const GroupInput<S>& in, int row, const Data<S>& d, S* J) {
  return in.g.kind == GroupKind::ball_limit ? BallLimit::rows(in, d, J).r[row]
                                            : JointLimit::rows(in, d, J).r[row];
}

// r of a row.
template <class S>
S limit_gap(const GroupInput<S>& in, int row, const Data<S>& d) {
  S J[kMostLimitNumbers];
  if (in.g.kind != GroupKind::tendon_limit) return joint_limit_row(in, row, d, J);
  const TendonParameters& at = TendonPath::numbers(in.tree, in.g.index);
  const S length = TendonPath::value(in, in.g.index, d), *range = in.p + at.range;
  return (row == 0 ? length - range[0] : range[1] - length) - in.p[at.margin];
}

// r' = J v.
template <class S>
S limit_rate(const GroupInput<S>& in, int row, const S* v, const Data<S>& d) {
  if (in.g.kind == GroupKind::tendon_limit) {
    const S stretches = tendon_velocity(in.tree.tendons[std::size_t(in.g.index)], d, v);
    return row == 0 ? stretches : -stretches;
  }
  S J[kMostLimitNumbers], rate(0);
  joint_limit_row(in, row, d, J);
  const std::size_t n = in.g.dofs.size();
  for (std::size_t a = 0; a < n; ++a) rate += J[std::size_t(row) * n + a] * v[in.g.dofs[a]];
  return rate;
}

// gap[event] at the positions q. Needs kinematics; leaves the lengths of tendons that are limited in d.
template <class S>
void limit_gaps(const Tree& tree, const Constraints& cons, const S* p, const S* q, Data<S>& d, S* gap) {
  if (cuts_tendons(cons)) tendon_lengths(tree, p, q, d);
  each_limit(cons, [&](std::size_t event, const ConstraintGroup& g, int row) {
    gap[event] = limit_gap(GroupInput<S>{tree, g, p, q}, row, static_cast<const Data<S>&>(d));
  });
}

// Adds to q_bar, in the tangent space, where wanted to p_bar, and to d.wrench. Needs limit_gaps.
template <class S>
void limit_gaps_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* gap_bar,
                    const Wanted& wanted, S* q_bar, S* p_bar, Data<S>& d) {
  bool tendons = false;
  each_limit(cons, [&](std::size_t event, const ConstraintGroup& g, int row) {
    if (!any(gap_bar[event] != S(0))) return;
    S r_bar[2] = {S(0), S(0)}, J_bar[kMostLimitNumbers] = {S(0), S(0), S(0)};
    r_bar[row] = gap_bar[event];
    if (g.kind == GroupKind::tendon_limit) {
      if (!tendons) clear_tendon_cotangents(d);
      tendons = true;
      const TendonParameters& at = TendonPath::numbers(tree, g.index);
      d.tendon_length_bar[std::size_t(g.index)] += r_bar[0] - r_bar[1];
      if (wanted(at.range)) {
        p_bar[at.range] -= r_bar[0];
        p_bar[at.range + 1] += r_bar[1];
      }
      if (wanted(at.margin)) p_bar[at.margin] -= gap_bar[event];
      return;
    }
    const GroupInput<S> in{tree, g, p, q};
    const ConstraintBar<S> to{q_bar, nullptr, p_bar};
    const GroupBar<S> bar{r_bar, J_bar, nullptr, wanted, to};
    if (g.kind == GroupKind::ball_limit)
      BallLimit::rows_vjp(in, bar, d);
    else
      JointLimit::rows_vjp(in, bar, d);
  });
  if (tendons) tendon_lengths_vjp<S>(tree, p, q, wanted, q_bar, p_bar, d);
}

}  // namespace costate::rigid

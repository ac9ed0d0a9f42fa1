// Contacts and limits that begin to act without a cut. A gradient through one is that of the time grid
// (split_step.h), and the report says so, with the names of the geoms, joints or tendons. They are left to
// the grid where steps are never cut; points of two shapes that cannot be followed from step to step, always.
// What meets more slowly than kSlowImpact does not count: such an impact hardly moves anything, however wrong
// its moment is.
//
// Transposes see steps from the last to the first: a pair begins to touch where it does in the step after and
// does not in this one. Its speed is the one with which the step after begins.
// Tests: tests/rigid/contact/report_test.cpp, tests/rigid/constraints/limit_onset_test.cpp.
#pragma once

#include <algorithm>
#include <vector>

#include "costate/rigid/constraints/constraint_rows.h"
#include "costate/rigid/step/limit_events.h"

namespace costate::rigid {

template <class S>
class OnsetWatch {
 public:
  explicit OnsetWatch(const Stepper& stepper) : place_(stepper.constraints.groups.size(), -1) {
    const Constraints& cons = stepper.constraints;
    if (!stepper.hard()) {
      for (std::size_t i = 0; i < cons.pairs.size(); ++i) {
        const TouchingPair& pair = cons.pairs[i];
        if (stepper.split && pair.splittable) continue;
        std::fill_n(place_.begin() + pair.group, pair.geoms.slots, int(pairs_.size()));
        pairs_.push_back(int(i));
      }
    }
    for (std::size_t g = 0; g < cons.groups.size(); ++g) {
      if (!is_limit(cons.groups[g].kind)) continue;
      if (stepper.split && !cons.event_of_row.empty() &&
          cons.event_of_row[std::size_t(cons.groups[g].row)] >= 0)
        continue;
      place_[g] = int(pairs_.size() + limits_.size());
      limits_.push_back(int(g));
    }
    speed_.resize(pairs_.size() + limits_.size());
    now_.resize(speed_.size());
    onsets_.resize(speed_.size());
    forget();
  }

  void forget() {
    std::fill(speed_.begin(), speed_.end(), S(-1));
    std::fill(onsets_.begin(), onsets_.end(), 0);
  }

  // After the transpose of a step of `worlds`: c and v are of where the step begins.
  void see(const mask_t<S>& worlds, const Constraints& cons, const ConstraintData<S>& c, const S* v) {
    if (speed_.empty()) return;
    find_speeds(cons, c, v);
    for (std::size_t i = 0; i < speed_.size(); ++i) {
      const mask_t<S> begins = worlds & (now_[i] < S(0)) & (speed_[i] > S(value_t<S>(kSlowImpact)));
      if (any(begins)) {
        const S one = select(begins, S(1), S(0));
        for (int l = 0; l < lanes_of<S>; ++l) onsets_[i] += lane(one, l) > 0;
      }
      speed_[i] = select(worlds, now_[i], speed_[i]);
    }
  }

  // The pairs of geoms that are watched, and the groups of limits.
  const std::vector<int>& pairs() const { return pairs_; }
  const std::vector<int>& limits() const { return limits_; }
  std::int64_t onsets_of_pair(std::size_t i) const { return onsets_[i]; }
  std::int64_t onsets_of_limit(std::size_t i) const { return onsets_[pairs_.size() + i]; }

 private:
  // now_: the largest speed of approach of the rows in play of each, at least 0; -1: none is in play.
  void find_speeds(const Constraints& cons, const ConstraintData<S>& c, const S* v) {
    std::fill(now_.begin(), now_.end(), S(-1));
    const auto look = [&](int group, int row, const mask_t<S>& touches) {
      const int at = place_[std::size_t(group)];
      if (at < 0 || !any(touches)) return;
      const ConstraintGroup& g = cons.groups[std::size_t(group)];
      const std::size_t n = g.dofs.size();
      S closes(0);
      for (std::size_t a = 0; a < n; ++a)
        closes -= c.J[std::size_t(g.jacobian) + std::size_t(row) * n + a] * v[g.dofs[a]];
      now_[at] = select(touches, max(now_[at], max(S(0), closes)), now_[at]);
    };
    // Only groups that are listed have numbers of this step. Of a contact the normal comes first.
    for (const int i : c.active) {
      const ConstraintGroup& g = cons.groups[std::size_t(i)];
      const int rows = is_limit(g.kind) ? g.rows : g.kind == GroupKind::contact ? 1 : 0;
      for (int k = 0; k < rows; ++k) look(i, k, c.D[std::size_t(g.row + k)] > S(0));
    }
    if (parts_of(cons.contact).rows) return;
    for (const int i : c.contact.touching)
      for (int k = 0; k < cons.pairs[i].geoms.slots; ++k) {
        const int group = cons.pairs[i].group + k;
        look(group, 0, c.zone[cons.groups[std::size_t(group)].row] > S(0));
      }
  }

  std::vector<int> place_;           // of each group among what is watched, or -1
  std::vector<int> pairs_, limits_;  // what is watched, in this order
  std::vector<S> speed_, now_;       // in the step after and in this one
  std::vector<std::int64_t> onsets_;
};

}  // namespace costate::rigid

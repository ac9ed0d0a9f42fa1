// Contacts that begin without a cut: of shapes whose points cannot be followed from step to step, or of all
// where steps are never cut. A gradient through one is that of the time grid (split_step.h), and the report
// says so, with the names of the geoms. Points that meet more slowly than kSlowImpact do not count: such an
// impact hardly moves anything, however wrong its moment is.
//
// Transposes see steps from the last to the first: a pair begins to touch where it does in the step after and
// does not in this one. Its speed is the one with which the step after begins.
// Tests: tests/rigid/contact/report_test.cpp.
#pragma once

#include <algorithm>
#include <vector>

#include "costate/rigid/constraints/constraint_rows.h"
#include "costate/rigid/step/step.h"

namespace costate::rigid {

inline constexpr double kSlowImpact = 0.01;  // m/s

template <class S>
class OnsetWatch {
 public:
  explicit OnsetWatch(const Stepper& stepper) : place_(stepper.constraints.pairs.size(), -1) {
    const Constraints& cons = stepper.constraints;
    if (stepper.hard()) return;
    for (std::size_t i = 0; i < cons.pairs.size(); ++i) {
      if (stepper.split && cons.pairs[i].splittable) continue;
      place_[i] = int(pairs_.size());
      pairs_.push_back(int(i));
    }
    speed_.resize(pairs_.size());
    now_.resize(pairs_.size());
    onsets_.resize(pairs_.size());
    forget();
  }

  void forget() {
    std::fill(speed_.begin(), speed_.end(), S(-1));
    std::fill(onsets_.begin(), onsets_.end(), 0);
  }

  // After the transpose of a step of `worlds`: c and v are of where the step begins.
  void see(const mask_t<S>& worlds, const Constraints& cons, const ConstraintData<S>& c, const S* v) {
    if (pairs_.empty()) return;
    find_speeds(cons, c, v);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const mask_t<S> begins = worlds & (now_[i] < S(0)) & (speed_[i] > S(value_t<S>(kSlowImpact)));
      if (any(begins)) {
        const S one = select(begins, S(1), S(0));
        for (int l = 0; l < lanes_of<S>; ++l) onsets_[i] += lane(one, l) > 0;
      }
      speed_[i] = select(worlds, now_[i], speed_[i]);
    }
  }

  const std::vector<int>& pairs() const { return pairs_; }
  const std::vector<std::int64_t>& onsets() const { return onsets_; }  // of each

 private:
  // now_: the largest speed of approach of each pair's points in play, at least 0; -1: none is in play.
  void find_speeds(const Constraints& cons, const ConstraintData<S>& c, const S* v) {
    std::fill(now_.begin(), now_.end(), S(-1));
    const auto look = [&](const ConstraintGroup& g, const mask_t<S>& touches) {
      const int at = place_[g.index];
      if (at < 0 || !any(touches)) return;
      S closes(0);  // the normal comes first
      for (std::size_t a = 0; a < g.dofs.size(); ++a) closes -= c.J[g.jacobian + int(a)] * v[g.dofs[a]];
      now_[at] = select(touches, max(now_[at], max(S(0), closes)), now_[at]);
    };
    // Only groups that are listed have numbers of this step.
    if (parts_of(cons.contact).rows) {
      for (const int i : c.active)
        if (cons.groups[i].kind == GroupKind::contact) look(cons.groups[i], c.D[cons.groups[i].row] > S(0));
      return;
    }
    for (const int i : c.contact.touching)
      for (int k = 0; k < cons.pairs[i].geoms.slots; ++k) {
        const ConstraintGroup& g = cons.groups[cons.pairs[i].group + k];
        look(g, c.zone[g.row] > S(0));
      }
  }

  std::vector<int> pairs_, place_;  // those watched; the place of each pair among them, or -1
  std::vector<S> speed_, now_;      // in the step after and in this one
  std::vector<std::int64_t> onsets_;
};

}  // namespace costate::rigid

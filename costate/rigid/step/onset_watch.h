// Contacts that begin without a cut: of shapes whose points cannot be followed from step to step, or of all
// where steps are never cut. A gradient through one is that of the time grid (split_step.h), and the report
// says so, with the names of the geoms.
//
// Transposes see steps from the last to the first: a pair begins to touch where it does in the step after and
// does not in this one. Tests: tests/rigid/contact/report_test.cpp.
#pragma once

#include <vector>

#include "costate/rigid/constraints/constraint_rows.h"
#include "costate/rigid/step/step.h"

namespace costate::rigid {

template <class S>
class OnsetWatch {
 public:
  explicit OnsetWatch(const Stepper& stepper) {
    const Constraints& cons = stepper.constraints;
    if (!soft_contacts(cons)) return;
    for (std::size_t i = 0; i < cons.pairs.size(); ++i)
      if (!stepper.split || !cons.pairs[i].splittable) pairs_.push_back(int(i));
    touched_.resize(pairs_.size());
    onsets_.resize(pairs_.size());
    forget();
  }

  void forget() {
    std::fill(touched_.begin(), touched_.end(), S(0));
    std::fill(onsets_.begin(), onsets_.end(), 0);
  }

  // After the transpose of a step of `worlds`: c is of where the step begins.
  void see(const mask_t<S>& worlds, const Constraints& cons, const ConstraintData<S>& c) {
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const TouchingPair& pair = cons.pairs[pairs_[i]];
      mask_t<S> touches(false);
      if (c.in_play)
        for (int k = pair.group; k < pair.group + pair.geoms.slots; ++k)
          touches = touches | (c.D[cons.groups[k].row] > S(0));
      const mask_t<S> begins = worlds & (touched_[i] > S(0)) & !touches;
      if (any(begins)) {
        const S one = select(begins, S(1), S(0));
        for (int l = 0; l < lanes_of<S>; ++l) onsets_[i] += lane(one, l) > 0;
      }
      touched_[i] = select(worlds, select(touches, S(1), S(0)), touched_[i]);
    }
  }

  const std::vector<int>& pairs() const { return pairs_; }
  const std::vector<std::int64_t>& onsets() const { return onsets_; }  // of each

 private:
  std::vector<int> pairs_;
  std::vector<S> touched_;  // in the step after
  std::vector<std::int64_t> onsets_;
};

}  // namespace costate::rigid

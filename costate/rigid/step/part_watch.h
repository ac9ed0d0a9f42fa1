// Parts of a split step whose error the next impact multiplies.
//
// Lengths of parts follow from guesses of when forces begin and end (part_lengths.h). Where a guess is wrong,
// a part passes a corner of the force; or an onset was not seen, and the force has a jump between two parts.
// An error e of the velocities moves the impact that follows, and what comes after it: one corner of a die
// lets go 0.06 ms before another one lands, within the same part, and the gradient is 0.6 off. So where an
// impact follows, e of each part of rk4 is estimated from the stages' rates of the dofs' velocities,
//
//   e = max(s h/6 |k_1 - k_2 - k_3 + k_4|,  h/10 |k_4 - k_5|),   s: the part of the step up to its cut
//
// The first bends with the force: it sees a corner between the stages. The second is the estimate of rk4.h,
// with k_5 the first rates of the part that follows, if no cut lies between; it sees a jump at the end. Parts
// with e > kPartError |v|, the largest |v_i| at that impact, are counted (step_report.h). In 106 random
// tosses at dt = 0.002 whose gradients were right within 3 %, e was at most 1e-3 |v|; in 13 of 22 that were
// wrong by more than 10 %, it was 1.5e-3 to 4e-2 (docs/contact.md).
//
// Transposes see parts from the last to the first.
// Tests: tests/rigid/contact/label_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "costate/rigid/step/step.h"

namespace costate::rigid {

inline constexpr double kPartError = 1.5e-3;

template <class S>
class PartWatch {
 public:
  explicit PartWatch(const Stepper& stepper) : next_(std::size_t(stepper.tree.nv)) { forget(); }

  void forget() {
    known_ = impact_ = S(0);
    std::fill(count_, count_ + lanes_of<S>, 0);
    worst_ = 0;
  }

  // A part of `worlds` that `method` has taken, with w.tape and w.x where it begins: `share` of its step, up
  // to the cut of those `cut`; those that `meet` begin to touch there. `goes_on`: the next part has the same
  // control.
  void see(const Stepper& method, const mask_t<S>& worlds, const mask_t<S>& cut, const mask_t<S>& meet,
           const mask_t<S>& goes_on, const S& share, const StepWork<S>& w) {
    using T = value_t<S>;
    if (method.integrator != Integrator::rk4) {
      known_ = select(worlds, S(0), known_);
      return;
    }
    const std::size_t nv = next_.size(), stage = std::size_t(method.tape_per_evaluation());
    const mask_t<S> joins = goes_on & !cut & (known_ > S(0));
    const S h = w.p[method.tree.p.dt];
    S bend(0), jump(0), speed(0);
    for (std::size_t i = 0; i < nv; ++i) {
      const S *k = &w.tape[i], k1 = k[0], k4 = k[3 * stage];
      bend = max(bend, abs(k1 - k[stage] - k[2 * stage] + k4));
      jump = max(jump, abs(k4 - next_[i]));
      speed = max(speed, abs(w.x[std::size_t(method.tree.nq) + i]));
      next_[i] = select(worlds, k1, next_[i]);
    }
    known_ = select(worlds, S(1), known_);
    impact_ = select(worlds & meet, speed, impact_);
    const S error = h * max(share * S(T(1.0 / 6)) * bend, select(joins, S(T(0.1)) * jump, S(0)));
    count(worlds & (impact_ > S(0)) & (error > S(T(kPartError)) * impact_), error);
  }

  // Of the world that has most.
  std::int64_t count() const { return *std::max_element(count_, count_ + lanes_of<S>); }
  double worst() const { return worst_; }  // e / |v|

 private:
  void count(const mask_t<S>& worlds, const S& error) {
    if (!any(worlds)) return;
    const S relative = select(worlds, error / select(impact_ > S(0), impact_, S(1)), S(0));
    for (int l = 0; l < lanes_of<S>; ++l) {
      const double e = double(lane(relative, l));
      count_[l] += e > 0;
      worst_ = std::max(worst_, e);
    }
  }

  std::vector<S> next_;  // k_1 of the part that follows
  S known_, impact_;     // 1: next_ is known; the largest speed at the next impact, 0: none follows
  std::int64_t count_[lanes_of<S>];
  double worst_;
};

}  // namespace costate::rigid

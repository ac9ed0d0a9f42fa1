// What losses with terms at a sorted list of steps share, here and in costate/study/losses.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.h"
#include "costate/system/objective.h"

namespace costate::loss {

inline constexpr std::int64_t kLast = -1;  // the final state, whatever the number of steps

// Of a list from outside, which must not say kLast.
inline void require_steps(const std::vector<std::int64_t>& steps) {
  for (const std::int64_t k : steps) {
    if (k < 0) throw Error("an objective cannot have a term at step " + std::to_string(k));
  }
}

template <class Real>
class AtSteps : public Objective<Real> {
 public:
  explicit AtSteps(std::vector<std::int64_t> steps) : steps_(std::move(steps)) {
    if (!std::is_sorted(steps_.begin(), steps_.end()) ||
        std::adjacent_find(steps_.begin(), steps_.end()) != steps_.end()) {
      throw Error("the steps of an objective must increase");
    }
  }
  std::int64_t next(std::int64_t k, std::int64_t steps) const override {
    if (only_last()) return k <= steps ? steps : kNever;
    const auto it = std::lower_bound(steps_.begin(), steps_.end(), k);
    return it == steps_.end() ? kNever : *it;
  }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override {
    if (only_last()) return k >= steps ? steps : -1;
    const auto it = std::upper_bound(steps_.begin(), steps_.end(), k);
    return it == steps_.begin() ? -1 : *(it - 1);
  }

 protected:
  bool only_last() const { return steps_.size() == 1 && steps_[0] == kLast; }
  std::size_t index_of(std::int64_t k) const {
    return only_last()
               ? 0
               : static_cast<std::size_t>(std::lower_bound(steps_.begin(), steps_.end(), k) - steps_.begin());
  }
  void check_steps(std::int64_t steps) const {
    if (!only_last() && !steps_.empty() && (steps_.front() < 0 || steps_.back() > steps)) {
      throw Error("an objective has a term at step " +
                  std::to_string(steps_.front() < 0 ? steps_.front() : steps_.back()) +
                  ", outside the rollout of " + std::to_string(steps) + " steps");
    }
  }
  std::vector<std::int64_t> steps_;
};

}  // namespace costate::loss

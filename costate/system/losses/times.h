// When several objectives together have a term.
#pragma once

#include <algorithm>
#include <vector>

#include "costate/system/objective.h"

namespace costate::loss {

template <class Real>
std::int64_t next_of(const std::vector<ObjectivePtr<Real>>& all, std::int64_t k, std::int64_t steps) {
  std::int64_t best = kNever;
  for (const auto& one : all) best = std::min(best, one->next(k, steps));
  return best;
}
template <class Real>
std::int64_t previous_of(const std::vector<ObjectivePtr<Real>>& all, std::int64_t k, std::int64_t steps) {
  std::int64_t best = -1;
  for (const auto& one : all) best = std::max(best, one->previous(k, steps));
  return best;
}

}  // namespace costate::loss

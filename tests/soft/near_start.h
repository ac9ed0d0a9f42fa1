// States near the start of a model, with small controls: for contracts.
#pragma once

#include "costate/core/philox.h"
#include "costate/soft/soft_system.h"

namespace costate::soft::test {

inline auto near_start(const SoftModel& model) {
  return [model](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    using Real = decltype(a.x0[0] + 0);
    const auto x = soft_state(model);
    for (std::size_t i = 0; i < x.size(); ++i) a.x0[i] = Real(x[i] + 0.004 * (2 * uniform(seed, 5, i) - 1));
    for (std::size_t i = 0; i < a.controls.size(); ++i)
      a.controls[i] = Real(0.1 * (2 * uniform(seed, 6, i) - 1));
    return a;
  };
}

}  // namespace costate::soft::test

// Keeper: takes the states that a rollout was asked to keep out of its blocks. Internal to Rollout.
#pragma once

#include "costate/system/block.h"

namespace costate {

// Takes kept states out of blocks into kept x worlds x states.
template <class Real>
class Keeper {
 public:
  Keeper(const System<Real>& system, const RolloutOptions& options, Trajectory<Real>& out)
      : system_(system), options_(options), out_(out) {
    const auto n = system.signature().states();
    for (std::int64_t k = 0; options.keep > 0 && k <= options.steps; k += options.keep) out.kept.push_back(k);
    out.states.resize(out.kept.size() * static_cast<std::size_t>(options.worlds * n));
    out.final_state.resize(static_cast<std::size_t>(options.worlds * n));
  }
  typename Block<Real>::Keep of(const Block<Real>& block) const {
    return [this, &block](std::int64_t k, const Real* x) {
      const std::int64_t n = system_.signature().states();
      if (options_.keep > 0 && k % options_.keep == 0)
        put(block, x, out_.states.data() + (k / options_.keep) * options_.worlds * n);
      if (k == options_.steps) put(block, x, out_.final_state.data());
    };
  }

 private:
  void put(const Block<Real>& block, const Real* x, Real* to) const {
    const std::int64_t n = system_.signature().states();
    for (int l = 0; l < block.live_lanes(); ++l) {
      for (std::int64_t i = 0; i < n; ++i) to[(block.first_world() + l) * n + i] = x[i * system_.lanes() + l];
    }
  }
  const System<Real>& system_;
  const RolloutOptions& options_;
  Trajectory<Real>& out_;
};

}  // namespace costate

// States that are not finite: noticed every so many steps, then located by a replay. Steps that give up.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/system/block_memory.h"
#include "costate/system/ranges.h"
#include "costate/system/run/cpu_block.h"

namespace costate {
namespace {

constexpr std::int64_t kGrain = 1 << 15;  // numbers per chunk of a large array

}  // namespace

template <class Real>
void CpuBlock<Real>::watch(const Real* x) {
  const std::int64_t bad =
      parallel_sum<std::int64_t>(n_, kGrain, 0, [&](std::int64_t begin, std::int64_t end) {
        std::int64_t count = 0;
        for (std::int64_t j = begin; j < end; ++j) count += !finite_bits(x[j]);
        return count;
      });
  if (bad == 0) return;
  if (options_.on_divergence == OnDivergence::stop) locate_divergence();
  for (std::int64_t j = 0; j < n_; ++j) {
    if (!finite_bits(x[j])) this->results_.diverged[j % lanes_] = 1;
  }
}

// Replays from the start, one step at a time, until the first number goes bad. Only a run that fails pays for
// this.
template <class Real>
void CpuBlock<Real>::locate_divergence() {
  const std::int64_t first_world = this->results_.first_world;
  load(*arguments_, first_world, world_stride_);
  Ring<Real> states = state_;
  for (std::int64_t k = 0; k <= steps_; ++k) {
    const Real* x = states.base + states.start * n_;
    for (std::int64_t j = 0; j < n_; ++j) {
      if (finite_bits(x[j])) continue;
      const std::int64_t world = std::min(first_world + (j % lanes_) * world_stride_, options_.worlds - 1);
      const std::string name = system_.signature().describe(Role::state, j / lanes_);
      const std::string step =
          "step " + std::to_string(k) + " of " + std::to_string(steps_) + ", world " + std::to_string(world);
      if (k == 0)
        throw Error({"the initial state is not finite: " + name + " is " + (std::isnan(x[j]) ? "nan" : "inf"),
                     step,
                     {}});
      const std::string input = not_a_number(arguments_->parameters);
      if (!input.empty()) throw Error({"the parameter " + input, step, {}});
      // The physics may know why: from the state before, which is finite.
      const Real* before = states.base + states.slot(1) * n_;
      const auto fault = system_.fault(at(k - 1, before).in, static_cast<int>(j % lanes_));
      if (!fault.what.empty()) throw Error({fault.what, step, fault.advice});
      throw Error({"the state is not finite: " + name + " is " + (std::isnan(x[j]) ? "nan" : "inf"), step,
                   "reduce dt, check the inputs of that world, or set on_divergence = mask_world to go on "
                   "without it"},
                  Error::Kind::numerics);
    }
    if (k == steps_) break;
    system_.advance(run(k, k + 1), states, {}, *work_);
    states.start = states.slot(1);
  }
  throw Error(
      {"the state went bad, but not when replayed: this physics does not repeat its own steps", {}, {}},
      Error::Kind::numerics);
}

// Of worlds that step together it is not known which one has failed. What is wrong with the inputs is no
// divergence.
template <class Real>
bool CpuBlock<Real>::may_be_masked(const Error& error) const {
  return options_.on_divergence == OnDivergence::mask_world && lanes_ == 1 &&
         error.kind() == Error::Kind::numerics;
}

// The states that were not reached are shown as what they are: not numbers.
template <class Real>
void CpuBlock<Real>::mask(const Error& error) {
  BlockResults<Real>& results = this->results_;
  work_ = system_.make_workspace();  // the step has left the old one half done
  results.diagnostics = &work_->diagnostics;
  const Error::Message& m = error.message();
  work_->diagnostics.findings.add({"masked", -double(results.first_world),
                                   "world " + std::to_string(results.first_world) +
                                       " is masked: " + (m.where.empty() ? "" : m.where + ": ") + m.what +
                                       (m.advice.empty() ? "" : "; " + m.advice)});
  results.diverged[0] = 1;
  Real* x = state();
  std::fill_n(x, n_, std::numeric_limits<Real>::quiet_NaN());
  results.final_state = results.final_state_dot = x;
  for (std::int64_t k = keeper_ ? keeper_->next(reached_ + 1) : steps_ + 1; k <= steps_;
       k = keeper_->next(k + 1))
    keeper_->see(k, results.first_world, results.live_lanes, results.diverged.data(), x);
  reached_ = steps_;
}

template class CpuBlock<float>;
template class CpuBlock<double>;

}  // namespace costate

// Keeper: shows the states of blocks on their way to whoever asked for them: the Trajectory that a rollout
// returns (every keep-th state and the last) and a StateObserver. Internal to Rollout.
#pragma once

#include <algorithm>
#include <mutex>

#include "costate/core/error.h"
#include "costate/system/block_memory.h"
#include "costate/system/rollout.h"

namespace costate {

template <class Real>
class Keeper {
 public:
  // `out` may be null: no trajectory is wanted.
  Keeper(const System<Real>& system, const RolloutOptions& options, int lanes, Trajectory<Real>* out,
         const StateObserver<Real>& observer)
      : options_(options),
        out_(out),
        observer_(observer.look ? &observer : nullptr),
        n_(system.signature().states()),
        lanes_(lanes) {
    check(observer);
    if (!out) return;
    for (std::int64_t k = 0; options.keep > 0 && k <= options.steps; k += options.keep)
      out->kept.push_back(k);
    out->states.resize(out->kept.size() * options.worlds * n_);
    out->final_state.resize(options.worlds * n_);
  }

  // The nearest step >= k whose state somebody wants; past the end: none.
  std::int64_t next(std::int64_t k) const {
    std::int64_t step = options_.steps + (k > options_.steps || !out_);
    if (out_ && options_.keep > 0) step = std::min(step, multiple(k, options_.keep));
    if (!observer_) return step;
    if (observer_->every > 0) step = std::min(step, multiple(k, observer_->every));
    const auto& listed = observer_->steps;
    const auto found = std::lower_bound(listed.begin(), listed.end(), k);
    return found == listed.end() ? step : std::min(step, *found);
  }

  // The state x of a block after k steps, one of next(). `dead[l]`: lane l has diverged.
  void see(std::int64_t k, std::int64_t first_world, int live_lanes, const char* dead, const Real* x) {
    if (out_ && options_.keep > 0 && k % options_.keep == 0)
      put(first_world, live_lanes, x, out_->states.data() + (k / options_.keep) * options_.worlds * n_);
    if (out_ && k == options_.steps) put(first_world, live_lanes, x, out_->final_state.data());
    if (observer_ && observes(k)) show(k, first_world, live_lanes, dead, x);
  }

 private:
  static std::int64_t multiple(std::int64_t k, std::int64_t of) { return (k + of - 1) / of * of; }

  void check(const StateObserver<Real>& observer) const {
    const std::string asked = "a StateObserver looks at step ";
    if (observer.every < 0)
      throw Error("every = " + std::to_string(observer.every) +
                  ": a StateObserver looks at every so many steps, 0 for none of them");
    for (std::size_t i = 0; i < observer.steps.size(); ++i) {
      const std::int64_t k = observer.steps[i];
      if (k < 0 || k > options_.steps)
        throw Error(
            {asked + std::to_string(k) + ", but the rollout has steps 0 to " + std::to_string(options_.steps),
             {},
             "leave that step out, or make the rollout longer"});
      if (i > 0 && k <= observer.steps[i - 1])
        throw Error({asked + std::to_string(k) + " after step " + std::to_string(observer.steps[i - 1]),
                     {},
                     "sort its steps and name each one once"});
    }
  }
  bool observes(std::int64_t k) const {
    return (observer_->every > 0 && k % observer_->every == 0) ||
           std::binary_search(observer_->steps.begin(), observer_->steps.end(), k);
  }
  void put(std::int64_t first_world, int live_lanes, const Real* x, Real* to) const {
    for (int l = 0; l < live_lanes; ++l) take_lane(x, n_, lanes_, l, to + (first_world + l) * n_);
  }
  void show(std::int64_t k, std::int64_t first_world, int live_lanes, const char* dead, const Real* x) {
    const std::lock_guard lock(turn_);
    for (int l = 0; l < live_lanes; ++l) {
      if (dead[l]) continue;
      if (lanes_ > 1) {
        world_.resize(n_);
        take_lane(x, n_, lanes_, l, world_.data());
      }
      observer_->look(k, first_world + l, {lanes_ > 1 ? world_.data() : x, static_cast<std::size_t>(n_)});
    }
  }
  const RolloutOptions& options_;
  Trajectory<Real>* const out_;
  const StateObserver<Real>* const observer_;  // null: nobody looks
  const std::int64_t n_;
  const int lanes_;
  std::mutex turn_;
  std::vector<Real> world_;  // the one that is shown
};

}  // namespace costate

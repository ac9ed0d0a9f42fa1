// What a Rollout holds. Internal to rollout*.cpp:
//
//   rollout.cpp            values, gradients, tangents: blocks run, collectors put together
//   rollout_inputs.cpp     options and arguments that make no sense, in words
//   rollout_jacobian.cpp   Rollout::jacobian
#pragma once

#include "costate/core/parallel.h"
#include "costate/core/progress.h"
#include "costate/system/backend.h"
#include "costate/system/rollout.h"
#include "costate/system/run/collector.h"
#include "costate/system/run/pool.h"

namespace costate {

template <class Real>
struct Rollout<Real>::Impl {
  std::shared_ptr<const System<Real>> system;
  RolloutOptions options;
  std::shared_ptr<const Backend<Real>> backend;
  Activity activity;
  int lanes;
  std::int64_t blocks, knots;
  Pool<Block<Real>> pool;
  // Blocks that wait for backward().
  std::vector<std::unique_ptr<Block<Real>>> waiting;
  Arguments<Real> waiting_arguments;

  Impl(std::shared_ptr<const System<Real>> system, RolloutOptions options,
       std::shared_ptr<const Backend<Real>> backend);

  void check_options() const;
  void check_shapes(const Arguments<Real>& arguments, const char* what) const;
  void check_values(const Arguments<Real>& arguments) const;  // shapes and ranges

  RolloutShape<Real> shape() const { return {*system, options, activity, blocks, knots}; }

  std::unique_ptr<Block<Real>> loaded(const Arguments<Real>& arguments, std::int64_t block) {
    auto taken = pool.take();
    taken->load(arguments, block * lanes);
    return taken;
  }

  // body(block, index) for all blocks, loaded with the arguments; blocks are borrowed.
  template <class F>
  void for_each_block(const Arguments<Real>& arguments, const F& body) {
    Progress progress(blocks * options.steps);
    parallel_for(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      const Progress::Helper helper(&progress);
      for (std::int64_t b = begin; b < end; ++b) {
        auto block = loaded(arguments, b);
        body(*block, b);
        pool.give_back(std::move(block));
      }
    });
  }

  std::vector<double> values(const Arguments<Real>& arguments, const Objective<Real>& objective,
                             const StateObserver<Real>& observer, std::vector<char>& masked);

  // produce(index) makes a block that has run; its results go to the collectors. `second` may be null.
  template <class F>
  void collect(Collector<Real>& collector, Collector<Real>* second, const F& produce);
};

}  // namespace costate

// StateObserver: looks at the states of a rollout while they go by, so that a film or a table needs neither
// all states in memory nor a rollout per frame.
//
//   StateObserver<double> film{
//       .every = 20,
//       .look = [&](std::int64_t k, std::int64_t world, std::span<const double> x) { ... }};
//   rollout.simulate(arguments, film);
//
// Each world is looked at in the order of its steps, and every state that is shown is finite: a rollout that
// stops on divergence stops before it shows anything else, and a masked world is no longer shown. Worlds take
// turns in an order that depends on the threads; two calls never run at once. What look() throws ends the
// rollout.
// Tests: tests/system/state_observer_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace costate {

template <class Real>
struct StateObserver {
  std::int64_t every = 0;  // looks at steps 0, every, 2 every, ...; 0: at none of them
  std::vector<std::int64_t> steps =
      {};  // looks at these too; increasing, the last one is at most the rollout's steps
  std::function<void(std::int64_t k, std::int64_t world, std::span<const Real> x)> look =
      {};  // empty: nobody looks
};

}  // namespace costate

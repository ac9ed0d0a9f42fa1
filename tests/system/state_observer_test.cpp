#include "costate/system/state_observer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/system/program/lambda_system.h"
#include "costate/system/rollout.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using costate::test::expect_error;
using Seen = std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::vector<double>>>>;  // by world

// 37 pendulums: not a multiple of any lane count, so some lanes of the last block are not worlds.
struct Pendulums {
  static constexpr std::int64_t kWorlds = 37;
  std::shared_ptr<System<double>> system = ode::pendulum<double>(ode::Integrator::rk4, 0.02);
  RolloutOptions options{.steps = 90, .worlds = kWorlds, .keep = 1, .active = {}};
  Rollout<double> rollout{system, options};
  Arguments<double> at = rollout.arguments();
  Seen seen;
  Pendulums() {
    at.x0.clear();
    for (std::int64_t w = 0; w < kWorlds; ++w) at.x0.insert(at.x0.end(), {0.1 + 0.02 * double(w), -0.3});
  }
  StateObserver<double> observer(std::int64_t every, std::vector<std::int64_t> steps) {
    return {.every = every,
            .steps = std::move(steps),
            .look = [this](std::int64_t k, std::int64_t world, std::span<const double> x) {
              seen[world].push_back({k, {x.begin(), x.end()}});
            }};
  }
  // Every world at these steps, in this order, with the bits of the trajectory.
  void expect_seen(const std::vector<std::int64_t>& steps) {
    const Trajectory<double> all = rollout.simulate(at);
    ASSERT_EQ(seen.size(), std::size_t(kWorlds));
    for (const auto& [world, states] : seen) {
      ASSERT_EQ(states.size(), steps.size()) << "world " << world;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(states[i].first, steps[i]);
        const double* x = all.states.data() + (steps[i] * kWorlds + world) * 2;
        EXPECT_EQ(states[i].second, std::vector<double>(x, x + 2)) << "world " << world;
      }
    }
    seen.clear();
  }
};

TEST(StateObserver, SeesEveryWorldInTheOrderOfItsSteps) {
  Pendulums p;
  const int threads = thread_count();
  for (int count : {1, 2, 7}) {
    set_thread_count(count);
    p.rollout.simulate(p.at, p.observer(20, {}));
    p.expect_seen({0, 20, 40, 60, 80});
    p.rollout.simulate(p.at, p.observer(40, {3, 40, 90}));
    p.expect_seen({0, 3, 40, 80, 90});
  }
  set_thread_count(threads);
}

// Whatever the schedule takes again is shown once.
TEST(StateObserver, SeesAStateOnceWhenStepsAreTakenAgain) {
  Pendulums p;
  RolloutOptions options = p.options;
  options.checkpoints = binomial(3);
  Rollout<double> rollout(p.system, options);
  rollout.forward(p.at, p.observer(30, {}));
  rollout.backward(*loss::final<double>(p.system->signature(), "q", {0.5}));
  p.expect_seen({0, 30, 60, 90});
}

TEST(StateObserver, LooksWhileALossIsEvaluated) {
  Pendulums p;
  const auto objective = loss::final<double>(p.system->signature(), "q", {0.5});
  EXPECT_EQ(p.rollout.value(p.at, *objective, p.observer(45, {})), p.rollout.value(p.at, *objective));
  p.expect_seen({0, 45, 90});
}

// x+ = x^2: a world that starts above 1 is infinite after ten steps.
std::shared_ptr<System<double>> squares() {
  constexpr Sizes sizes{.states = 1};
  return lambda_system<double, sizes>(
      Signature().state("x"), [](auto x, auto, auto) { return std::array{x[0] * x[0]}; }, NextState{}, 2);
}

TEST(StateObserver, IsNeverShownAStateThatIsNotFinite) {
  const auto system = squares();
  Arguments<double> at{{0.5, 1e3}, {}, Parameters<double>(system->signature())};
  std::vector<std::int64_t> last(2, -1);
  const StateObserver<double> observer{
      .every = 1, .look = [&](std::int64_t k, std::int64_t world, std::span<const double> x) {
        EXPECT_TRUE(std::isfinite(x[0])) << "step " << k;
        last[std::size_t(world)] = k;
      }};
  Rollout<double> masking(system, {.steps = 20, .worlds = 2, .on_divergence = OnDivergence::mask_world});
  EXPECT_EQ(masking.simulate(at, observer).diverged, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(last, (std::vector<std::int64_t>{20, 6}));  // 1e3^(2^7) is too large
  Rollout<double> stopping(system, {.steps = 20, .worlds = 2});
  expect_error([&] { return stopping.simulate(at, observer); }, "the state is not finite",
               "set on_divergence = mask_world");
}

TEST(StateObserver, WhatItThrowsEndsTheRollout) {
  Pendulums p;
  int calls = 0;
  const StateObserver<double> observer{.every = 1, .look = [&](std::int64_t, std::int64_t, auto) {
                                         if (++calls == 5) throw Error("enough seen");
                                       }};
  try {
    p.rollout.simulate(p.at, observer);
    FAIL() << "the rollout went on";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("enough seen"), std::string::npos);
  }
}

void expect_refused(Pendulums& p, const StateObserver<double>& observer, const std::string& why) {
  try {
    p.rollout.simulate(p.at, observer);
    FAIL() << "accepted: " << why;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(StateObserver, StepsThatDoNotExistAreRefused) {
  Pendulums p;
  expect_refused(p, p.observer(-1, {}), "every = -1");
  expect_refused(p, p.observer(0, {91}), "step 91, but the rollout has steps 0 to 90");
  expect_refused(p, p.observer(0, {4, 4}), "step 4 after step 4");
}

}  // namespace
}  // namespace costate

#include "costate/system/linearize.h"

#include <gtest/gtest.h>

#include "costate/ode/lanes/fixed_step_systems.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using ode::Integrator;

Arguments<double> pushed(Rollout<double>& rollout) {
  Arguments<double> at = rollout.arguments();
  at.x0 = {0.7, -0.2};
  for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = 0.3 * double(i % 3) - 0.2;
  return at;
}

// The chain of maps, multiplied by a direction, is the tangent of the rollout.
TEST(Linearize, TheChainIsTheTangentOfTheRollout) {
  const auto system = ode::pendulum<double>(Integrator::rk4, 0.02);
  const RolloutOptions options{.steps = 37, .hold = 5};
  Rollout<double> rollout(system, options);
  const Arguments<double> at = pushed(rollout);
  const auto along = linearize<double>(system, options, at);
  const std::int64_t n = 2, np = system->signature().parameters();
  ASSERT_EQ(along.a.size(), 37U * 4);
  ASSERT_EQ(along.b.size(), 37U * 2);
  ASSERT_EQ(along.c.size(), std::size_t(37 * n * np));
  Arguments<double> d = at;
  double number = 0.3;
  const auto fill = [&](auto&& to) {
    for (double& x : to) x = number = 3.7 * number * (1 - number);
  };
  fill(d.x0), fill(d.controls);
  std::vector<double> p_dot;
  for (std::size_t f = 0; f < system->signature().fields(Role::parameter).size(); ++f) {
    fill(d.parameters.values(f));
    for (const double x : d.parameters.values(f)) p_dot.push_back(x);
  }
  std::vector<double> x_dot = d.x0;
  for (std::int64_t k = 0; k < 37; ++k) {
    std::vector<double> y_dot(n, 0.0);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) y_dot[i] += along.a[(k * n + i) * n + j] * x_dot[j];
      y_dot[i] += along.b[k * n + i] * d.controls[k / 5];
      for (std::int64_t j = 0; j < np; ++j) y_dot[i] += along.c[(k * n + i) * np + j] * p_dot[j];
    }
    x_dot = y_dot;
  }
  const auto tangent = rollout.jvp(at, d);
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_NEAR(x_dot[i], tangent.final_state_dot[i], 1e-13 * std::abs(x_dot[i]) + 1e-14);
    EXPECT_EQ(along.states[37 * n + i], tangent.final_state[i]);
  }
}

TEST(Linearize, OnlyOneWorldHasOne) {
  const auto system = ode::pendulum<double>(Integrator::rk4, 0.02);
  const RolloutOptions options{.steps = 3, .worlds = 2};
  Rollout<double> rollout(system, options);
  test::expect_error([&] { return linearize<double>(system, options, rollout.arguments()); }, "single world");
}

TEST(Linearize, MoreStepsThanThereIsRoomForAreAnError) {
  const auto system = ode::pendulum<double>(Integrator::rk4, 0.02);
  const std::int64_t many = 1'000'000'000'000;
  const RolloutOptions options{.steps = many, .hold = many};
  Rollout<double> rollout(system, options);
  test::expect_error([&] { return linearize<double>(system, options, rollout.arguments()); },
                     "the linear maps of 1000000000000 steps take", "linearize fewer steps at a time");
}

}  // namespace
}  // namespace costate

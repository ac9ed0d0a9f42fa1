#include "costate/grid/gray_scott.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate {
namespace {

using test::expect_contract, test::expect_error;

// A faint wave of v in pure food is multiplied by 1 + dt (Dv lambda - f - k) with every step.
TEST(GrayScott, AFaintWaveDecaysByTheFactorOfTheScheme) {
  const std::int64_t n = 12, steps = 30;
  const double f = 0.04, k = 0.06, d = 0.08, faint = 1e-9;
  const auto system = grid::gray_scott<double>({.nx = n, .ny = n, .feed = f, .kill = k, .diffusivity_v = d});
  Rollout<double> rollout(system, {.steps = steps});
  auto at = rollout.arguments();
  std::vector<double> weights(at.x0.size(), 0.0);
  for (std::int64_t c = 0; c < n * n; ++c) {
    const double wave = std::cos(2 * std::numbers::pi * double(2 * (c % n) + c / n) / double(n));
    at.x0[std::size_t(c)] = 1;
    at.x0[std::size_t(n * n + c)] = faint * wave;
    weights[std::size_t(n * n + c)] = wave * 2 / double(n * n) / faint;
  }
  const auto sine2 = [&](int m) {
    const double s = std::sin(std::numbers::pi * m / double(n));
    return s * s;
  };
  const double lambda = -4 * (sine2(2) + sine2(1)), factor = 1 + d * lambda - f - k;
  const auto g =
      rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {steps}, {weights}));
  const double slope = double(steps) * std::pow(factor, double(steps - 1));
  EXPECT_NEAR(g.value, std::pow(factor, double(steps)), 1e-12);
  EXPECT_NEAR(g.parameters["kill"][0], -slope, 1e-9 * slope);
  EXPECT_NEAR(g.parameters["diffusivity_v"][0], lambda * slope, 1e-9 * std::abs(lambda * slope));
}

TEST(GrayScott, KeepsTheContract) {
  const auto near = [](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    for (std::size_t i = 0; i < a.x0.size(); ++i)
      a.x0[i] = decltype(a.x0[i] + 0)(0.4 + 0.2 * std::sin(0.7 * double(i) + double(seed)));
    return a;
  };
  const grid::GrayScottOptions dish{.nx = 7, .ny = 5, .sources = {8, 20}};
  expect_contract(grid::gray_scott<double>(dish), {.states = near, .steps = 30, .stencil_step = 3e-4});
  expect_contract(grid::gray_scott<float>(dish), {.states = near, .steps = 30});
}

TEST(GrayScott, SaysWhatIsWrong) {
  expect_error([] { grid::gray_scott<double>({.dt = 2}); }, "4 diffusivity dt / dx^2 = 1.28 exceeds 1",
               "reduce dt");
  expect_error([] { grid::gray_scott<double>({.diffusivity_u = -1}); }, "a diffusivity is negative",
               "zero or positive");
}

}  // namespace
}  // namespace costate

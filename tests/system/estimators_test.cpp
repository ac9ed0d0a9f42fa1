#include "costate/system/estimators.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/system/program/lambda_system.h"
#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate::estimate {
namespace {

using costate::test::expect_error;

constexpr double kPi = 3.14159265358979323846;

// One step of one state that a parameter shifts, y = f(x + shift); the loss is y.
template <class F>
struct OneStep {
  std::shared_ptr<System<double>> system;
  RolloutOptions options{.steps = 1};
  Arguments<double> at;
  ObjectivePtr<double> objective;
  OneStep(double x, F f) {
    Signature s;
    s.state("x").parameter("shift", 0.0);
    system = lambda_system<double, Sizes{.states = 1, .parameters = 1}>(
        s, [f](auto state, auto, auto p) { return f(state[0] + p[0]); });
    at = Rollout<double>(system, options).arguments();
    at.x0 = {x};
    objective = loss::final_value<double>(system->signature(), "x");
  }
  Estimate<double> estimate(const Smoothing& smoothing, Order order) const {
    return smoothed_gradient<double>(system, options, at, *objective, smoothing, order);
  }
};

const auto square = [](auto x) { return x * x; };
const auto jump = [](auto x) { return select(x < 0.0 * x, 0.0 * x, 0.0 * x + 1.0); };
// From 0 to 1 within a thousandth.
const auto ramp = [](auto x) { return min(max(1000.0 * x, 0.0 * x), 0.0 * x + 1.0); };

Smoothing around(double sigma, int samples) {
  return {.sigma = sigma, .samples = samples, .seed = 7, .x0 = true, .controls = false};
}

TEST(Estimators, SmoothingAParabolaMovesItsValueAndLeavesItsSlope) {
  const OneStep p(0.7, square);
  const auto first = p.estimate(around(0.1, 64), Order::first);
  EXPECT_NEAR(first.gradient.x0[0], 1.4, 1e-12);  // pairs cancel
  EXPECT_LT(first.standard_error, 1e-12);
  EXPECT_NEAR(first.gradient.value, 0.49 + 0.01, 4 * std::sqrt(2.0) * 0.01 / std::sqrt(32));
  const auto zeroth = p.estimate(around(0.1, 4096), Order::zeroth);
  EXPECT_NEAR(zeroth.gradient.x0[0], 1.4, 4 * zeroth.standard_error * 1.4);
  EXPECT_LT(zeroth.standard_error, 0.05);
  // Nothing argues against the first order, so the mixed one is it.
  const auto mixed = p.estimate(around(0.1, 4096), Order::mixed);
  EXPECT_GT(mixed.first_order_share, 0.999);
  EXPECT_NEAR(mixed.gradient.x0[0], 1.4, 1e-3);
}

// F(x) = Phi(x / sigma), F' = exp(-x^2 / (2 sigma^2)) / (sigma sqrt(2 pi)).
TEST(Estimators, AJumpIsSeenByTheZerothOrderAndByTheMix) {
  const double x = 0.1, sigma = 0.2;
  const double exact = std::exp(-x * x / (2 * sigma * sigma)) / (sigma * std::sqrt(2 * kPi));
  const OneStep p(x, jump);
  const auto first = p.estimate(around(sigma, 8192), Order::first);
  EXPECT_EQ(first.gradient.x0[0], 0);
  EXPECT_GT(first.disagreement, 3);
  ASSERT_FALSE(first.gradient.report.advice.empty());
  EXPECT_NE(first.gradient.report.advice.back().find("the loss jumps"), std::string::npos);
  const auto zeroth = p.estimate(around(sigma, 8192), Order::zeroth);
  EXPECT_NEAR(zeroth.gradient.x0[0], exact, 4 * zeroth.standard_error * exact);
  const auto mixed = p.estimate(around(sigma, 8192), Order::mixed);
  EXPECT_LT(mixed.first_order_share, 0.1);
  EXPECT_NEAR(mixed.gradient.x0[0], exact, 8 * zeroth.standard_error * exact);
}

// The first order is right here too, but hits the ramp once in hundreds of samples.
TEST(Estimators, TheMixIsNoWorseThanEitherOrder) {
  const OneStep p(0.0, ramp);
  const double sigma = 0.2, exact = 1 / (sigma * std::sqrt(2 * kPi));
  const auto first = p.estimate(around(sigma, 4096), Order::first),
             zeroth = p.estimate(around(sigma, 4096), Order::zeroth),
             mixed = p.estimate(around(sigma, 4096), Order::mixed);
  EXPECT_GT(first.standard_error, 4 * zeroth.standard_error);
  EXPECT_LT(mixed.standard_error, 1.5 * zeroth.standard_error);
  EXPECT_NEAR(mixed.gradient.x0[0], exact, 5 * zeroth.standard_error * exact);
}

TEST(Estimators, ParametersAndControlsAreInputsLikeAnyOther) {
  const OneStep p(0.7, square);
  const auto e = p.estimate(
      {.sigma = 0.1, .samples = 64, .x0 = false, .controls = false, .parameters = {"shift"}}, Order::first);
  EXPECT_NEAR(e.gradient.parameters["shift"][0], 1.4, 1e-12);
  EXPECT_TRUE(e.gradient.x0.empty());

  Signature s;
  s.state("x").control("u");
  const auto system = lambda_system<double, Sizes{.states = 1, .controls = 1}>(
      s, [](auto x, auto u, auto) { return 0.5 * x[0] + u[0] * u[0]; });
  RolloutOptions options{.steps = 3};
  Arguments<double> at = Rollout<double>(system, options).arguments();
  at.controls = {1, 2, 3};
  const auto objective = loss::final_value<double>(s, "x");
  const auto c = smoothed_gradient<double>(system, options, at, *objective, {.sigma = 0.01, .samples = 16},
                                           Order::first);
  ASSERT_EQ(c.gradient.controls.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_NEAR(c.gradient.controls[k], 2 * at.controls[k] * std::pow(0.5, 2 - double(k)), 1e-12) << k;
}

TEST(Estimators, TheSameSeedHasTheSameBitsForAnyNumberOfThreads) {
  const OneStep p(0.1, jump);
  const auto expected = p.estimate(around(0.2, 512), Order::mixed);
  for (int threads : {1, 2, 3, 7}) {
    set_thread_count(threads);
    const auto again = p.estimate(around(0.2, 512), Order::mixed);
    test::expect_same_bits(again.gradient, expected.gradient, std::to_string(threads) + " threads");
  }
  set_thread_count(0);
  Smoothing other = around(0.2, 512);
  other.seed = 8;
  EXPECT_NE(p.estimate(other, Order::mixed).gradient.x0[0], expected.gradient.x0[0]);
}

TEST(Estimators, MistakesAreNamed) {
  const OneStep p(0.1, jump);
  expect_error([&] { return p.estimate(around(0.2, 5), Order::mixed); },
               "samples must be even and at least 4");
  expect_error([&] { return p.estimate(around(0, 8), Order::mixed); }, "sigma must be greater than 0");
  expect_error([&] { return p.estimate({.samples = 8, .x0 = false, .controls = true}, Order::mixed); },
               "nothing is perturbed", "set x0 or controls, or name parameters");  // there are none
  RolloutOptions two = p.options;
  two.worlds = 2;
  expect_error([&] { return smoothed_gradient<double>(p.system, two, p.at, *p.objective, around(0.2, 8)); },
               "an estimate is that of one world", "set worlds = 1");
}

TEST(Estimators, TheReportSaysWhatItIs) {
  const OneStep p(0.1, jump);
  const auto e = p.estimate(around(0.2, 512), Order::mixed);
  const std::string text = e.gradient.report.to_text();
  EXPECT_NE(text.find("mixed order, smoothed"), std::string::npos) << text;
  EXPECT_NE(text.find("estimate of the smoothed loss, sigma 0.2, 512 samples"), std::string::npos) << text;
}

}  // namespace
}  // namespace costate::estimate

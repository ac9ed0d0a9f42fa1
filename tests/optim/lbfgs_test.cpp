#include "costate/optim/lbfgs.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

#include "tests/float_traps.h"
#include "tests/optim/test_functions.h"

namespace costate::optim::test {
namespace {

TEST(Lbfgs, FindsTheMinimumOfRosenbrocksValley) {
  for (int n : {2, 10, 100}) {
    std::vector<double> start(n, 1.0);
    for (int i = 0; i < n; i += 2) start[i] = -1.2;
    const Result r = minimize(Rosenbrock{n}, start, LbfgsOptions{});
    EXPECT_EQ(r.stop, Stop::gradient) << r.reason;
    for (double x : r.x) EXPECT_NEAR(x, 1, 1e-7);
    EXPECT_LT(r.evaluations, 60 + 8 * n);
  }
}

TEST(Lbfgs, SolvesAnIllConditionedQuadratic) {
  const Result r =
      minimize(Quadratic{.n = 30, .condition = 1e4}, std::vector<double>(30, 0.0), LbfgsOptions{});
  EXPECT_EQ(r.stop, Stop::gradient) << r.reason;
  for (int i = 0; i < 30; ++i) EXPECT_NEAR(r.x[i], i, 1e-8);
  EXPECT_LT(r.evaluations, 1.2 * r.iterations);  // nearly every first step is good
}

TEST(Lbfgs, AStartOfLargeVariablesIsNoMinimum) {  // its gradient is 2e-12, wherever it begins
  const auto far = [](const double* x, double* g) {
    double value = 0;
    for (int i = 0; i < 2; ++i) {
      const double e = x[i] / 1e12 - (i + 1);
      g[i] = 2 * e / 1e12;
      value += e * e;
    }
    return value;
  };
  const Result r = minimize(far, {-1e12, -1e12}, LbfgsOptions{});
  EXPECT_TRUE(r.converged()) << r.reason;
  EXPECT_NEAR(r.x[0] / 1e12, 1, 1e-6) << r.reason;
  EXPECT_NEAR(r.x[1] / 1e12, 2, 1e-6) << r.reason;
}

TEST(Lbfgs, FindsActiveBounds) {
  // Rosenbrock's valley with x1 <= 0.25: the solution lies on the bound, where 100 (0.25 - a^2)^2 + (1 - a)^2
  // is least.
  const Result r = minimize(Rosenbrock{}, {-1.2, -1}, LbfgsOptions{.bounds = {.upper = {10, 0.25}}});
  EXPECT_EQ(r.stop, Stop::gradient) << r.reason;
  EXPECT_EQ(r.x[1], 0.25);
  const double a = r.x[0];
  EXPECT_NEAR(-400 * (0.25 - a * a) * a - 2 * (1 - a), 0, 1e-7);
  EXPECT_NEAR(a, 0.5049, 1e-3);

  std::vector<double> lower(30, -5), upper(30, 20.5);
  lower[3] = 7;
  const Result q = minimize(Quadratic{.n = 30, .condition = 1e4}, std::vector<double>(30, 0.0),
                            LbfgsOptions{.bounds = {lower, upper}});
  EXPECT_EQ(q.stop, Stop::gradient) << q.reason;
  for (int i = 0; i < 30; ++i) EXPECT_NEAR(q.x[i], i == 3 ? 7 : std::min(i * 1.0, 20.5), 1e-7) << i;
}

TEST(Lbfgs, NoBoundIsCrossedDuringTheRun) {
  const auto guarded = [](const double* x, double* g) {
    EXPECT_GE(x[0], -1.5);
    EXPECT_LE(x[1], 0.25);
    return Rosenbrock{}(x, g);
  };
  minimize(guarded, {-8, 8}, LbfgsOptions{.bounds = {.lower = {-1.5, -10}, .upper = {10, 0.25}}});
}

TEST(Lbfgs, StepsBackFromWhereTheValueIsNotANumber) {
  const costate::test::AllowFloatExceptions logarithm_of_a_negative_number;
  const Result r = minimize(log_barrier, {20}, LbfgsOptions{.first_step = 100});
  EXPECT_EQ(r.stop, Stop::gradient) << r.reason;
  EXPECT_NEAR(r.x[0], 1, 1e-7);
  const auto island = [](const double* x, double* g) {
    g[0] = 1;
    return x[0] == 2 ? 1.0 : std::numeric_limits<double>::quiet_NaN();
  };
  const Result lost = minimize(island, {2}, LbfgsOptions{});
  EXPECT_EQ(lost.stop, Stop::not_finite);
  EXPECT_EQ(lost.x[0], 2);
}

TEST(Lbfgs, AStartThatIsNotFiniteIsNoMinimumWhenResumed) {
  const auto nowhere = [](const double*, double* g) {
    return g[0] = 1, std::numeric_limits<double>::quiet_NaN();
  };
  LbfgsState state;
  EXPECT_EQ(minimize(nowhere, {2}, LbfgsOptions{}, &state).stop, Stop::not_finite);
  const Result again = minimize(nowhere, {2}, LbfgsOptions{}, &state);
  EXPECT_EQ(again.stop, Stop::not_finite) << again.reason;
  EXPECT_EQ(again.x[0], 2);
}

TEST(Lbfgs, AWrongGradientEndsInNoDescent) {
  const auto wrong = [](const double* x, double* g) { return g[0] = -2 * x[0], x[0] * x[0]; };
  const Result r = minimize(wrong, {1}, LbfgsOptions{});
  EXPECT_EQ(r.stop, Stop::no_descent);
  EXPECT_NE(r.reason.find("not that of the value"), std::string::npos);
}

// A solver with a tolerance, or a simulation in single precision, gives values of a few digits.
TEST(Lbfgs, ValuesWithoutMoreDigitsAreConvergence) {
  const auto of_few_digits = [](const double* x, double* g) {
    g[0] = 2 * (x[0] - 0.3);
    return 1 + std::round(1e6 * (x[0] - 0.3) * (x[0] - 0.3)) / 1e6;
  };
  const Result r = minimize(of_few_digits, {1}, LbfgsOptions{.stopping = {.gradient_tolerance = 1e-14}});
  EXPECT_TRUE(r.converged()) << r.reason;
  EXPECT_NEAR(r.x[0], 0.3, 1e-3);
  // Every value is larger than the one before by 1e-7.
  const auto drifting = [calls = 0](const double* x, double* g) mutable {
    const double d = x[0] - 0.3;
    g[0] = 2 * d + 4 * d * d * d;
    return 1 + d * d + d * d * d * d + 1e-7 * ++calls;
  };
  const Result rough = minimize(drifting, {1}, LbfgsOptions{.stopping = {.gradient_tolerance = 1e-14}});
  EXPECT_TRUE(rough.converged()) << rough.reason;
  EXPECT_NE(rough.reason.find("accuracy of the function"), std::string::npos) << rough.reason;
}

// Noise of 1e-7 lets every other step through, however short: a walk among the noise is not progress.
TEST(Lbfgs, NoiseInTheValueEndsTheRunWhereItHidesTheDescent) {
  for (const double of_gradient : {0.0, 1e-5, 1e-4}) {
    const auto noisy = [&](const double* x, double* g) {
      const double value = Rosenbrock{}(x, g);
      std::uint64_t bits = 0;
      for (int i = 0; i < 2; ++i) bits = bits * 6364136223846793005u + std::bit_cast<std::uint64_t>(x[i]);
      const auto noise = [&] {
        bits = (bits ^ (bits >> 29)) * 0xbf58476d1ce4e5b9u;
        return double(bits >> 11) / 9007199254740992.0 - 0.5;
      };
      for (int i = 0; i < 2; ++i) g[i] += of_gradient * noise();
      return value + 1e-7 * noise();
    };
    const Result r = minimize(noisy, {-1.2, 1}, LbfgsOptions{.stopping = {.gradient_tolerance = 1e-10}});
    EXPECT_TRUE(r.converged()) << r.reason;
    EXPECT_NE(r.reason.find("accuracy of the function"), std::string::npos) << r.reason;
    EXPECT_LT(r.iterations, 100) << of_gradient;
    EXPECT_LT(r.value, 2e-6);
  }
}

TEST(Lbfgs, TargetAndValueToleranceEndTheRun) {
  EXPECT_EQ(minimize(Rosenbrock{}, {-1.2, 1}, LbfgsOptions{.stopping = {.target = 1e-2}}).stop, Stop::target);
  EXPECT_EQ(minimize(Quadratic{.condition = 1e4}, std::vector<double>(5, 9.0),
                     LbfgsOptions{.stopping = {.gradient_tolerance = 0, .value_tolerance = 0.2}})
                .stop,
            Stop::value);
}

TEST(Lbfgs, ResumesToTheSameBits) {
  LbfgsOptions options{
      .memory = 4, .stopping = {.max_iterations = 25}, .bounds = {.upper = {10, 10, 0.8, 10}}};
  LbfgsState whole, parts;
  const std::vector<double> start = {-1.2, 1, 0.3, 2};
  const Result a = minimize(Rosenbrock{4}, start, options, &whole);
  options.stopping.max_iterations = 11;
  minimize(Rosenbrock{4}, start, options, &parts);
  options.stopping.max_iterations = 25;
  const Result b = minimize(Rosenbrock{4}, {}, options, &parts);
  EXPECT_EQ(whole.x, parts.x);
  EXPECT_EQ(whole.s, parts.s);
  EXPECT_EQ(whole.y, parts.y);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.evaluations, b.evaluations);
}

}  // namespace
}  // namespace costate::optim::test

#include "costate/optim/gradient_descent.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/optim/test_functions.h"

namespace costate::optim::test {
namespace {

using costate::test::expect_error;

TEST(GradientDescent, ContractsAQuadraticByOneMinusRateTimesCurvature) {
  const auto half_square = [](const double* x, double* g) { return g[0] = x[0], 0.5 * x[0] * x[0]; };
  GradientDescentState state;
  minimize(half_square, {1}, GradientDescentOptions{.rate = 0.25, .stopping = {.max_iterations = 8}}, &state);
  EXPECT_DOUBLE_EQ(state.x[0], std::pow(0.75, 8));
}

TEST(GradientDescent, FindsTheMinimumOfAQuadraticAndSaysWhyItStopped) {
  for (double momentum : {0.0, 0.8}) {
    const Result r = minimize(
        Quadratic{.condition = 20}, std::vector<double>(5, -1.0),
        GradientDescentOptions{.rate = 0.05, .momentum = momentum, .stopping = {.max_iterations = 5000}});
    EXPECT_EQ(r.stop, Stop::gradient);
    EXPECT_TRUE(r.converged());
    EXPECT_EQ(r.reason.find("gradient norm "), 0u) << r.reason;
    EXPECT_NE(r.reason.find("not above 1e-08"), std::string::npos) << r.reason;
    for (int i = 0; i < 5; ++i) EXPECT_NEAR(r.x[i], i, 1e-8);
    EXPECT_EQ(r.evaluations, r.iterations + 1);
  }
}

TEST(GradientDescent, HoldsVariablesAtActiveBounds) {
  GradientDescentOptions options{.rate = 0.05,
                                 .bounds = {.lower = {0.5, 0, 0, 0, 0}, .upper = {9, 9, 9, 9, 3}}};
  options.stopping.max_iterations = 5000;
  const Result r = minimize(Quadratic{.condition = 20}, std::vector<double>(5, 100.0), options);
  EXPECT_EQ(r.stop, Stop::gradient) << r.reason;
  EXPECT_EQ(r.x[0], 0.5);
  EXPECT_EQ(r.x[4], 3);
  for (int i = 1; i < 4; ++i) EXPECT_NEAR(r.x[i], i, 1e-7);
}

TEST(GradientDescent, TheBestPointIsKeptWhenTheRunDiverges) {
  const Result r = minimize(Quadratic{}, std::vector<double>(5, 4.0),
                            GradientDescentOptions{.rate = 0.05, .stopping = {.max_iterations = 30}});
  double g[5];
  EXPECT_LE(r.value, Quadratic{}(std::vector<double>(5, 4.0).data(), g));
  EXPECT_EQ(r.value, Quadratic{}(r.x.data(), g));
  EXPECT_FALSE(r.converged());
}

TEST(GradientDescent, StepsBackFromWhereTheValueIsNotANumber) {
  const costate::test::AllowFloatExceptions logarithm_of_a_negative_number;
  const Result r =
      minimize(log_barrier, {0.1}, GradientDescentOptions{.rate = 0.9, .stopping = {.max_iterations = 500}});
  EXPECT_EQ(r.stop, Stop::gradient) << r.reason;
  EXPECT_NEAR(r.x[0], 1, 1e-7);

  const auto island = [](const double* x, double* g) {  // finite at one point alone
    g[0] = 1;
    return x[0] == 2 ? 1.0 : std::numeric_limits<double>::quiet_NaN();
  };
  const Result lost = minimize(island, {2}, GradientDescentOptions{});
  EXPECT_EQ(lost.stop, Stop::not_finite);
  EXPECT_NE(lost.reason.find("not finite"), std::string::npos);
  EXPECT_EQ(lost.x[0], 2);
  const Result nowhere = minimize(island, {3}, GradientDescentOptions{});
  EXPECT_EQ(nowhere.stop, Stop::not_finite);
  EXPECT_NE(nowhere.reason.find("at the starting point"), std::string::npos);
}

TEST(GradientDescent, BadBoundsAreErrors) {
  expect_error(
      [&] {
        return minimize(Quadratic{}, std::vector<double>(5),
                        GradientDescentOptions{.bounds = {.lower = {1}}});
      },
      "bounds have 1 components, the variables 5");
  expect_error([&] { return minimize(Quadratic{}, {}, GradientDescentOptions{}); },
               "nothing to minimise: there are no variables");
  expect_error(
      [&] {
        return minimize(Quadratic{.n = 2}, {0, 0},
                        GradientDescentOptions{.bounds = {.lower = {1, 1}, .upper = {0, 2}}});
      },
      "the lower bound of variable 0 lies above its upper bound");
}

TEST(GradientDescent, ResumesToTheSameBits) {
  GradientDescentOptions options{.rate = 0.01, .momentum = 0.5, .stopping = {.max_iterations = 40}};
  GradientDescentState whole, parts;
  minimize(Quadratic{}, std::vector<double>(5, 4.0), options, &whole);
  options.stopping.max_iterations = 17;
  minimize(Quadratic{}, std::vector<double>(5, 4.0), options, &parts);
  options.stopping.max_iterations = 40;
  minimize(Quadratic{}, {}, options, &parts);
  EXPECT_EQ(whole.x, parts.x);
  EXPECT_EQ(whole.best_x, parts.best_x);
  EXPECT_EQ(whole.evaluations, parts.evaluations);
}

}  // namespace
}  // namespace costate::optim::test

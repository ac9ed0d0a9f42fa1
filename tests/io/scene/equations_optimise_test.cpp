
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/io/scene/studies.h"

namespace costate::io::test {
namespace {

// Without drag the range is known: x = vx t, where y0 + vy t - g t^2/2 = 0.
const std::string kThrow = R"(
[start]
x = 0.0
y = 0.0
vx = 5.0
vy = 10.0
[parameters]
g = 10.0
[equations]
x = "vx"
y = "vy"
vx = 0
vy = "-g"
[[events]]
when = "y"
direction = -1
terminal = true
[run]
t1 = 100.0
rtol = 1e-11
atol = 1e-11
[[loss]]
formula = "(x - 20)^2"
)";

TEST(Optimize, AThrowHitsItsTarget) {
  for (const std::string method : {"lbfgs", "gradient_descent", "adam", "cma_es"}) {
    const std::string rate = method == "adam" ? "0.1" : "0.05";
    const Equations p =
        equations(kThrow + "[optimize]\nvariables = [\"start.vx\"]\niterations = 2000\nrate = " + rate +
                  "\nmethod = \"" + method + "\"\n");
    const Optimum o = optimised(p);
    EXPECT_NEAR(o.best[0], 10, 1e-4) << method;  // two seconds in the air
    EXPECT_NEAR(o.start_value, 100, 1e-8);
    EXPECT_EQ(o.start[0], 5);
    EXPECT_LT(o.best_value, 1e-6) << method;
  }
}

std::string by_adam(const std::string& settings) {
  return kThrow + "[optimize]\nvariables = [\"start.vx\"]\nmethod = \"adam\"\n" + settings;
}

TEST(Optimize, AStepOfAdamIsATenthOfAScaleUnlessTheFileSaysOtherwise) {
  const Optimum o = optimised(equations(by_adam("iterations = 10\n")));
  EXPECT_NEAR(o.best[0], 6, 0.05);  // from 5, by ten steps in one direction
  EXPECT_TRUE(o.advice.empty());
}

TEST(Optimize, StepsThatLeadNowhereComeWithAdvice) {
  const Optimum o = optimised(equations(by_adam("iterations = 20\nrate = 1e-3\n")));
  ASSERT_EQ(o.advice.size(), 1U);
  EXPECT_NE(o.advice[0].find("0.02 of its scale in 20 iterations: raise rate or iterations"),
            std::string::npos)
      << o.advice[0];
}

TEST(Optimize, AGradientMuchLongerThanTheOthersComesWithAdvice) {
  std::string cliff = by_adam("iterations = 12\n");
  cliff.replace(cliff.find("(x - 20)^2"), 10, "(x - 20)^2 + 1e6*max(x - 11.5, 0)");
  const Optimum o = optimised(equations(cliff));
  ASSERT_EQ(o.advice.size(), 1U);
  EXPECT_NE(o.advice[0].find("set gradient_limit = "), std::string::npos) << o.advice[0];
  EXPECT_TRUE(optimised(equations(cliff + "gradient_limit = 50.0\n")).advice.empty());
}

TEST(Events, TerminalIsTrueOrHowOftenTheEventHappens) {
  EXPECT_EQ(equations(kThrow).options.events[0].terminal, 1);
  std::string text = kThrow;
  text.replace(text.find("terminal = true"), 15, "terminal = 3");
  EXPECT_EQ(equations(text).options.events[0].terminal, 3);
}

// x' = -z, 0 = z - k x: the start of z depends on k, and so do measurements of it at the start.
TEST(Optimize, AFitKnowsThatAlgebraicStatesFollow) {
  const Equations p = equations(R"(
[start]
x = 1.0
z = 0.0
[parameters]
k = 0.7
[equations]
x = "-z"
z = "z - k*x"
[run]
t1 = 1.0
solver = "radau5"
rtol = 1e-10
atol = 1e-11
algebraic = ["z"]
[fit]
variables = ["parameters.k", "start.x"]
[fit.data]
times = [0.0, 0.5, 1.0]
formula = "z"
values = [3.0, 1.4171, 0.6694]
)");
  const Optimum o = optimised(p);  // z = k x0 e^(-k t) with k = 1.5, x0 = 2
  EXPECT_NEAR(o.best[0], 1.5, 1e-4);
  EXPECT_NEAR(o.best[1], 2.0, 1e-4);
  EXPECT_LT(o.iterations, 12);
}

TEST(Optimize, BoundsHold) {
  const Equations p =
      equations(kThrow + "[optimize]\nvariables = [{name = \"start.vx\", lower = 0.0, upper = 8.0}]\n");
  const Optimum o = optimised(p);
  EXPECT_NEAR(o.best[0], 8, 1e-12);
}

TEST(Optimize, PlacesWhereTheEquationsCannotBeSolvedAreSteppedBackFrom) {
  // x' = k x^2 from 1 blows up at t = 1/k: the first, long step of the optimiser lands there.
  const costate::test::AllowFloatExceptions allow;
  const Equations p = equations(R"(
[start]
x = 1.0
[parameters]
k = 0.5
[equations]
x = "k*x^2"
[run]
t1 = 1.0
[[loss]]
formula = "(x - 4)^2"
[optimize]
variables = ["parameters.k"]
)");
  const Optimum o = optimised(p);
  EXPECT_NEAR(o.best[0], 0.75, 1e-5);
}

TEST(Fit, RecoversTheParametersThatMadeTheData) {
  std::string t, measured;
  for (int k = 1; k <= 8; ++k) {
    char number[64];
    t += (k > 1 ? ", " : "") + std::to_string(0.25 * k);
    std::snprintf(number, sizeof number, "%.16g", 3 * std::exp(-0.7 * 0.25 * k));
    measured += (k > 1 ? ", " : "") + std::string(number);
  }
  const Equations p = equations(
      "[start]\nx = 1.0\n[parameters]\nk = 0.1\n[equations]\nx = \"-k*x\"\n[run]\nt1 = 2.0\nsolver = "
      "\"dop853\"\n"
      "rtol = 1e-12\natol = 1e-13\n[fit]\nvariables = [\"parameters.k\", \"start.x\"]\ntolerance = 1e-12\n"
      "data = {times = [" +
      t + "], formula = \"x\", values = [" + measured + "]}\n");
  const Optimum o = optimised(p);
  EXPECT_EQ(p.data[0].t.size(), 8u);
  EXPECT_NEAR(o.best[0], 0.7, 1e-7);
  EXPECT_NEAR(o.best[1], 3, 1e-7);
  ASSERT_EQ(o.standard_deviation.size(), 2u);
  EXPECT_LT(o.standard_deviation[0], 1e-7);
}

// A straight line through noisy points has a closed form, and so has its uncertainty.
Optimum line_through_points(const std::string& prior, const std::string& sigma) {
  return optimised(
      equations("[start]\nx = 0.0\n[parameters]\nslope = 0.0\n[equations]\nx = \"slope\"\n[run]\nt1 = 4.0\n"
                "[fit]\nvariables = [{name = \"parameters.slope\"" +
                prior + "}]\ndata = {times = [1, 2, 3, 4], formula = \"x\", values = [1.1, 1.9, 3.2, 3.8]" +
                sigma + "}\n"));
}

TEST(Fit, UncertaintyIsThatOfLinearRegression) {
  const Optimum o = line_through_points("", "");
  const double slope = (1 * 1.1 + 2 * 1.9 + 3 * 3.2 + 4 * 3.8) / 30;
  EXPECT_NEAR(o.best[0], slope, 1e-9);
  double squares = 0;
  const double measured[] = {1.1, 1.9, 3.2, 3.8};
  for (int k = 0; k < 4; ++k) squares += std::pow(slope * (k + 1) - measured[k], 2);
  ASSERT_EQ(o.standard_deviation.size(), 1u);
  EXPECT_NEAR(o.standard_deviation[0], std::sqrt(squares / 3 / 30), 1e-8);
}

TEST(Fit, UncertaintyIsThatOfSigmaWhereItIsGiven) {
  const Optimum o = line_through_points("", ", sigma = 0.5");
  ASSERT_EQ(o.standard_deviation.size(), 1u);
  EXPECT_NEAR(o.standard_deviation[0], 0.5 / std::sqrt(30), 1e-8);
}

// Information adds up: 1 / variance = sum t^2 / sigma^2 + 1 / deviation^2.
TEST(Fit, APriorCountsInItsOwnUnits) {
  const std::string prior = ", prior = {mean = 1.5, deviation = 0.2}";
  const Optimum given = line_through_points(prior, ", sigma = 0.5"), one = line_through_points(prior, "");
  ASSERT_EQ(given.standard_deviation.size(), 1u);
  ASSERT_EQ(one.standard_deviation.size(), 1u);
  EXPECT_NEAR(given.standard_deviation[0], 1 / std::sqrt(30 / 0.25 + 25), 1e-8);
  EXPECT_NEAR(one.standard_deviation[0], 1 / std::sqrt(30 + 25.0), 1e-8);
}

TEST(Optimize, AFileWithoutVariablesIsAMistake) {
  costate::test::expect_error([&] { return optimised(equations(kThrow)); }, "there is nothing to optimise");
}

}  // namespace
}  // namespace costate::io::test

#include "costate/optim/levenberg_marquardt.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/optim/test_functions.h"

namespace costate::optim::test {
namespace {

using costate::test::expect_error;

// y = a exp(-b t) + c at t = 0, 0.1, ..., from (a, b, c) = (2, 1.5, 0.3).
Residuals exponential_fit() {
  return {40, [](const double* x, double* r, double* jacobian) {
            for (int i = 0; i < 40; ++i) {
              const double t = 0.1 * i, e = std::exp(-x[1] * t);
              r[i] = x[0] * e + x[2] - (2 * std::exp(-1.5 * t) + 0.3);
              jacobian[3 * i] = e;
              jacobian[3 * i + 1] = -t * x[0] * e;
              jacobian[3 * i + 2] = 1;
            }
          }};
}

TEST(LevenbergMarquardt, RecoversTheParametersOfAnExponential) {
  for (double damping : {0.0, 1e-3, 1.0}) {  // 0: Gauss-Newton until a step fails
    const Result r = minimize(
        exponential_fit(), {1, 0.2, 0},
        LevenbergMarquardtOptions{.initial_damping = damping, .stopping = {.gradient_tolerance = 1e-12}});
    EXPECT_EQ(r.stop, Stop::gradient) << r.reason;
    EXPECT_NEAR(r.x[0], 2, 1e-9);
    EXPECT_NEAR(r.x[1], 1.5, 1e-9);
    EXPECT_NEAR(r.x[2], 0.3, 1e-9);
    EXPECT_LT(r.iterations, 25);
  }
}

TEST(LevenbergMarquardt, ALinearProblemTakesOneGaussNewtonStep) {
  const Residuals line{
      3, [](const double* x, double* r, double* j) {  // y = x0 + x1 t through (0, 1), (1, 2), (2, 4)
        const double y[] = {1, 2, 4};
        for (int i = 0; i < 3; ++i) r[i] = x[0] + x[1] * i - y[i], j[2 * i] = 1, j[2 * i + 1] = i;
      }};
  const Result r =
      minimize(line, {0, 0},
               LevenbergMarquardtOptions{.initial_damping = 0, .stopping = {.gradient_tolerance = 1e-12}});
  EXPECT_EQ(r.iterations, 1);
  EXPECT_NEAR(r.x[0], 5.0 / 6, 1e-14);
  EXPECT_NEAR(r.x[1], 1.5, 1e-14);
  EXPECT_NEAR(r.value, 0.5 / 6, 1e-14);
}

// The line of the test above in other units, from 0: its solution is (5/6, 3/2) x_unit.
TEST(LevenbergMarquardt, AnyUnitsWillDo) {
  for (const double x_unit : {1e-12, 1.0, 1e12})
    for (const double r_unit : {1e-12, 1.0, 1e12}) {
      const Residuals line{3, [&](const double* x, double* r, double* j) {
                             const double y[] = {1, 2, 4};
                             for (int i = 0; i < 3; ++i) {
                               j[2 * i] = r_unit / x_unit, j[2 * i + 1] = i * r_unit / x_unit;
                               r[i] = j[2 * i] * x[0] + j[2 * i + 1] * x[1] - r_unit * y[i];
                             }
                           }};
      const Result r = minimize(line, {0, 0}, LevenbergMarquardtOptions{});
      EXPECT_TRUE(r.converged() || r_unit > 1) << r.reason;  // its values have no digits for 1e-8
      EXPECT_NEAR(r.x[0] / x_unit, 5.0 / 6, 1e-6) << x_unit << " " << r_unit << " " << r.reason;
      EXPECT_NEAR(r.x[1] / x_unit, 1.5, 1e-6) << x_unit << " " << r_unit << " " << r.reason;
    }
}

TEST(LevenbergMarquardt, HoldsAParameterAtItsBound) {
  LevenbergMarquardtOptions options{.stopping = {.gradient_tolerance = 1e-11},
                                    .bounds = {.lower = {0, 0, 0.4}}};
  const Result r = minimize(exponential_fit(), {1, 0.2, 3}, options);
  EXPECT_EQ(r.stop, Stop::gradient) << r.reason;
  EXPECT_EQ(r.x[2], 0.4);
  // The same with c removed from the variables.
  const Residuals fit = exponential_fit();
  const Residuals held{40, [&](const double* x, double* res, double* j) {
                         const double full[] = {x[0], x[1], 0.4};
                         double j3[120];
                         fit.evaluate(full, res, j3);
                         for (int i = 0; i < 40; ++i) j[2 * i] = j3[3 * i], j[2 * i + 1] = j3[3 * i + 1];
                       }};
  const Result s =
      minimize(held, {1, 0.2}, LevenbergMarquardtOptions{.stopping = {.gradient_tolerance = 1e-11}});
  EXPECT_NEAR(r.x[0], s.x[0], 1e-8);
  EXPECT_NEAR(r.x[1], s.x[1], 1e-8);
}

TEST(LevenbergMarquardt, ADegenerateJacobianStillFits) {  // only the sum of the variables matters
  const Residuals sum{2, [](const double* x, double* r, double* j) {
                        for (int i = 0; i < 2; ++i) r[i] = x[0] + x[1] - 3, j[2 * i] = j[2 * i + 1] = 1;
                      }};
  for (double damping : {0.0, 1e-3}) {
    const Result r = minimize(sum, {0, 0}, LevenbergMarquardtOptions{.initial_damping = damping});
    EXPECT_EQ(r.stop, Stop::gradient) << r.reason;
    EXPECT_NEAR(r.x[0] + r.x[1], 3, 1e-8);
  }
}

TEST(LevenbergMarquardt, DampsItsWayBackFromWhereResidualsAreNotNumbers) {
  const costate::test::AllowFloatExceptions root_of_a_negative_number;
  const Residuals root{1, [](const double* x, double* r, double* j) {
                         r[0] = std::sqrt(x[0]) - 0.1, j[0] = 0.5 / std::sqrt(x[0]);
                       }};
  const Result r = minimize(root, {4}, LevenbergMarquardtOptions{.stopping = {.gradient_tolerance = 1e-10}});
  EXPECT_EQ(r.stop, Stop::gradient) << r.reason;
  EXPECT_NEAR(r.x[0], 0.01, 1e-8);
}

TEST(LevenbergMarquardt, ResumesToTheSameBits) {
  LevenbergMarquardtOptions options{.stopping = {.max_iterations = 8, .gradient_tolerance = 0}};
  LevenbergMarquardtState whole, parts;
  minimize(exponential_fit(), {1, 0.2, 0}, options, &whole);
  for (int until : {0, 3, 8}) {
    options.stopping.max_iterations = until;
    minimize(exponential_fit(), {1, 0.2, 0}, options, &parts);
  }
  EXPECT_EQ(whole.x, parts.x);
  EXPECT_EQ(whole.damping, parts.damping);
  EXPECT_EQ(whole.evaluations, parts.evaluations);
}

TEST(LevenbergMarquardt, NoResidualsIsAnError) {
  expect_error([&] { return minimize(Residuals{}, {1}, LevenbergMarquardtOptions{}); },
               "least squares without residuals");
}

}  // namespace
}  // namespace costate::optim::test

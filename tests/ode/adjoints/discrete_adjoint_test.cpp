#include "costate/ode/adjoints/discrete_adjoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/solve.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/ode/problems.h"

namespace costate::ode {
namespace {

using costate::test::expect_error;
using test::driven_pendulum;
using test::kLotkaVolterraParameters;
using test::lotka_volterra;

void expect_relative(std::span<const double> got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::abs(want[i]))) << "component " << i;
  }
}

const auto half_distance_to_one = make_function<2, 4>(
    [](auto, auto x, auto) { return 0.5 * ((1.0 - x[0]) * (1.0 - x[0]) + (1.0 - x[1]) * (1.0 - x[1])); });

class LotkaVolterra : public testing::TestWithParam<std::string> {
 protected:
  Options tight() const {
    return {.method = GetParam(), .rtol = 1e-13, .atol = {1e-13}, .max_steps = 1000000};
  }
};

TEST_P(LotkaVolterra, GradientOfAFinalCostHasItsKnownDigits) {
  const auto field = make_field<2, 4>(lotka_volterra);
  const Solution s = solve(field, {0, 10}, {1, 1}, kLotkaVolterraParameters, tight());
  expect_relative(s.final_state(), {1.026344767575089, 0.909691078136042}, 1e-11);
  const Gradient g = gradient(s, {.final = half_distance_to_one});
  EXPECT_NEAR(g.value, 4.424874073408009e-3, 1e-12);
  expect_relative(g.x0, {0.2995995083036823, -0.01415181634485351}, 1e-10);
  expect_relative(g.parameters["p"],
                  {0.6219615855512809, 0.06800140415087434, 0.1691764639958928, 0.2725606939500075}, 1e-10);
}

TEST_P(LotkaVolterra, GradientOfAnIntegralHasItsKnownDigits) {
  const auto field = make_field<2, 4>(lotka_volterra);
  Options options = tight();
  options.running = make_function<2, 4>([](auto, auto x, auto) { return 0.5 * (x[0] * x[0] + x[1] * x[1]); });
  for (bool controlled : {false, true}) {
    options.control_integral = controlled;
    const Solution s = solve(field, {0, 10}, {1, 1}, kLotkaVolterraParameters, options);
    EXPECT_NEAR(s.integral, 85.7705072010927, 1e-10);
    const Gradient g = gradient(s, Loss{});
    expect_relative(g.parameters["p"],
                    {3.62353837542988, -55.2370917032541, 51.5740834030593, -181.286366072316}, 1e-10);
    expect_relative(g.x0, {-52.00977041079382, -12.97267296259073}, 1e-10);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, LotkaVolterra, testing::Values("dopri5", "tsit5", "dop853"));

TEST(DiscreteAdjoint, LorenzVanDerPolAndDragHaveTheirKnownDigits) {
  const Options tight{.method = "dop853", .rtol = 1e-13, .atol = {1e-13}};
  {
    const auto field = make_field<3, 3>(test::lorenz);
    const Solution s = solve(field, {0, 1}, {1, 0, 0}, {10, 21, 8.0 / 3}, tight);
    expect_relative(s.final_state(), {-6.450579147318907, -8.895211478667793, 14.64914586660444}, 1e-11);
    EXPECT_NEAR(gradient(s, OutputCotangents{.final = {1, 0, 0}}).parameters["p"][1], -1.239242130721969,
                1e-10);
    EXPECT_NEAR(gradient(s, OutputCotangents{.final = {0, 0, 1}}).parameters["p"][1], 2.275542510621602,
                1e-10);
  }
  {
    const auto field = make_field<2, 1>(test::van_der_pol);
    const Solution s = solve(field, {0, 5}, {2, 0}, {1}, tight);
    EXPECT_NEAR(s.final_state()[0], -0.8370774502947651, 1e-11);
    const Gradient g = gradient(s, OutputCotangents{.final = {1, 0}});
    EXPECT_NEAR(g.parameters["p"][0], -1.314040887531950, 1e-10);
    EXPECT_NEAR(g.x0[0], -1.772753497832712, 1e-10);
  }
  {
    const auto field = make_field<2, 3>(test::quadratic_drag);
    const Solution s = solve(field, {0, 1}, {0, 10}, {0.1, 1, 9.8}, tight);
    EXPECT_NEAR(s.final_state()[0], 3.316160783656088, 1e-12);
    const Gradient g = gradient(s, OutputCotangents{.final = {1, 0}});
    expect_relative(g.parameters["p"], {-12.86249251168838, 1.286249251168838, -0.4113768880870467}, 1e-11);
    EXPECT_NEAR(g.x0[1], 0.6061405035740307, 1e-11);
    const Solution frictionless = solve(field, {0, 1}, {0, 10}, {0, 1, 9.8}, tight);
    EXPECT_NEAR(gradient(frictionless, OutputCotangents{.final = {1, 0}}).parameters["p"][0],
                -25.33666666666667, 1e-11);
  }
}

// A solve on frozen steps is a smooth function of its inputs. With a fixed step a six-point stencil sees that
// function.
struct Inputs {
  double t0 = 0.2, t1 = 2.2, dt = 0.05;
  std::vector<double> y0 = {1.1, -0.4}, p = {1.3, 0.9, 0.7};
};
double stencil(const std::function<double(double)>& f, double step = 1e-3) {
  return (45 * (f(step) - f(-step)) - 9 * (f(2 * step) - f(-2 * step)) + (f(3 * step) - f(-3 * step))) /
         (60 * step);
}

TEST(DiscreteAdjoint, EveryInputAgreesWithAStencilOnTheSameSteps) {
  const auto field = make_field<2, 3>(driven_pendulum);
  const auto final_cost =
      make_function<2, 3>([](auto t, auto x, auto p) { return x[0] * x[1] + p[2] * x[0] + 0.3 * t * x[1]; });
  const auto running =
      make_function<2, 3>([](auto t, auto x, auto p) { return x[0] * x[0] * p[0] + t * x[1]; });
  const std::vector<double> times = {0.33, 0.713, 0.732, 1.92};
  const auto samples =
      std::make_shared<LeastSquares>(times, std::vector<double>(8, 0.1), std::vector<double>{1, 2});
  for (const char* method : {"rk4", "dopri5", "dop853", "midpoint"}) {
    // With forty steps whatever the span: dt follows t0 and t1, as the frozen fractions do.
    const auto loss = [&](const Inputs& in) {
      const Solution s = solve(field, {in.t0, in.t1}, in.y0, in.p,
                               {.method = method, .dt = (in.t1 - in.t0) / 40, .running = running});
      EXPECT_EQ(s.counts.accepted, 40);
      return evaluate(s, {.final = final_cost, .integral_weight = 0.5, .samples = samples}).value;
    };
    const Inputs at;
    const Solution s =
        solve(field, {at.t0, at.t1}, at.y0, at.p, {.method = method, .dt = at.dt, .running = running});
    const Gradient g = gradient(s, Loss{.final = final_cost, .integral_weight = 0.5, .samples = samples});
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(g.x0[i], stencil([&](double e) {
                    Inputs in;
                    in.y0[i] += e;
                    return loss(in);
                  }),
                  1e-9)
          << method;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(g.parameters["p"][i], stencil([&](double e) {
                    Inputs in;
                    in.p[i] += e;
                    return loss(in);
                  }),
                  1e-9)
          << method;
    }
    // A sample that crosses from one step to the next meets another polynomial: keep the stencil inside.
    EXPECT_NEAR(g.t0,
                stencil(
                    [&](double e) {
                      Inputs in;
                      in.t0 += e;
                      return loss(in);
                    },
                    1e-4),
                2e-8)
        << method;
    EXPECT_NEAR(g.t1,
                stencil(
                    [&](double e) {
                      Inputs in;
                      in.t1 += e;
                      return loss(in);
                    },
                    1e-4),
                2e-8)
        << method;
    ASSERT_TRUE(g.dt.has_value());
    EXPECT_NEAR(*g.dt, 40 * g.t1, 1e-11 * std::abs(*g.dt)) << method;
  }
}

TEST(DiscreteAdjoint, TimesOfTheSpanHaveTheirClosedForm) {
  const auto field = make_field<2, 4>(lotka_volterra);
  const Solution s = solve(field, {0, 10}, {1, 1}, kLotkaVolterraParameters,
                           {.method = "dop853", .rtol = 1e-12, .atol = {1e-12}});
  const Gradient g = gradient(s, OutputCotangents{.final = {1, 0}});
  const std::vector<double> x = s.final_state();
  EXPECT_NEAR(g.t1, 1.5 * x[0] - x[0] * x[1], 1e-9);  // f(x(t1))
  EXPECT_NEAR(g.t0 + g.t1, 0, 1e-9);                  // an autonomous system knows only t1 - t0
}

TEST(DiscreteAdjoint, ThinnedCheckpointsGiveTheSameBits) {
  const auto field = make_field<2, 4>(lotka_volterra);
  Options options{.method = "dopri5", .rtol = 1e-8, .atol = {1e-8}};
  const Solution all = solve(field, {0, 10}, {1, 1}, kLotkaVolterraParameters, options);
  const Gradient expected = gradient(all, {.final = half_distance_to_one});
  for (int m : {2, 3, 7, 50, 100000}) {
    options.keep_every = m;
    const Solution thin = solve(field, {0, 10}, {1, 1}, kLotkaVolterraParameters, options);
    EXPECT_EQ(long(thin.trajectory().kept.size() / 2), (all.counts.accepted + m - 1) / m);
    const Gradient g = gradient(thin, {.final = half_distance_to_one});
    EXPECT_EQ(g.x0, expected.x0) << m;
    EXPECT_THAT(g.parameters["p"], testing::ElementsAreArray(expected.parameters["p"])) << m;
    EXPECT_EQ(g.t0, expected.t0) << m;
    EXPECT_EQ(thin(3.7), all(3.7)) << m;
  }
}

TEST(DiscreteAdjoint, ReportNamesTheMethodTheStepsAndTheGrowth) {
  const auto field = make_field<1, 1>([](auto, auto x, auto p) { return -p[0] * x[0]; });
  const Solution s = solve(field, {0, 3}, {1}, {2}, {.rtol = 1e-10, .atol = {1e-12}});
  const Gradient g = gradient(s, OutputCotangents{.final = {1}});
  EXPECT_EQ(g.report.estimator, "discrete adjoint of dopri5");
  EXPECT_EQ(g.report.steps, s.counts.accepted);
  EXPECT_EQ(long(g.report.adjoint_norm.size()), s.counts.accepted + 1);
  EXPECT_EQ(g.report.sampled_steps.back(), s.counts.accepted);
  EXPECT_NEAR(g.report.growth_per_time.value(), -2, 1e-6);
  EXPECT_NEAR(g.report.growth_rate, -6.0 / double(s.counts.accepted), 1e-6);
  EXPECT_EQ(g.report.label, "exact for the steps taken");
  EXPECT_EQ(
      gradient(solve(field, {0, 3}, {1}, {2}, {.dt = 0.1}), OutputCotangents{.final = {1}}).report.label,
      "exact");
}

TEST(DiscreteAdjoint, AnEmptySpanIsDifferentiableByItsEnds) {
  const auto field = make_field<1, 1>([](auto t, auto x, auto p) { return std::array{p[0] * x[0] + t}; });
  const auto square = make_function<1, 1>([](auto, auto x, auto) { return x[0] * x[0]; });
  const Loss loss{.final = make_function<1, 1>([](auto t, auto x, auto) { return x[0] * t; }),
                  .samples = std::make_shared<LeastSquares>(std::vector<double>{1}, std::vector<double>{0.5},
                                                            std::vector<double>{2})};
  for (const double dt : {0.0, 0.1}) {
    const Solution s = solve(field, {1, 1}, {2}, {3}, {.dt = dt, .running = square});
    for (const Gradient& g : {gradient(s, loss), forward_gradient(s, loss)}) {
      EXPECT_EQ(g.value, 2 + 4.5);
      EXPECT_EQ(g.x0[0], 1 + 6);
      EXPECT_EQ(g.parameters["p"][0], 0);
      EXPECT_EQ(g.t1, 7 + 2 + 4);  // x', x and the running cost
      EXPECT_EQ(g.t0, -7 - 4);
    }
  }
}

// Nothing leaves zero, but a small start would grow by e^800: a finite solution without a finite gradient.
TEST(DiscreteAdjoint, AGradientThatOverflowsIsAnError) {
  const costate::test::AllowFloatExceptions overflow;
  const auto field = make_field<2, 2>([](auto, auto x, auto p) { return std::array{p[0] * x[0], p[1]}; });
  const Solution s = solve(field, {0, 80}, {0, 1}, {10, 0.5}, {.dt = 0.1});
  EXPECT_EQ(s.final_state()[0], 0);
  const Loss loss{.final = make_function<2, 2>([](auto, auto x, auto) { return x[0] + x[1]; })};
  const auto expect_refusal = [](const auto& of) {
    expect_error(of, "the gradient with respect to the initial state is not finite although the solution is",
                 "shorten the time");
  };
  expect_refusal([&] { return gradient(s, OutputCotangents{.final = {1, 1}}); });
  expect_refusal([&] { return gradient(s, loss); });
  expect_refusal([&] { return forward_gradient(s, loss); });
}

}  // namespace
}  // namespace costate::ode

// bdf, switching, and radau5 that carries Newton's matrix: solutions, counts, and derivatives of the steps
// taken.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/adjoints/forward_sensitivity.h"
#include "costate/ode/fields/lambda_field.h"
#include "costate/ode/methods/bdf.h"
#include "costate/ode/solve.h"
#include "tests/expect_error.h"
#include "tests/ode/stiff_problems.h"

namespace costate::ode::test {
namespace {

using costate::test::expect_error;
using Vector = std::vector<double>;

const auto& robertson() {
  static const auto field = make_field<3, 3>([](auto, auto x, auto p) {
    const auto a = p[0] * x[0], b = p[1] * x[1] * x[2], c = p[2] * x[1] * x[1];
    return std::array{b - a, a - b - c, c};
  });
  return field;
}

// Van der Pol's oscillator with a force: stiff where p[0] is large.
const auto& oscillator() {
  static const auto field = make_field<2, 2>([](auto t, auto x, auto p) {
    using std::cos;
    return std::array{1.0 * x[1], p[0] * (1.0 - x[0] * x[0]) * x[1] - x[0] + p[1] * cos(t)};
  });
  return field;
}

struct Case {
  const char* method;
  bool carry;
};
class Multistep : public testing::TestWithParam<Case> {
 protected:
  Options options(double rtol, Vector atol) const {
    return {
        .method = GetParam().method, .rtol = rtol, .atol = std::move(atol), .carry_newton = GetParam().carry};
  }
};
INSTANTIATE_TEST_SUITE_P(Methods, Multistep,
                         testing::Values(Case{"bdf", false}, Case{"switching", false}, Case{"radau5", true}),
                         [](const auto& each) { return std::string(each.param.method); });

TEST_P(Multistep, RobertsonAndItsGradientMatchTheReference) {
  const Solution s =
      solve(robertson(), {0, 40}, {1, 0, 0}, {0.04, 1e4, 3e7}, options(1e-10, {1e-11, 1e-15, 1e-11}));
  EXPECT_NEAR(s.final_state()[0], 0.71582706872, 5e-10);
  EXPECT_NEAR(gradient(s, OutputCotangents{.final = {1, 0, 0}}).parameters["p"][0], -4.24755877, 4e-8);
  const Gradient g = gradient(s, OutputCotangents{.final = {0, 0, 1}});
  EXPECT_NEAR(g.parameters["p"][0], 4.24751286, 4e-8);
  EXPECT_EQ(g.report.label, "exact for the steps taken, to what Newton's iterations left");
}

// Events that jump, events that do not, samples, the integral of a cost, and both ends of the span.
TEST_P(Multistep, ReverseModeIsTheTransposeOfForwardMode) {
  Options o = options(1e-7, {1e-9});
  o.running = make_function<2, 2>([](auto, auto x, auto p) { return x[0] * x[0] + p[1] * x[1]; });
  o.events = {{.name = "kick",
               .guard = make_function<2, 2>([](auto, auto x, auto p) { return x[0] - 0.3 * p[1]; }),
               .direction = -1,
               .jump = make_function<2, 2>([](auto, auto x, auto p) {
                 return std::array{1.0 * x[0], x[1] - 0.1 * p[1]};
               })},
              {.name = "seen", .guard = make_function<2, 2>([](auto, auto x, auto) { return x[0] + 0.5; })}};
  const Solution s = solve(oscillator(), {0.1, 14}, {2, 0}, {6, 0.7}, o);
  ASSERT_GE(s.events.size(), 3u);
  const Vector times = {0.1, 1.7, 3.3, 8.2, 14};
  OutputCotangents bar{.final = {0.3, -0.8}, .integral = 0.4, .end_time = 0.2, .sample_times = times};
  for (std::size_t i = 0; i < 2 * times.size(); ++i) bar.samples.push_back(std::sin(1.0 + double(i)));
  for (std::size_t i = 0; i < s.events.size(); ++i) bar.event_times.push_back(std::cos(double(i)));
  const Gradient g = gradient(s, bar);
  const std::vector<InputTangent> directions = {{.y0 = {0.3, -0.2}},
                                                {.p = {0.7, 0.1}},
                                                {.t0 = 1},
                                                {.t1 = 1},
                                                {.y0 = {-1, 2}, .p = {0.2, 0.4}, .t0 = 0.3, .t1 = -0.4}};
  const auto product = [](const auto& a, const auto& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const std::vector<OutputTangent> out = sensitivities(s, directions, times);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double forward = product(out[i].final, bar.final) + 0.4 * out[i].integral + 0.2 * out[i].end_time +
                           product(out[i].samples, bar.samples) +
                           product(out[i].event_times, bar.event_times);
    const InputTangent& d = directions[i];
    const double reverse = product(d.y0, g.x0) + product(d.p, g.parameters["p"]) + d.t0 * g.t0 + d.t1 * g.t1;
    EXPECT_NEAR(forward, reverse, 1e-10 * (1 + std::abs(forward))) << "direction " << i;
  }
}

// The steps that a solution took, from other inputs: lengths and orders stay what they were.
Vector replayed(const Solution& s, const Vector& y0, const Vector& p, const VectorField& field) {
  const Trajectory& tr = s.trajectory();
  const auto stepper =
      make_stepper(tr.method, field, {.rtol = 1e-13, .atol = 1e-14, .carry = tr.tolerance.carry});
  Vector x = y0, y(tr.width());
  x.resize(tr.width(), 0.0);
  const int n = field.states(), order = Bdf::kRows * n + 1, mode = Bdf::kRows * n + 3;
  for (long k = 0; k < tr.size(); ++k) {
    const double* kept = tr.kept.data() + k * tr.width();
    if (tr.memory > 0) x[order] = kept[order];
    if (tr.width() > mode) x[mode] = kept[mode];
    EXPECT_TRUE(stepper->step({tr.steps[k].t, tr.steps[k].h, x.data(), p.data()}, y.data(), nullptr));
    std::swap(x, y);
  }
  return {x.begin(), x.begin() + n};
}

TEST_P(Multistep, GradientMatchesAStencilOfTheStepsTaken) {
  const Vector y0 = {2, 0}, p = {6, 0.7};
  const Solution s = solve(oscillator(), {0, 7}, y0, p, options(1e-9, {1e-11}));
  const Gradient g = gradient(s, OutputCotangents{.final = {1, 0.2}});
  const auto loss = [&](const Vector& x, const Vector& q) {
    const Vector end = replayed(s, x, q, oscillator());
    return end[0] + 0.2 * end[1];
  };
  EXPECT_NEAR(loss(y0, p), s.final_state()[0] + 0.2 * s.final_state()[1], 1e-10);
  const auto stencil = [&](const auto& at) {
    const double h = 1e-3;
    return (45 * (at(h) - at(-h)) - 9 * (at(2 * h) - at(-2 * h)) + (at(3 * h) - at(-3 * h))) / (60 * h);
  };
  for (int i = 0; i < 2; ++i) {
    const double by_x = stencil([&](double e) {
      Vector x = y0;
      x[i] += e;
      return loss(x, p);
    });
    const double by_p = stencil([&](double e) {
      Vector q = p;
      q[i] += e;
      return loss(y0, q);
    });
    EXPECT_NEAR(g.x0[i], by_x, 1e-8 * std::abs(by_x)) << i;
    EXPECT_NEAR(g.parameters["p"][i], by_p, 1e-8 * std::abs(by_p)) << i;
  }
}

TEST_P(Multistep, DenseOutputRunsThroughTheSteps) {
  const Solution s = solve(oscillator(), {0, 7}, {2, 0}, {6, 0.7}, options(1e-8, {1e-10}));
  const Solution fine =
      solve(oscillator(), {0, 7}, {2, 0}, {6, 0.7}, {.method = "dop853", .rtol = 1e-12, .atol = {1e-13}});
  const Vector kept = s.at(s.t);
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i], s.y[i]) << i;
  for (double t : {0.01, 0.5, 2.2, 5.1, 6.9}) EXPECT_NEAR(s(t)[0], fine(t)[0], 2e-6) << t;
}

TEST_P(Multistep, MatricesServeForSeveralSteps) {
  const Solution s =
      solve(robertson(), {0, 1e6}, {1, 0, 0}, {0.04, 1e4, 3e7}, options(1e-6, {1e-8, 1e-12, 1e-8}));
  EXPECT_LT(s.counts.jacobians, s.counts.accepted / 2);
  EXPECT_LT(s.counts.factorisations, s.counts.accepted * 2);
}

TEST(Bdf, OrderFiveIsExactForAPolynomialOfThatDegree) {
  const auto field =
      make_field<1, 1>([](auto t, auto, auto p) { return std::array{5.0 * p[0] * t * t * t * t}; });
  const Vector p = {1};
  Bdf bdf(field, {.rtol = 1e-12, .atol = 1e-12});
  const int width = 1 + bdf.memory();
  // Backward differences of t^5 at t = 2 with the spacing 0.1, then a step of another length.
  Vector x(width, 0.0), y(width);
  const auto value = [](double t) { return std::pow(t, 5); };
  for (int k = 0; k <= 5; ++k) {
    double binomial = 1;
    for (int j = 0; j <= k; ++j) {
      x[k] += binomial * value(2 - 0.1 * j);
      binomial *= -double(k - j) / (j + 1);
    }
  }
  x[Bdf::kRows] = 0.1;
  x[Bdf::kRows + 1] = 5;
  for (double h : {0.1, 0.07, 0.23}) {
    ASSERT_TRUE(bdf.step({2, h, x.data(), p.data()}, y.data(), nullptr));
    EXPECT_NEAR(y[0], value(2 + h), 2e-11 * value(2 + h)) << h;
    double inside = 0;
    bdf.interpolate(0.4, &inside);
    EXPECT_NEAR(inside, value(2 + 0.4 * h), 2e-11 * value(2 + h)) << h;
  }
}

TEST(Bdf, ErrorFollowsTheTolerance) {
  const Solution exact =
      solve(oscillator(), {0, 7}, {2, 0}, {6, 0.7}, {.method = "dop853", .rtol = 1e-13, .atol = {1e-14}});
  double last = 1;
  for (double rtol : {1e-4, 1e-6, 1e-8, 1e-10}) {
    const Solution s =
        solve(oscillator(), {0, 7}, {2, 0}, {6, 0.7}, {.method = "bdf", .rtol = rtol, .atol = {rtol * 0.1}});
    const double error = std::abs(s.final_state()[0] - exact.final_state()[0]);
    EXPECT_LT(error, 3e3 * rtol);
    EXPECT_LT(error, 0.2 * last);
    last = error;
  }
}

TEST(Switching, StaysExplicitWhereTheProblemIsNotStiff) {
  const Options options{.method = "switching", .rtol = 1e-6};
  const Solution s = solve(oscillator(), {0, 20}, {2, 0}, {0.5, 0}, options);
  EXPECT_EQ(s.counts.jacobians, 0);
  const Solution explicit_one =
      solve(oscillator(), {0, 20}, {2, 0}, {0.5, 0}, {.method = "dopri5", .rtol = 1e-6});
  EXPECT_EQ(s.y, explicit_one.y);
}

TEST(Switching, GoesToBdfAndBack) {
  // Stiff until t = 5, then not: the fast mode goes away.
  const auto field = make_field<2, 1>([](auto t, auto x, auto p) {
    using std::cos, std::exp;
    const auto fast = 1.0 + p[0] / (1.0 + exp(20.0 * (t - 5.0)));
    return std::array{fast * (cos(3.0 * t) - x[0]), 3.0 * cos(3.0 * t) - x[1]};
  });
  const Solution s = solve(field, {0, 30}, {0, 0}, {1e5}, {.method = "switching", .rtol = 1e-5});
  const Trajectory& tr = s.trajectory();
  int switches = 0;
  for (long k = 1; k < tr.size(); ++k)
    switches += tr.kept[(k + 1) * tr.width() - 1] != tr.kept[k * tr.width() - 1];
  EXPECT_EQ(switches, 2);
  EXPECT_LT(s.counts.rhs, 5000);
}

TEST(Bdf, WhatItDoesNotDoIsAnError) {
  const auto run = [&](const Options& options) {
    return solve(oscillator(), {0, 1}, {2, 0}, {6, 0.7}, options);
  };
  expect_error([&] { return run({.method = "bdf", .dt = 0.1}); }, "chooses its steps", "radau5");
  expect_error([&] { return run({.method = "bdf", .keep_every = 3}); }, "keeps all of them", "keep_every");
  const DualField<RobertsonAlgebraic> dae({}, robertson_mass());
  expect_error(
      [&] {
        return solve(dae, {0, 40}, {1, 0, 0}, {0.04, 1e4, 3e7}, {.method = "bdf"});
      },
      "mass matrix", "radau5");
}

TEST(Solve, ASpanWithoutEndEndsInAnEvent) {
  const auto falling = make_field<2, 1>([](auto, auto x, auto p) { return std::array{1.0 * x[1], -p[0]}; });
  Options options{.rtol = 1e-9};
  options.events = {{.name = "ground",
                     .guard = make_function<2, 1>([](auto, auto x, auto) { return 1.0 * x[0]; }),
                     .direction = -1,
                     .terminal = 1}};
  const double inf = std::numeric_limits<double>::infinity();
  const Solution s = solve(falling, {0, inf}, {5, 0}, {10}, options);
  EXPECT_NEAR(s.end_time(), 1, 1e-12);
  EXPECT_NEAR(gradient(s, OutputCotangents{.end_time = 1}).parameters["p"][0], -0.05, 1e-12);
  expect_error(
      [&] {
        return solve(falling, {0, inf}, {5, 0}, {10}, {.dt = 0.1});
      },
      "without end", "finite t1");
}

TEST(Solve, ATerminalEventMayHappenSeveralTimes) {
  const auto spring = make_field<2, 1>([](auto, auto x, auto p) {
    return std::array{1.0 * x[1], -p[0] * x[0]};
  });
  Options options{.rtol = 1e-9};
  options.events = {{.name = "zero",
                     .guard = make_function<2, 1>([](auto, auto x, auto) { return 1.0 * x[0]; }),
                     .terminal = 3}};
  const Solution s = solve(spring, {0, 100}, {1, 0}, {4}, options);
  ASSERT_EQ(s.events.size(), 3u);
  EXPECT_NEAR(s.end_time(), 5 * std::numbers::pi / 4, 1e-8);
  // t = 5 pi / (2 sqrt(p))
  EXPECT_NEAR(gradient(s, OutputCotangents{.end_time = 1}).parameters["p"][0], -5 * std::numbers::pi / 32,
              1e-7);
}

TEST(Solve, TolerancesMayDifferBetweenStates) {
  const auto growth = make_field<2, 1>([](auto, auto x, auto p) {
    return std::array{p[0] * x[0], p[0] * x[1]};
  });
  const auto error = [&](Vector rtol) {
    Options options{.atol = {1e-12}};
    options.rtol_per_state = rtol;
    return std::abs(solve(growth, {0, 1}, {1, 1}, {1}, options).final_state()[1] - std::exp(1));
  };
  EXPECT_LT(error({1e-1, 1e-9}), 1e-3 * error({1e-1, 1e-1}));
  expect_error([&] { return error({1e-3}); }, "rtol_per_state has 1 values", "one per state");
}

}  // namespace
}  // namespace costate::ode::test

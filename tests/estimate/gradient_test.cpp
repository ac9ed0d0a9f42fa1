#include "costate/estimate/gradient.h"

#include <cmath>

#include "costate/md/model.h"
#include "costate/system/program/program_objective.h"
#include "tests/expect_error.h"

namespace costate::estimate {
namespace {

using costate::test::expect_error;

TEST(Estimators, OfOneSmoothQuestionAgree) {
  const auto system = md::make_system<double>({.dimensions = 1,
                                               .masses = {1.2},
                                               .potentials = {{.kind = "double_well"}},
                                               .integrator = "overdamped",
                                               .dt = 0.05,
                                               .kT = 0.5});
  const auto square = loss::final<double>(system->signature(), "x", {}, 2);
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  at.x0 = {-0.6};
  const auto by = [&](Method method, const char* parameters = "double_well/*") {
    return gradient<double>(system, {.steps = 20, .seed = 3}, at, *square,
                            {.method = method, .samples = 1 << 15, .parameters = {parameters}});
  };
  const auto path = by(Method::pathwise);
  for (const Method method : {Method::forward, Method::girsanov, Method::differences, Method::automatic}) {
    const auto other = by(method);
    ASSERT_EQ(other.names, path.names);
    EXPECT_NEAR(other.value, path.value, 4 * std::hypot(other.value_error, path.value_error))
        << to_string(method);
    for (std::size_t i = 0; i < path.gradient.size(); ++i)
      EXPECT_NEAR(other.gradient[i], path.gradient[i],
                  4 * std::hypot(other.standard_error[i], path.standard_error[i]))
          << to_string(method) << ", " << path.names[i];
  }
  const auto chosen = by(Method::automatic);
  EXPECT_EQ(chosen.method, Method::pathwise) << chosen.to_text();
  EXPECT_NE(chosen.reason.find("relative error"), std::string::npos) << chosen.reason;
  const auto noise = by(Method::automatic, "kT");
  EXPECT_EQ(noise.method, Method::pathwise);
  EXPECT_NE(noise.reason.find("there is no path score"), std::string::npos) << noise.reason;
}

// The minimum of a (x^2 - 1)^2 + b x moves by -1 / U'' with b.
TEST(Implicit, MovesWithTheMinimum) {
  const auto system = md::make_system<double>(
      {.dimensions = 1,
       .masses = {1},
       .potentials = {{.kind = "double_well", .parameters = {{"a", {1.5}}, {"b", {0.4}}}}},
       .integrator = "descent",
       .dt = 0.05});
  const auto place = loss::final_value<double>(system->signature(), "x");
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  at.x0 = {-1};
  const auto ask = [&](std::int64_t steps) {
    return gradient<double>(system, {.steps = steps}, at, *place,
                            {.method = Method::implicit, .parameters = {"double_well/*", "dt", "friction"}});
  };
  const auto g = ask(500);
  const double x = g.value, curvature = 1.5 * (12 * x * x - 4);
  EXPECT_NEAR(6 * x * (x * x - 1) + 0.4, 0, 1e-12);
  ASSERT_EQ(g.names[0], "double_well/a");
  EXPECT_NEAR(g.gradient[0], -4 * x * (x * x - 1) / curvature, 1e-11);
  EXPECT_NEAR(g.gradient[1], -1 / curvature, 1e-11);
  EXPECT_NEAR(g.gradient[2], 0, 1e-9);
  EXPECT_NEAR(g.gradient[3], 0, 1e-9);
  expect_error([&] { return ask(3); }, "it is not a fixed point", "take more steps");
}

// Nose-Hoover in a harmonic well: the discrete adjoint has the digits of its scheme (integrator_test.cpp),
// the continuous one is off by O(dt), most where the derivative is small.
TEST(Continuous, IsOffByTheOrderOfTheStep) {
  const auto ask = [](double dt, Method method) {
    const auto system = md::make_system<double>({.dimensions = 2,
                                                 .masses = {1},
                                                 .potentials = {{.kind = "harmonic"}},
                                                 .integrator = "nose_hoover",
                                                 .dt = dt,
                                                 .kT = 1,
                                                 .thermostat_masses = {1}});
    auto at = Rollout<double>(system, {.steps = 1}).arguments();
    at.x0 = {1, 0.5, 0, 0.5, 0};
    const auto square = loss::final<double>(system->signature(), "x", {}, 2);
    return gradient<double>(system, {.steps = std::int64_t(std::lround(0.5 / dt))}, at, *square,
                            {.method = method, .samples = 2, .parameters = {"kT", "mass"}});
  };
  for (const std::size_t i : {std::size_t(0), std::size_t(1)}) {
    std::vector<double> errors;
    for (const double dt : {0.02, 0.01, 0.005}) {
      const auto wrong = ask(dt, Method::continuous), right = ask(dt, Method::pathwise);
      ASSERT_EQ(wrong.names, right.names);
      EXPECT_NEAR(wrong.value, right.value, 1e-14);
      errors.push_back(std::abs(wrong.gradient[i] / right.gradient[i] - 1));
      EXPECT_NE(wrong.label.find("biased O(dt)"), std::string::npos);
    }
    const bool kT = ask(0.01, Method::pathwise).names[i] == "kT";
    EXPECT_NEAR(errors[1], kT ? 0.2995 : 0.00454,
                kT ? 1e-4 : 1e-5);  // by automatic differentiation elsewhere
    for (std::size_t k = 0; k + 1 < errors.size(); ++k)
      EXPECT_NEAR(std::log2(errors[k] / errors[k + 1]), 1, 0.05);
  }
}

// One step of Verlet from rest: x = 1 - k h, h = dt^2 / 2, with k drawn from a normal density of width sigma
// k.
TEST(Smoothed, HasTheDerivativesOfClosedForms) {
  const double k = 1.5, h = 0.02, width = 0.05 * k;
  const auto system =
      md::make_system<double>({.dimensions = 1,
                               .masses = {1},
                               .potentials = {{.kind = "harmonic", .parameters = {{"k", {k}}}}},
                               .integrator = "verlet",
                               .dt = 0.2});
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  at.x0 = {1, 0};
  const auto ask = [&](const Objective<double>& loss, Method method) {
    return gradient<double>(
        system, {.steps = 1, .seed = 4}, at, loss,
        {.method = method, .samples = 1 << 15, .parameters = {"harmonic/k"}, .sigma = width / k});
  };
  const auto cube = loss::expression<double>(system->signature(), "x^3");
  const double x = 1 - k * h;
  for (const Method method : {Method::first_order, Method::zeroth_order, Method::mixed_order}) {
    const auto g = ask(*cube, method);
    EXPECT_EQ(g.method, method);
    EXPECT_NEAR(g.value, x * x * x + 3 * x * std::pow(h * width, 2), 4 * g.value_error + 1e-15);
    EXPECT_NEAR(g.gradient[0], -3 * h * (x * x + std::pow(h * width, 2)), 4 * g.standard_error[0] + 1e-15);
    EXPECT_LT(g.standard_error[0], 0.1 * std::abs(g.gradient[0])) << to_string(method);
    EXPECT_NE(g.label.find("smoothed by sigma 0.05"), std::string::npos) << g.label;
  }
  // A jump at x = 1 - (k + width) h: the chance that k lies below k + width.
  const auto jump = loss::expression<double>(system->signature(), "0.5 + 0.5*sign(x - 0.9685)");
  const double density = std::exp(-0.5) / (width * std::sqrt(2 * M_PI));
  for (const Method method : {Method::zeroth_order, Method::mixed_order, Method::automatic}) {
    const auto g = ask(*jump, method);
    EXPECT_NEAR(g.value, 0.5 * std::erfc(-1 / std::sqrt(2.0)), 4 * g.value_error);
    EXPECT_NEAR(g.gradient[0], -density, 4 * g.standard_error[0]);
    EXPECT_LT(g.standard_error[0], 0.05 * density) << to_string(method);
    if (method != Method::automatic) continue;
    EXPECT_EQ(g.method, Method::mixed_order);
    EXPECT_NE(g.reason.find("jumps alone"), std::string::npos) << g.reason;
  }
  EXPECT_EQ(ask(*jump, Method::first_order).gradient[0], 0);
}

// On top of a hill: adjoints grow by e^t.
TEST(Smoothed, IsChosenWhereAdjointsHaveOutgrownTheirSignal) {
  const auto system =
      md::make_system<double>({.dimensions = 1,
                               .masses = {1},
                               .potentials = {{.kind = "harmonic", .parameters = {{"k", {-1}}}}},
                               .integrator = "verlet",
                               .dt = 0.1});
  const auto bounded = loss::expression<double>(system->signature(), "atan(x)");
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  at.x0 = {1e-13, 0};
  const auto ask = [&](std::int64_t steps) {
    return gradient<double>(system, {.steps = steps}, at, *bounded,
                            {.samples = 64, .parameters = {"harmonic/k"}});
  };
  EXPECT_EQ(ask(50).method, Method::pathwise);
  const auto g = ask(300);
  EXPECT_EQ(g.method, Method::mixed_order);
  EXPECT_NE(g.reason.find("carries no signal"), std::string::npos) << g.reason;
}

TEST(Estimators, SayWhatIsWrongWithTheQuestion) {
  const auto system = md::make_system<double>(
      {.dimensions = 1, .masses = {1}, .potentials = {{.kind = "double_well"}}, .integrator = "overdamped"});
  const auto square = loss::final<double>(system->signature(), "x", {}, 2);
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  const auto ask = [&](std::int64_t worlds, const Sampling& sampling) {
    return [&, worlds, sampling] {
      return gradient<double>(system, {.steps = 5, .worlds = worlds}, at, *square, sampling);
    };
  };
  expect_error(ask(3, {}), "that of one world", "set worlds = 1");
  expect_error(ask(1, {.samples = 1}), "at least 2 samples");
  expect_error(ask(1, {.method = Method::implicit}), "a system with noise never comes to rest",
               "use reinforce");
  expect_error(ask(1, {.method = Method::reweighting, .parameters = {"double_well/a"}}), "needs a reference");
  expect_error(ask(1, {.method = Method::mixed_order, .parameters = {"double_well/a"}, .sigma = -1}),
               "sigma is -1", "positive");
  expect_error([] { return method_by_name("girsanof"); }, "there is no estimator 'girsanof'", "girsanov");
}

}  // namespace
}  // namespace costate::estimate

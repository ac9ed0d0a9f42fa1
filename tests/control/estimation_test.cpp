#include "costate/control/filter/estimation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/system/program/program_objective.h"
#include "tests/control/problems.h"
#include "tests/control/stencil.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::test::expect_error;
using test::stencil;

ObjectivePtr<double> observed(const System<double>& system, const char* text) {
  return loss::expression<double>(system.signature(), text, loss::at_end());
}

// A point that coasts, seen in twelve positions: the dense joint normal distribution gives its likelihood
// with 20 digits.
Estimation coasting(Filter filter, double a = 0.95, double q = 0.5, double r = 0.04) {
  Estimation e;
  e.system = test::coasting();
  e.parameters = Parameters<double>(e.system->signature());
  e.parameters.set("a", a);
  e.measured = {observed(*e.system, "pos")};
  const double h = 0.1;
  e.process_noise = {q * h * h * h / 3, q * h * h / 2, q * h * h / 2, q * h};
  e.measurement_noise = {r};
  e.x0 = {0, 0}, e.P0 = {1, 0, 0, 4};
  e.filter = filter;
  return e;
}
std::vector<double> twelve() {
  std::vector<double> y;
  for (int k = 0; k < 12; ++k) y.push_back(std::sin(0.3 * k) + 0.2 * std::cos(1.7 * k));
  return y;
}

class Both : public testing::TestWithParam<Filter> {};
INSTANTIATE_TEST_SUITE_P(Kalman, Both, testing::Values(Filter::extended, Filter::unscented));

TEST_P(Both, LinearFilterIsThatOfTheReference) {
  const Estimate e = filter(coasting(GetParam()), twelve());
  EXPECT_NEAR(e.log_likelihood, -11.610554263066262569, 1e-12);
  EXPECT_NEAR(e.x[22], .3021391866322634, 1e-13);
  EXPECT_NEAR(e.x[23], -.8881433430360404, 1e-13);
  EXPECT_NEAR(e.P[44], .01432008696547661, 1e-14);
  EXPECT_NEAR(e.P[45], .02973627866732087, 1e-14);
  EXPECT_NEAR(e.P[47], .1615933712398952, 1e-14);
}

TEST_P(Both, LinearSmootherIsThatOfTheReference) {
  const Estimate e = smooth(coasting(GetParam()), twelve());
  EXPECT_NEAR(e.x[0], .4261968039151995, 1e-12);
  EXPECT_NEAR(e.x[1], .8392687420224938, 1e-12);
  EXPECT_NEAR(e.P[0], .01612253743432181, 1e-13);
  EXPECT_NEAR(e.P[1], -.04040172683047577, 1e-13);
  EXPECT_NEAR(e.P[3], .2188307793994744, 1e-13);
  EXPECT_NEAR(e.x[12], .6891660732578092, 1e-12);
  EXPECT_NEAR(e.x[13], -.304748025045708, 1e-12);
  EXPECT_NEAR(e.P[24], .00526980150164178, 1e-13);
  EXPECT_NEAR(e.P[25], .0002419999752767358, 1e-13);
  EXPECT_NEAR(e.P[27], .06233022855499769, 1e-13);
}

TEST_P(Both, GradientOfTheLikelihoodIsThatOfTheReference) {
  const LikelihoodGradient g = likelihood_gradient(coasting(GetParam()), twelve());
  EXPECT_NEAR(g.value, -11.610554263066262569, 1e-12);
  EXPECT_NEAR(g.parameters["a"][0], -6.52534689749832, 1e-10);
  const double h = 0.1, along_q = g.process_noise[0] * h * h * h / 3 + g.process_noise[1] * h * h / 2 +
                                  g.process_noise[2] * h * h / 2 + g.process_noise[3] * h;
  EXPECT_NEAR(along_q, 7.488069165765362, 1e-10);
  EXPECT_NEAR(g.measurement_noise[0], 138.5371101084502, 1e-9);
}

// A swinging pendulum, of which a curved function that knows the length is measured; two rows are missing.
Estimation swinging(Filter filter) {
  Estimation e;
  e.system = test::damped_pendulum();
  e.parameters = Parameters<double>(e.system->signature());
  e.measured = {observed(*e.system, "length*sin(angle)"), observed(*e.system, "rate + 0.1*rate^2")};
  e.process_noise = {1e-4, 2e-5, 2e-5, 1e-3};
  e.measurement_noise = {0.01, 0.002, 0.002, 0.02};
  e.x0 = {0.8, 0.1}, e.P0 = {0.05, 0.01, 0.01, 0.1};
  for (int k = 0; k < 14; ++k) e.controls.push_back(std::sin(0.5 * k));
  e.filter = filter;
  return e;
}
std::vector<double> recording() {
  std::vector<double> y;
  for (int k = 0; k < 15; ++k) {
    const bool missing = k == 4 || k == 9;
    y.push_back(missing ? NAN : std::cos(0.14 * k));
    y.push_back(missing ? NAN : -std::sin(0.14 * k) * 2 + 0.1 * std::cos(3 * k));
  }
  return y;
}

TEST_P(Both, EveryCotangentOfTheLikelihoodMatchesTheStencil) {
  const Estimation e = swinging(GetParam());
  const auto y = recording();
  const LikelihoodGradient g = likelihood_gradient(e, y);
  EXPECT_NEAR(g.value, filter(e, y).log_likelihood, 1e-12);
  const auto expect = [&](double derivative, const auto& move, const char* what) {
    const double difference = stencil(
        [&](double h) {
          Estimation moved = e;
          move(moved, h);
          return filter(moved, y).log_likelihood;
        },
        1e-5);
    EXPECT_NEAR(derivative, difference, 2e-8 * (1 + std::fabs(difference))) << what;
  };
  for (const char* name : {"length", "damping", "dt"})
    expect(
        g.parameters[name][0], [&](Estimation& m, double h) { m.parameters[name][0] += h; }, name);
  for (std::size_t i = 0; i < 2; ++i)
    expect(
        g.x0[i], [&](Estimation& m, double h) { m.x0[i] += h; }, "x0");
  for (const std::size_t i : {0u, 1u, 3u}) {
    const std::size_t mirror = i == 1 ? 2 : i;
    const auto both = [&](std::vector<double>& to, double h) { to[i] += h / 2, to[mirror] += h / 2; };
    expect(
        g.P0[i], [&](Estimation& m, double h) { both(m.P0, h); }, "P0");
    expect(
        g.process_noise[i] / 100, [&](Estimation& m, double h) { both(m.process_noise, h / 100); }, "W");
    expect(
        g.measurement_noise[i], [&](Estimation& m, double h) { both(m.measurement_noise, h); }, "V");
  }
}

TEST_P(Both, RefusesWhatDoesNotFit) {
  Estimation e = swinging(GetParam());
  auto y = recording();
  y[1] = NAN;
  expect_error([&] { return filter(e, y); }, "row 0 of the measurements has numbers that are not finite",
               "make the whole row NaN");
  y = recording();
  y.pop_back();
  expect_error([&] { return filter(e, y); }, "29 numbers, which are not rows of 2");
  e.measurement_noise = {-1, 0, 0, -1};
  expect_error([&] { return filter(e, recording()); }, "is not positive definite, at step 0", "some noise");
  e = swinging(GetParam());
  e.P0.pop_back();
  expect_error([&] { return filter(e, recording()); }, "P0 has 3 numbers instead of 4");
}

}  // namespace
}  // namespace costate::control

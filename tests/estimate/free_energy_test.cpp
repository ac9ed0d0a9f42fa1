// Differences of free energy against closed forms and quadrature.
#include "costate/estimate/free_energy.h"

#include <cmath>

#include "costate/md/model.h"
#include "tests/expect_error.h"

namespace costate::estimate {
namespace {

using costate::test::expect_error;
using Method = FreeEnergyMethod;

// -kT log int e^(-U / kT) of a (x^2 - 1)^2 + b x.
double exact(double a, double b, double kT) {
  double sum = 0;
  const double h = 1e-3;
  for (double x = -4; x <= 4; x += h) sum += h * std::exp(-(a * std::pow(x * x - 1, 2) + b * x) / kT);
  return -kT * std::log(sum);
}

class EveryMethod : public testing::TestWithParam<Method> {};

TEST_P(EveryMethod, HasTheDifferenceOfTwoTiltedWellsAndItsGradient) {
  const double kT = 0.5, a = 1, b = 0.4;
  const auto system = md::make_system<double>({.dimensions = 1,
                                               .masses = {1},
                                               .potentials = {{.kind = "double_well"}},
                                               .integrator = "BAOAB",
                                               .dt = 0.05,
                                               .kT = kT,
                                               .friction = 1});
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  at.x0 = {-1, 0};
  const auto f = free_energy<double>(system, {.steps = 4000, .seed = 3}, at,
                                     {.from = {{"double_well/b", {0.0}}},
                                      .to = {{"double_well/b", {b}}},
                                      .method = GetParam(),
                                      .samples = 1024,
                                      .every = 20,
                                      .points = 4,
                                      .parameters = {"double_well/*", "kT"}});
  const auto difference = [&](double A, double B, double T) { return exact(A, B, T) - exact(A, 0, T); };
  const double h = 1e-4, truth = difference(a, b, kT);
  EXPECT_NEAR(f.value, truth, 4 * f.error + 2e-4);  // and what dt = 0.05 does to the samples
  EXPECT_LT(f.error, 0.05 * std::abs(truth));
  ASSERT_EQ(f.names, (std::vector<std::string>{"double_well/a", "double_well/b", "kT"}));
  const double slope_a = (difference(a + h, b, kT) - difference(a - h, b, kT)) / (2 * h);
  const double slope_T = (difference(a, b, kT + h) - difference(a, b, kT - h)) / (2 * h);
  const double slope_b = (exact(a, b + h, kT) - exact(a, b - h, kT)) / (2 * h);
  EXPECT_NEAR(f.gradient[0], slope_a, 4 * f.standard_error[0] + 1e-3);
  EXPECT_NEAR(f.gradient[2], slope_T, 4 * f.standard_error[2] + 4 * f.error / kT + 2e-3);
  EXPECT_NEAR(f.at_to[1], slope_b, 4 * f.standard_error[1] + 1e-3);
  EXPECT_LT(f.standard_error[0], 0.25 * std::abs(slope_a));
  EXPECT_LT(f.standard_error[1], 0.2 * std::abs(slope_b));
}
INSTANTIATE_TEST_SUITE_P(FreeEnergy, EveryMethod,
                         testing::Values(Method::integration, Method::perturbation, Method::acceptance),
                         [](const auto& one) {
                           return std::string(one.param == Method::integration    ? "integration"
                                              : one.param == Method::perturbation ? "perturbation"
                                                                                  : "acceptance");
                         });

// kT/2 log(k1 / k0) per coordinate; BAOAB samples a harmonic well exactly. Far apart only Bennett's errors
// stay small.
TEST(FreeEnergy, OfHarmonicWellsIsTheirClosedForm) {
  const double kT = 0.7;
  const auto system = md::make_system<double>({.dimensions = 2,
                                               .masses = {1},
                                               .potentials = {{.kind = "harmonic"}},
                                               .integrator = "BAOAB",
                                               .dt = 0.2,
                                               .kT = kT,
                                               .friction = 1});
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  FreeEnergy question{.from = {{"harmonic/k", {1.0}}},
                      .to = {{"harmonic/k", {6.0}}},
                      .samples = 4096,
                      .points = 6,
                      .parameters = {"harmonic/k"}};
  for (const Method method : {Method::integration, Method::acceptance}) {
    question.method = method;
    const auto f = free_energy<double>(system, {.steps = 100, .seed = 4}, at, question);
    EXPECT_NEAR(f.value, kT * std::log(6.0), 4 * f.error);
    EXPECT_LT(f.error, 0.02);
    EXPECT_NEAR(f.at_from[0], kT, 5 * f.standard_error[0]);
    EXPECT_NEAR(f.at_to[0], kT / 6, 5 * f.standard_error[0]);
  }
}

TEST(FreeEnergy, SaysWhatIsWrong) {
  const auto make = [](const char* integrator) {
    return md::make_system<double>(
        {.dimensions = 1, .masses = {1}, .potentials = {{.kind = "double_well"}}, .integrator = integrator});
  };
  const auto ask = [&](const char* integrator, const FreeEnergy& question) {
    return [=] {
      const auto system = make(integrator);
      return free_energy<double>(system, {.steps = 4}, Rollout<double>(system, {.steps = 1}).arguments(),
                                 question);
    };
  };
  const FreeEnergy good{.to = {{"double_well/b", {1.0}}}};
  expect_error(ask("verlet", good), "has no temperature", "");
  expect_error(ask("BAOAB", {}), "the two ends are the same", "name the parameters");
  FreeEnergy bad = good;
  bad.parameters = {"mass"};
  expect_error(ask("BAOAB", bad), "no free energy with respect to mass", "leave it out");
  bad = good;
  bad.every = -1;
  expect_error(ask("BAOAB", bad), "every is negative", "or 0");
  bad = good;
  bad.method = Method::integration;
  bad.points = 20;
  expect_error(ask("BAOAB", bad), "1 to 8 points", "");
  expect_error([] { return free_energy_method("bar"); }, "'bar' is not a way", "acceptance");
}

}  // namespace
}  // namespace costate::estimate

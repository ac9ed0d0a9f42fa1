#include "costate/grid/heat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate {
namespace {

using test::expect_error;
using Kind = grid::HeatSide::Kind;

// A warm hill, conductivities and sources that vary from cell to cell.
template <class Real>
Arguments<Real> hill(const Rollout<Real>& rollout, std::int64_t nx, std::int64_t ny) {
  Arguments<Real> a = rollout.arguments();
  std::vector<Real> conductivity(std::size_t(nx * ny)), source(std::size_t(nx * ny));
  for (std::int64_t j = 0; j < ny; ++j) {
    for (std::int64_t i = 0; i < nx; ++i) {
      const auto cell = std::size_t(j * nx + i);
      const double a2 = std::pow(double(i) - 0.4 * double(nx), 2) + std::pow(double(j) - 0.6 * double(ny), 2);
      a.x0[cell] = Real(1 + std::exp(-0.1 * a2));
      conductivity[cell] = Real(0.8 + 0.3 * std::sin(0.5 * double(i) - 0.9 * double(j)));
      source[cell] = Real(0.05 * std::cos(0.7 * double(i + j)));
    }
  }
  a.parameters.set("conductivity", conductivity).set("source", source).set("capacity", Real(1.2));
  for (std::size_t k = 0; k < a.controls.size(); ++k) a.controls[k] = Real(std::cos(0.9 * double(k)));
  return a;
}

template <class Real>
void contract(grid::HeatOptions o, std::int64_t steps = 30) {
  o.heaters = {o.nx + 1, 2 * o.nx - 1};
  const auto system = grid::heat<Real>(o);
  const auto objective = loss::sum<Real>(
      {loss::final<Real>(system->signature(), "T", {}), loss::effort<Real>(system->signature())});
  test::expect_contract(system,
                        {.states = [&](const auto& rollout, unsigned) { return hill(rollout, o.nx, o.ny); },
                         .objective = objective,
                         .steps = steps,
                         .hold = 5,
                         .stencil_step = 3e-4});
}

const grid::HeatSide kWarm{Kind::temperature, 1.5}, kSlope{Kind::gradient, 0.3}, kInsulated{},
    kPeriodic{Kind::periodic};

TEST(Heat, MeetsTheContractWithEveryKindOfSide) {
  contract<double>(
      {.nx = 21, .ny = 13, .dx = 0.9, .west = kWarm, .east = kSlope, .south = kSlope, .north = kWarm});
  contract<double>(
      {.nx = 16, .ny = 5, .west = kPeriodic, .east = kPeriodic, .south = kWarm, .north = kInsulated});
  contract<double>(
      {.nx = 9, .ny = 10, .west = kSlope, .east = kWarm, .south = kPeriodic, .north = kPeriodic});
  contract<double>(
      {.nx = 11, .ny = 4, .west = kPeriodic, .east = kPeriodic, .south = kPeriodic, .north = kPeriodic});
}
TEST(Heat, MeetsTheContractInFloat) {
  contract<float>({.nx = 37, .ny = 5, .west = kWarm, .east = kSlope, .north = kWarm});
}
TEST(Heat, MeetsTheContractOnTheSmallestGrids) {
  contract<double>({.nx = 2, .ny = 2, .west = kWarm, .north = kSlope});
  contract<double>({.nx = 3, .ny = 2, .west = kPeriodic, .east = kPeriodic});
}
// Several slabs with several threads, and passes of several steps.
TEST(Heat, MeetsTheContractAcrossSlabs) {
  contract<double>(
      {.nx = 256, .ny = 150, .west = kWarm, .east = kSlope, .south = kPeriodic, .north = kPeriodic}, 11);
}

double total(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Between sides at zero, sin(pi (i + 1/2) / n) sin(pi (j + 1/2) / n) is an eigenvector of the scheme: each
// step multiplies it by 1 - 8 dt k / (C dx^2) sin^2(pi / (2 n)).
TEST(Heat, ASineModeDecaysAtTheRateOfTheScheme) {
  const std::int64_t n = 24, steps = 400;
  const double dx = 0.1, k = 2.0, c = 3.0, dt = 2e-3;
  const grid::HeatSide cold{Kind::temperature, 0};
  const auto system = grid::heat<double>({.nx = n,
                                          .ny = n,
                                          .dx = dx,
                                          .dt = dt,
                                          .conductivity = k,
                                          .capacity = c,
                                          .west = cold,
                                          .east = cold,
                                          .south = cold,
                                          .north = cold});
  Rollout<double> rollout(system, {.steps = steps});
  Arguments<double> a = rollout.arguments();
  const auto wave = [&](std::int64_t i) {
    return std::sin(std::numbers::pi * (double(i) + 0.5) / double(n));
  };
  for (std::int64_t cell = 0; cell < n * n; ++cell) a.x0[std::size_t(cell)] = wave(cell % n) * wave(cell / n);
  const double s = std::sin(std::numbers::pi / (2.0 * double(n)));
  const double factor = std::pow(1 - 8 * dt * k / (c * dx * dx) * s * s, double(steps));
  const auto end = rollout.simulate(a).final_state;
  for (const std::int64_t cell : {std::int64_t(0), n / 2, n * n / 2 + 3, n * n - 1})
    EXPECT_NEAR(end[std::size_t(cell)], factor * a.x0[std::size_t(cell)], 1e-12);
}

TEST(Heat, InsulatedAndPeriodicSidesKeepTheHeat) {
  for (const grid::HeatSide side : {kInsulated, kPeriodic}) {
    const auto system =
        grid::heat<double>({.nx = 20, .ny = 15, .west = side, .east = side, .south = side, .north = side});
    Rollout<double> rollout(system, {.steps = 300});
    Arguments<double> a = hill(rollout, 20, 15);
    a.parameters.set("source", std::vector<double>(300, 0.0));
    EXPECT_NEAR(total(rollout.simulate(a).final_state), total(a.x0), 1e-11);
    const auto gradient = rollout.value_and_gradient(a, *loss::final<double>(system->signature(), "T", {}));
    ASSERT_TRUE(gradient.report.energy_drift.has_value());
    EXPECT_LT(*gradient.report.energy_drift, 1e-13);
    // Heat is conserved, so the total at the end has derivative 1 with respect to each temperature at the
    // start, and 0 with respect to each conductivity.
    const auto sum = rollout.value_and_gradient(
        a, *loss::cotangents<double>(system->signature(), {300}, {std::vector<double>(300, 1.0)}));
    for (const double d : sum.x0) EXPECT_NEAR(d, 1, 1e-12);
    for (const double d : sum.parameters["conductivity"]) EXPECT_NEAR(d, 0, 1e-12);
  }
}

// After a long time the temperature between two sides is linear: T_i = west + (east - west) (i + 1/2) / nx.
TEST(Heat, SideValuesHaveTheGradientOfTheSteadyState) {
  const std::int64_t nx = 8, ny = 3, steps = 1500;
  const auto system = grid::heat<double>(
      {.nx = nx, .ny = ny, .west = {Kind::temperature, 2}, .east = {Kind::temperature, 5}});
  Rollout<double> rollout(system, {.steps = steps});
  const Arguments<double> a = rollout.arguments();
  const auto end = rollout.simulate(a).final_state;
  for (std::int64_t i = 0; i < nx; ++i) {
    const double share = (double(i) + 0.5) / double(nx);
    EXPECT_NEAR(end[std::size_t(nx + i)], 2 + 3 * share, 1e-10);
    std::vector<double> unit(std::size_t(nx * ny), 0.0);
    unit[std::size_t(nx + i)] = 1;
    const auto g =
        rollout.value_and_gradient(a, *loss::cotangents<double>(system->signature(), {steps}, {unit}));
    EXPECT_NEAR(g.parameters["west"][0], 1 - share, 1e-10);
    EXPECT_NEAR(g.parameters["east"][0], share, 1e-10);
  }
}

TEST(Heat, NonsenseIsRefused) {
  expect_error([] { grid::heat<double>({.dt = 0.3}); }, "with which the step is not stable",
               "reduce dt below 0.25");
  expect_error([] { grid::heat<double>({.conductivity = 0}); }, "the conductivity of cell 0 is 0",
               "positive");
  expect_error([] { grid::heat<double>({.west = kPeriodic}); }, "the opposite one is not",
               "make both periodic");
  expect_error([] { grid::heat<double>({.heaters = {64 * 64}}); }, "source cell 4096", "j * nx + i");
  expect_error([] { grid::heat<double>({.nx = 1, .ny = 5}); }, "heat needs at least 2 x 2 cells, not 1 x 5");
  // The parameters of a run count, not only the defaults.
  const auto system = grid::heat<double>({.nx = 4, .ny = 4});
  Rollout<double> rollout(system, {.steps = 3});
  Arguments<double> a = rollout.arguments();
  a.parameters["conductivity"][7] = 2;
  expect_error([&] { rollout.simulate(a); }, "the conductivity of cell 7 is 2", "reduce dt below 0.125");
}

}  // namespace
}  // namespace costate

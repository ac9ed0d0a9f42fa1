// Equations as text on a grid, against closed forms with their derivatives.
#include "costate/grid/cell_equation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "costate/core/philox.h"
#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate::grid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;

// A mode of the differences decays by 1 + z + z^2/2 + z^3/6 per step, z = kappa lambda dt.
TEST(CellEquation, HeatDecaysByTheFactorOfTheSchemeWithItsDerivatives) {
  const std::int64_t n = 32, steps = 25;
  const double h = 2 * std::numbers::pi / double(n);
  const auto system = cell_equation<double>({.nx = n,
                                             .ny = n,
                                             .dx = h,
                                             .dt = 0.02,
                                             .fields = {{"T", "kappa*lap_T"}},
                                             .parameters = {{"kappa", 0.05}}});
  Rollout<double> rollout(system, {.steps = steps});
  auto at = rollout.arguments();
  std::vector<double> mode;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) mode.push_back(std::cos(2 * double(i) * h + double(j) * h));
  at.x0 = mode;
  for (double& m : mode) m *= 2.0 / double(n * n);  // its amplitude
  const auto g =
      rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {steps}, {mode}));
  EXPECT_NEAR(g.value, 0.883696794520791, 1e-13);
  EXPECT_NEAR(g.parameters["kappa"][0], -2.185227873785550, 1e-11);
  EXPECT_NEAR(g.parameters["dt"][0], -5.463069684463876, 1e-11);
}

// A Gaussian that turns about the middle of the box and spreads, weighed by another one: closed forms of the
// continuous problem, which are approached with second order.
TEST(CellEquation, ATurningGaussianApproachesTheContinuousOneWithItsDerivatives) {
  // Value, and derivatives with respect to omega, kappa, the centre and the width at the start.
  const double wanted[] = {0.097093907513571,  0.015273296446198, -2.234143287094698,
                           -0.058339695041288, 0.029169847520644, 0.974567980569252};
  const double scale[] = {0.1, 0.1, 2, 0.1, 0.1, 1};  // that with respect to omega nearly cancels
  double error[2][6];
  for (const int level : {0, 1}) {
    const std::int64_t n = level == 0 ? 64 : 128, steps = level == 0 ? 80 : 160;
    const double h = 2.4 / double(n);
    const auto system =
        cell_equation<double>({.nx = n,
                               .ny = n,
                               .dx = h,
                               .dt = std::numbers::pi / 3 / double(steps),
                               .fields = {{"q", "kappa*lap_q + omega*((y - 1.2)*q_x - (x - 1.2)*q_y)"}},
                               .parameters = {{"kappa", 0.002}, {"omega", 1.0}}});
    Rollout<double> rollout(system, {.steps = steps});
    auto at = rollout.arguments();
    std::vector<double> weights;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        const double x = (double(i) + 0.5) * h - 1.2, y = (double(j) + 0.5) * h - 1.2;
        at.x0[std::size_t(j * n + i)] = std::exp(-((x - 0.5) * (x - 0.5) + y * y) / (2 * 0.15 * 0.15));
        weights.push_back(h * h *
                          std::exp(-((x - 0.2) * (x - 0.2) + (y - 0.4) * (y - 0.4)) / (2 * 0.25 * 0.25)));
      }
    }
    const auto g =
        rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {steps}, {weights}));
    double found[] = {g.value, g.parameters["omega"][0], g.parameters["kappa"][0], 0, 0, 0};
    for (std::size_t c = 0; c < at.x0.size(); ++c) {
      const double x = (double(std::int64_t(c) % n) + 0.5) * h - 1.7,
                   y = (double(std::int64_t(c) / n) + 0.5) * h - 1.2, bar = g.x0[c] * at.x0[c];
      found[3] += bar * x / (0.15 * 0.15), found[4] += bar * y / (0.15 * 0.15);
      found[5] += bar * (x * x + y * y) / (0.15 * 0.15 * 0.15);
    }
    for (int k = 0; k < 6; ++k) error[level][k] = std::abs(found[k] - wanted[k]) / scale[k];
  }
  for (int k = 0; k < 6; ++k) {
    EXPECT_LT(error[1][k], 0.01) << k;
    EXPECT_NEAR(error[0][k] / error[1][k], 4, 0.5) << k;
  }
}

// Burgers' equation from -A sin(pi x) on [-1, 1), viscosity 0.05, half a second later: the solution of Cole
// and Hopf at four places, its energy, and their derivatives, approached with second order.
TEST(CellEquation, BurgersApproachesTheSolutionOfColeAndHopfWithItsDerivatives) {
  const double wanted[5][3] = {{-0.572129520284085, 8.475877936016634, -0.838087089866241},
                               {-0.746056528243859, 3.463679078692556, -0.616263272478819},
                               {-0.559880765570347, 0.866983612778040, -0.299760840816726},
                               {-0.289882805691159, 0.316577135848981, -0.133707100584046},
                               {0.254297733271869, -2.448463597214753, 0.403309637735488}};
  const double places[] = {0.1, 0.25, 0.5, 0.75}, energy_by_time = -0.455418017337977;
  double error[2][5][3], time_error[2];
  for (const int level : {0, 1}) {
    const std::int64_t n = level == 0 ? 160 : 320, steps = n * n / 80;  // stable: 4 nu dt / dx^2 = 2
    const double dx = 2.0 / double(n);
    const auto system = cell_equation<double>({.nx = n,
                                               .ny = 2,
                                               .dx = dx,
                                               .dt = 0.5 / double(steps),
                                               .fields = {{"u", "nu*u_xx - u*u_x"}},
                                               .parameters = {{"nu", 0.05}}});
    Rollout<double> rollout(system, {.steps = steps});
    auto at = rollout.arguments();
    for (std::int64_t c = 0; c < 2 * n; ++c)
      at.x0[std::size_t(c)] = -std::sin(std::numbers::pi * (-1 + (double(c % n) + 0.5) * dx));
    for (std::size_t k = 0; k < 5; ++k) {
      std::vector<double> weights(std::size_t(2 * n), 0.0);
      if (k < 4) {
        const auto cell = std::size_t(std::lround((places[k] + 1) / dx));  // the place lies between two
        weights[cell - 1] = weights[cell] = 0.5;
      }
      const auto objective = k < 4
                                 ? loss::cotangents<double>(system->signature(), {steps}, {weights})
                                 : loss::final<double>(system->signature(), "u", {}, dx / 2);  // of two rows
      const auto g = rollout.value_and_gradient(at, *objective);
      double along = 0;  // the amplitude
      for (std::size_t c = 0; c < at.x0.size(); ++c) along += g.x0[c] * at.x0[c];
      const double found[] = {g.value, g.parameters["nu"][0], along};
      for (std::size_t d = 0; d < 3; ++d) error[level][k][d] = found[d] - wanted[k][d];
      if (k == 4) time_error[level] = g.parameters["dt"][0] / double(steps) - energy_by_time;
    }
  }
  for (std::size_t k = 0; k < 5; ++k) {
    for (std::size_t d = 0; d < 3; ++d) {
      EXPECT_LT(std::abs(error[1][k][d]), 1e-3 * std::abs(wanted[k][d])) << k << " " << d;
      EXPECT_NEAR(error[0][k][d] / error[1][k][d], 4, 0.3) << k << " " << d;
    }
  }
  EXPECT_LT(std::abs(time_error[1]), 1e-3);
  EXPECT_NEAR(time_error[0] / time_error[1], 4, 0.3);
}

TEST(CellEquation, KeepsTheContract) {
  const auto states = []<class Real>(const Rollout<Real>& rollout, unsigned seed) {
    auto a = rollout.arguments();
    std::uint32_t drawn = 0;
    for (auto* numbers : {&a.x0, &a.controls})
      for (Real& x : *numbers) x = Real(0.5 + 0.3 * (2 * uniform(seed, 5, drawn++) - 1));
    return a;
  };
  using Side = CellEquation::Side;
  CellEquation both{.nx = 5,
                    .ny = 4,
                    .dx = 0.8,
                    .dt = 0.05,
                    .fields = {{"u", "D*lap_u - u*v^2 + feed*(1 - u) - wind*u_x + 0.1*x"},
                               {"v", "0.5*D*(v_xx + v_yy) + u*v^2 - u_y*v + push*sin(y)"}},
                    .parameters = {{"D", 0.3}, {"feed", 0.4, true}, {"wind", 0.2}},
                    .controls = {"push"}};
  const auto contract = [&]<class Real>(Real) {
    return costate::test::Contract<Real>{.states = states, .steps = 8, .hold = 3, .long_steps = 60};
  };
  expect_contract(cell_equation<double>(both), contract(0.0));
  expect_contract(cell_equation<float>(both), contract(0.0F));
  both.sides = {Side::closed, Side::zero, Side::zero, Side::closed};
  expect_contract(cell_equation<double>(both), contract(0.0));
}

TEST(CellEquation, SaysWhatIsWrong) {
  CellEquation o;
  expect_error([&] { cell_equation<double>(o); }, "has no fields", "give a field and its rate");
  o.fields = {{"c", "D*lap_c"}};
  expect_error([&] { cell_equation<double>(o); }, "'D'");
  o.parameters = {{"D", 0.1}, {"x", 1.0}};
  expect_error([&] { cell_equation<double>(o); }, "the name 'x' is taken", "a meaning of their own");
  o.parameters = {{"D", 0.1}};
  o.sides[0] = CellEquation::Side::closed;
  expect_error([&] { cell_equation<double>(o); }, "the opposite one is not", "make both periodic");
}

}  // namespace
}  // namespace costate::grid

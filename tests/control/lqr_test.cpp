#include "costate/control/quadratic/lqr.h"

#include <gtest/gtest.h>

#include "tests/control/reference.h"
#include "tests/control/stencil.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::test::expect_error;
using test::distance, test::distance_from_upper, test::stencil;

Regulator regulator() { return {3, 2, test::kA, test::kB, test::kQ, test::kR, {}}; }

// P_ for the cost of a start x0: J = 1/2 x0'P x0.
std::vector<double> half_square(const std::vector<double>& x) {
  std::vector<double> square;
  for (const double a : x)
    for (const double b : x) square.push_back(a * b / 2);
  return square;
}

TEST(Lqr, GainsAndCostAreThoseOfTheReference) {
  const RegulatorSolution s = solve(regulator());
  EXPECT_LT(distance_from_upper(s.P, 3,
                                {10.2022931229266808, 2.35006832115095782, .59473538756414343,
                                 2.77391242571431522, 1.05710309242468627, .790107439157710039}),
            3e-14);
  EXPECT_LT(distance(s.K, {.366254243337398981, 1.23130316697691783, 1.16191000855490804, .441447244172726327,
                           .406209001836914419, .121887670451722992}),
            1e-14);
  EXPECT_NEAR(s.radius, .853684930020097840, 1e-14);
}

TEST(Lqr, GradientOfTheCostIsThatOfTheReference) {
  const RegulatorSolution s = solve(regulator());
  const Regulator bar = solve_vjp(regulator(), s, half_square(test::kX0), {});
  EXPECT_LT(distance_from_upper(bar.Q, 3,
                                {2.72455711977614844, -2.62872298644102375, 1.38387471830270349,
                                 2.85824746661588871, -1.61865413584157287, .986093493215457147}),
            1e-13);
  EXPECT_LT(distance_from_upper(bar.R, 2, {.205527984667406992, -.0454825564360031554, .0631018205456495831}),
            1e-13);
  EXPECT_LT(distance(bar.A, {39.4006572256843092, -36.6844361831404955, 18.8953727420454649,
                             -.172052849084107429, .936554381433332307, -.696513205270489866,
                             -.444026245495891687, .501348084880606412, -.257643973676458465}),
            1e-12);
  EXPECT_LT(distance(bar.B, {8.78428184751607698, -4.79487631181397486, -.280881625555185597,
                             -.219588192338494766, -.155325876446724962, .0237656810396726077}),
            1e-12);
}

// Through P and K at once, along a direction in every matrix, with a mixed weight S.
TEST(Lqr, GradientThroughTheGainsMatchesTheStencil) {
  Regulator at = regulator();
  at.S = {0.02, -0.01, 0.03, 0.01, 0.02, -0.02};
  std::vector<double> P_bar, K_bar;
  for (int i = 0; i < 9; ++i) P_bar.push_back(std::sin(1.0 + i));
  for (int i = 0; i < 6; ++i) K_bar.push_back(std::cos(2.0 + 3 * i));
  const Regulator bar = solve_vjp(at, solve(at), P_bar, K_bar);
  std::vector<double> Regulator::*const matrices[] = {&Regulator::A, &Regulator::B, &Regulator::Q,
                                                      &Regulator::R, &Regulator::S};
  for (const auto matrix : matrices) {
    for (std::size_t i = 0; i < (at.*matrix).size(); ++i) {
      const double difference = stencil([&](double h) {
        Regulator moved = at;
        (moved.*matrix)[i] += h;
        const RegulatorSolution s = solve(moved);
        double loss = 0;
        for (std::size_t j = 0; j < 9; ++j) loss += P_bar[j] * s.P[j];
        for (std::size_t j = 0; j < 6; ++j) loss += K_bar[j] * s.K[j];
        return loss;
      });
      EXPECT_NEAR((bar.*matrix)[i], difference, 1e-9 * (1 + std::fabs(difference)));
    }
  }
}

TEST(Lqr, RefusesWhatHasNoRegulator) {
  Regulator at = regulator();
  at.B.assign(6, 0.0);
  at.A[0] = 1.1;
  expect_error([&] { return solve(at); }, "no feedback makes this system stable", "every unstable mode");
  at = regulator();
  at.R = {1, 0, 0, 0};
  expect_error([&] { return solve(at); }, "R of the controls is not positive definite", "a price");
  at = regulator();
  at.Q.pop_back();
  expect_error([&] { return solve(at); }, "Q has 8 numbers instead of 3 x 3");
}

}  // namespace
}  // namespace costate::control

#include "costate/ode/orbits/periodic_orbit.h"

#include <gtest/gtest.h>

#include <numbers>

#include "costate/core/error.h"
#include "costate/ode/methods/implicit_method.h"
#include "costate/ode/methods/method.h"
#include "tests/expect_error.h"
#include "tests/ode/stiff_problems.h"

namespace costate::ode::test {
namespace {

using costate::test::expect_error;

constexpr double kTwoPi = 2 * std::numbers::pi;

// Hopf normal form: r' = r (mu - r^2), angle' = omega + b r^2, p = (mu, omega, b). A circle of radius
// sqrt(mu), with period 2 pi / (omega + b mu) and multiplier e^{-2 mu T}.
struct Hopf {
  static constexpr int kStates = 2, kParameters = 3;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    const S r2 = x[0] * x[0] + x[1] * x[1], grow = p[0] - r2, turn = p[1] + p[2] * r2;
    dx[0] = grow * x[0] - turn * x[1];
    dx[1] = turn * x[0] + grow * x[1];
  }
};

class PeriodicOrbitTest : public testing::TestWithParam<const char*> {
 protected:
  static std::unique_ptr<Stepper> stepper(const VectorField& field, double rtol, double atol) {
    auto s = make_implicit_stepper(GetParam(), field, {rtol, atol});
    return s ? std::move(s) : make_stepper(GetParam(), field);
  }
};
INSTANTIATE_TEST_SUITE_P(Methods, PeriodicOrbitTest, testing::Values("dop853", "rodas5p", "radau5"));

TEST_P(PeriodicOrbitTest, HopfCircleAndItsDerivativesMatchTheClosedForm) {
  const DualField<Hopf> field;
  const auto s = stepper(field, 1e-11, 1e-13);
  PeriodicOrbit orbit(field, *s, {.rtol = 1e-11, .atol = 1e-13, .normal = {0, 1}, .offset = 0});
  const double mu = 0.5, omega = 1.2, b = 0.3, p[] = {mu, omega, b};
  double x0[] = {0.8, 0.1}, period = 5;
  const PeriodicOrbit::Result r = orbit.solve(p, x0, &period);
  const double turn = omega + b * mu, exact = kTwoPi / turn;
  EXPECT_LT(r.residual, 1e-12);
  EXPECT_NEAR(period, exact, 1e-9);
  EXPECT_NEAR(x0[0], std::sqrt(mu), 1e-9);
  EXPECT_NEAR(x0[1], 0, 1e-14);
  EXPECT_NEAR(orbit.multipliers()[0].real(), 1, 1e-9);
  EXPECT_NEAR(orbit.multipliers()[1].real(), std::exp(-2 * mu * exact), 1e-9);

  const double period_by[] = {-kTwoPi * b / (turn * turn), -kTwoPi / (turn * turn),
                              -kTwoPi * mu / (turn * turn)};
  const double zero[2] = {}, along_x[] = {1, 0};
  double by_period[3] = {}, by_x[3] = {};
  EXPECT_LT(orbit.vjp(zero, 1, by_period), 1e-14);
  EXPECT_LT(orbit.vjp(along_x, 0, by_x), 1e-14);
  for (int j = 0; j < 3; ++j) {
    EXPECT_NEAR(by_period[j], period_by[j], 2e-8) << j;
    EXPECT_NEAR(by_x[j], j == 0 ? 0.5 / std::sqrt(mu) : 0, 1e-8) << j;
    double p_dot[3] = {}, x_dot[2], period_dot;
    p_dot[j] = 1;
    EXPECT_LT(orbit.jvp(p_dot, x_dot, &period_dot), 1e-14);
    EXPECT_NEAR(period_dot, by_period[j], 1e-12) << j;
    EXPECT_NEAR(x_dot[0], by_x[j], 1e-12) << j;
  }
}

TEST_P(PeriodicOrbitTest, VanDerPolPeriodMatchesItsSeries) {
  // omega = 1 - m^2/16 + 17 m^4/3072 + 35 m^6/884736 - 678899 m^8/5096079360 (Andersen, Geer, SIAM J. Appl.
  // Math. 42 (1982)).
  const DualField<VanDerPol> field;
  const auto s = stepper(field, 1e-11, 1e-13);
  const double mu = 0.2, q = mu * mu, p[] = {mu};
  const double omega =
      1 - q / 16 + 17 * q * q / 3072 + 35 * q * q * q / 884736 - 678899 * q * q * q * q / 5096079360;
  const double omega_by_mu =
      2 * mu * (-1.0 / 16 + 34 * q / 3072 + 105 * q * q / 884736 - 4 * 678899 * q * q * q / 5096079360);
  PeriodicOrbit orbit(field, *s, {.rtol = 1e-11, .atol = 1e-13});
  double x0[] = {1.8, 0}, period = 6;
  orbit.solve(p, x0, &period);
  EXPECT_NEAR(period, kTwoPi / omega, 1e-9);
  const double zero[2] = {};
  double by_mu[1] = {};
  orbit.vjp(zero, 1, by_mu);
  EXPECT_NEAR(by_mu[0], -kTwoPi / (omega * omega) * omega_by_mu, 1e-8);
}

TEST_P(PeriodicOrbitTest, PeriodOfARelaxationOscillationMatchesItsStencil) {
  const DualField<VanDerPol> field;
  const auto s = stepper(field, 1e-10, 1e-12);
  const auto period_at = [&](double mu, double* derivative) {
    PeriodicOrbit orbit(field, *s, {.rtol = 1e-10, .atol = 1e-12, .normal = {0, 1}, .offset = 0});
    double x0[] = {2, 0}, period = 11.6;
    orbit.solve(&mu, x0, &period);
    const double zero[2] = {};
    *derivative = 0;
    orbit.vjp(zero, 1, derivative);
    return period;
  };
  double derivative, ignored, difference = 0;
  EXPECT_NEAR(period_at(5, &derivative), 11.6122, 1e-4);
  const double reach = 0.02, weights[] = {45, -9, 1};
  for (int k = 1; k <= 3; ++k) {
    difference += weights[k - 1] * (period_at(5 + k * reach, &ignored) - period_at(5 - k * reach, &ignored)) /
                  (60 * reach);
  }
  EXPECT_NEAR(derivative, difference, 1e-6);
}

TEST(PeriodicOrbit, TimeDependenceRestAndBadGuessesAreErrors) {
  const DualField<Smooth> forced;
  const DualField<Hopf> hopf;
  const double p[] = {0.5, 0.7, 0.3};
  const auto radau_forced = make_implicit_stepper("radau5", forced),
             radau = make_implicit_stepper("radau5", hopf);
  double x[] = {1, 0, 0.5}, period = 6;
  expect_error([&] { return PeriodicOrbit(forced, *radau_forced).solve(p, x, &period); },
               "the field depends on time", "make time a state");
  double origin[] = {0, 0};
  expect_error([&] { return PeriodicOrbit(hopf, *radau).solve(p, origin, &period); },
               "the guess of a periodic orbit is a steady state");
  double negative = -1, y[] = {1, 0};
  expect_error([&] { return PeriodicOrbit(hopf, *radau).solve(p, y, &negative); },
               "the guess of a period must be positive");
  expect_error([&] { return PeriodicOrbit(hopf, *radau, {.normal = {1}}); },
               "the normal of the phase condition needs one component per state");
  const double decaying[] = {-0.5, 0.7, 0.3};  // mu < 0: everything spirals into the origin
  double z[] = {0.3, 0};
  expect_error([&] { return PeriodicOrbit(hopf, *radau).solve(decaying, z, &period); },
               "periodic");  // it comes to rest, or finds no way: rounding decides
}

}  // namespace
}  // namespace costate::ode::test

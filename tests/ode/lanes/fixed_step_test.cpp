#include "costate/ode/lanes/fixed_step_systems.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate {
namespace {

using costate::test::expect_error;
using ode::Integrator;

template <class Real>
Arguments<Real> start(const Rollout<Real>& rollout, std::vector<Real> x0) {
  Arguments<Real> a = rollout.arguments();
  a.x0 = std::move(x0);
  for (std::size_t i = 0; i < a.controls.size(); ++i)
    a.controls[i] = static_cast<Real>(0.3 * std::sin(0.7 * double(i)));
  return a;
}

// Each built-in problem x integrator, in double and float.
template <class Real>
void contract(std::shared_ptr<System<Real>> system, std::vector<Real> x0, std::int64_t long_steps = 1000) {
  test::expect_contract(system, {.states = [&](const auto& rollout, unsigned) { return start(rollout, x0); },
                                 .long_steps = long_steps});
}

// Over a time unit: chaos makes more of the last bit in which a tangent's states may differ from a step's.
TEST(FixedStep, LorenzMeetsTheContract) {
  for (auto integrator : {Integrator::euler, Integrator::rk4}) {
    contract<double>(ode::lorenz<double>(integrator), {1, 0.5, 20}, 100);
    contract<float>(ode::lorenz<float>(integrator), {1, 0.5f, 20}, 100);
  }
}
TEST(FixedStep, PendulumMeetsTheContract) {
  for (auto integrator : {Integrator::euler, Integrator::rk4, Integrator::verlet}) {
    contract<double>(ode::pendulum<double>(integrator), {0.7, -0.4});
    contract<float>(ode::pendulum<float>(integrator), {0.7f, -0.4f});
  }
}
TEST(FixedStep, ProjectileMeetsTheContract) {
  for (auto integrator : {Integrator::euler, Integrator::rk4}) {
    contract<double>(ode::projectile<double>(integrator), {0, 1, 8, 6});
    contract<float>(ode::projectile<float>(integrator), {0, 1, 8, 6});
  }
}
TEST(FixedStep, VanDerPolMeetsTheContract) {
  for (auto integrator : {Integrator::euler, Integrator::rk4})
    contract<double>(ode::van_der_pol<double>(integrator), {2, 0.1});
}

TEST(FixedStep, AnIntegratorThatDoesNotFitIsRefused) {
  expect_error([&] { return ode::lorenz<double>(Integrator::verlet); },
               "velocity Verlet needs v' = a(t, q), independent of v", "use rk4");
}

// Lorenz, rho = 21, to t = 1: an independent quad-precision solution.
TEST(FixedStep, LorenzReachesTheReferenceValueAndGradient) {
  const auto system = ode::lorenz<double>(Integrator::rk4, 1.0 / 4000);
  Rollout<double> rollout(system, {.steps = 4000, .checkpoints = segments(), .active = {"rho"}});
  Arguments<double> a = rollout.arguments();
  a.x0 = {1, 0, 0};
  a.parameters.set("rho", 21.0);
  const auto end = rollout.simulate(a).final_state;
  EXPECT_NEAR(end[0], -6.450579147318907, 2e-10);
  EXPECT_NEAR(end[1], -8.895211478667793, 2e-10);
  EXPECT_NEAR(end[2], 14.64914586660444, 2e-10);
  EXPECT_NEAR(rollout.value_and_gradient(a, *loss::final_value<double>(system->signature(), "x"))
                  .parameters["rho"][0],
              -1.239242130721969, 1e-9);
  EXPECT_NEAR(rollout.value_and_gradient(a, *loss::final_value<double>(system->signature(), "z"))
                  .parameters["rho"][0],
              2.275542510621602, 1e-9);
}

// Van der Pol, mu = 1, from (2, 0) to t = 5.
TEST(FixedStep, VanDerPolReachesTheReferenceValueAndGradient) {
  const auto system = ode::van_der_pol<double>(Integrator::rk4, 5.0 / 8000);
  Rollout<double> rollout(system, {.steps = 8000, .checkpoints = binomial(50)});
  Arguments<double> a = rollout.arguments();
  a.x0 = {2, 0};
  const auto g = rollout.value_and_gradient(a, *loss::final_value<double>(system->signature(), "y"));
  EXPECT_NEAR(g.value, -0.8370774502947651, 1e-12);
  EXPECT_NEAR(g.parameters["mu"][0], -1.314040887531950, 1e-11);
  EXPECT_NEAR(g.x0[0], -1.772753497832712, 1e-11);
}

// Throw without drag: x_T = v_x T, y_T = y_0 + v_y T - g T^2 / 2, which RK4 integrates exactly.
TEST(FixedStep, ProjectileWithoutDragMatchesTheClosedForm) {
  const auto system = ode::projectile<double>(Integrator::rk4, 0.01);
  Rollout<double> rollout(system, {.steps = 100});
  Arguments<double> a = rollout.arguments();
  a.x0 = {0, 1, 3, 4};
  a.parameters.set("drag", 0.0);
  const auto g =
      rollout.value_and_gradient(a, *loss::final_value<double>(system->signature(), "position", 1));
  EXPECT_NEAR(g.value, 1 + 4 - 9.81 / 2, 1e-13);
  EXPECT_NEAR(g.parameters["gravity"][0], -0.5, 1e-13);
  EXPECT_NEAR(g.x0[3], 1.0, 1e-13);
  EXPECT_NEAR(g.parameters["dt"][0], 100 * (4 - 9.81), 1e-9);  // dy/dT * steps
}

// Slope of log(error) against log(dt), over six halvings.
double order_of(const std::function<double(int)>& error) {
  double mx = 0, my = 0, sxx = 0, sxy = 0;
  std::vector<double> x, y;
  for (int i = 0; i < 6; ++i) {
    x.push_back(-std::log(2.0) * i);
    y.push_back(std::log(error(i)));
  }
  for (int i = 0; i < 6; ++i) mx += x[i] / 6, my += y[i] / 6;
  for (int i = 0; i < 6; ++i) sxx += (x[i] - mx) * (x[i] - mx), sxy += (x[i] - mx) * (y[i] - my);
  return sxy / sxx;
}

TEST(FixedStep, ConvergesWithTheOrderOfTheMethod) {
  // Small-angle reference by RK4 at a tiny step.
  const auto end = [](Integrator integrator, int steps) {
    Rollout<double> rollout(ode::pendulum<double>(integrator, 2.0 / steps), {.steps = steps, .hold = steps});
    Arguments<double> a = rollout.arguments();
    a.x0 = {1, 0.5};
    a.controls = {0.3};
    return rollout.simulate(a).final_state[0];
  };
  const double exact = end(Integrator::rk4, 20000);
  const auto error = [&](Integrator integrator, int first) {
    return [=, &end](int i) { return std::abs(end(integrator, first << i) - exact); };
  };
  EXPECT_NEAR(order_of(error(Integrator::euler, 800)), 1, 0.1);
  EXPECT_NEAR(order_of(error(Integrator::verlet, 40)), 2, 0.1);
  EXPECT_NEAR(order_of(error(Integrator::rk4, 20)), 4, 0.1);
}

TEST(FixedStep, VerletRunsBackwardsToWhereItStarted) {
  const auto system = ode::pendulum<double>(Integrator::verlet, 0.01);
  const auto objective = loss::final<double>(system->signature(), "q", {0.1});
  Rollout<double> stored(system, {.steps = 1000, .hold = 100});
  Rollout<double> reversed(system, {.steps = 1000, .checkpoints = reversible(), .hold = 100});
  Arguments<double> a = start(stored, {0.9, 0.2});
  const auto exact = stored.value_and_gradient(a, *objective),
             reconstructed = reversed.value_and_gradient(a, *objective);
  EXPECT_EQ(exact.value, reconstructed.value);
  EXPECT_NEAR(reconstructed.x0[0], exact.x0[0], 1e-10 * std::abs(exact.x0[0]));
  EXPECT_NEAR(reconstructed.parameters["length"][0], exact.parameters["length"][0],
              1e-10 * std::abs(exact.parameters["length"][0]));
  EXPECT_EQ(reconstructed.report.label, "exact up to rounding of the reconstructed states");
  EXPECT_LT(reversed.value_and_gradient(a, *objective).report.memory_bytes,
            stored.value_and_gradient(a, *objective).report.memory_bytes / 20);
}

TEST(FixedStep, VerletKeepsTheEnergyOverALongTime) {
  const auto drift = [](std::int64_t steps) {
    const auto system = ode::pendulum<double>(Integrator::verlet, 0.01);
    Rollout<double> rollout(system, {.steps = steps, .checkpoints = reversible(), .hold = steps});
    Arguments<double> a = rollout.arguments();
    a.x0 = {0.9, 0.2};
    return rollout.value_and_gradient(a, *loss::final<double>(system->signature(), "q", {}))
        .report.energy_drift.value();
  };
  for (std::int64_t steps : {100, 1000, 10000, 100000})
    EXPECT_LT(drift(steps), 5e-4);  // of order (w dt)^2, whatever the time
}

}  // namespace
}  // namespace costate

#include "costate/ode/methods/symplectic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/ode/methods/method.h"
#include "costate/ode/solve.h"
#include "tests/expect_error.h"
#include "tests/ode/problems.h"

namespace costate::ode {
namespace {

using costate::test::expect_error;

const auto kPendulum = make_field<2, 1>([](auto, auto x, auto p) {
  using std::sin;
  return std::array{1.0 * x[1], -p[0] * sin(x[0])};
});

TEST(Symplectic, EnergyStaysWithinABandWhereEulerDrifts) {
  const auto energy = [](const double* x) { return 0.5 * x[1] * x[1] - std::cos(x[0]); };
  for (const char* method : {"symplectic_euler", "verlet", "yoshida4", "euler"}) {
    const Solution s = solve(kPendulum, {0, 200}, {1.2, 0}, {1}, {.method = method, .dt = 0.05});
    double drift = 0;
    for (std::size_t k = 0; k < s.t.size(); ++k)
      drift = std::max(drift, std::abs(energy(s.row(k)) - energy(s.row(0))));
    const double band = method == std::string("yoshida4") ? 1e-5
                        : method == std::string("verlet") ? 1e-3
                                                          : 0.05;
    if (method == std::string("euler"))
      EXPECT_GT(drift, 0.5);
    else
      EXPECT_LT(drift, band) << method;
  }
}

TEST(Symplectic, StepsPreserveTheSymplecticForm) {
  for (const char* method : {"symplectic_euler", "verlet", "yoshida4"}) {
    auto stepper = make_stepper(method, kPendulum);
    const double x[] = {1.2, 0.4}, p = 1.7, e1[] = {1, 0}, e2[] = {0, 1};
    double a[2], b[2];
    stepper->step_jvp({0, 0.3, x, &p}, {0, 0, e1, nullptr}, a);
    stepper->step_jvp({0, 0.3, x, &p}, {0, 0, e2, nullptr}, b);
    EXPECT_NEAR(a[0] * b[1] - a[1] * b[0], 1, 1e-14) << method;
  }
}

TEST(Symplectic, VerletAndYoshidaRetraceTheirSteps) {
  for (const char* method : {"verlet", "yoshida4"}) {
    auto stepper = make_stepper(method, kPendulum);
    const double x[] = {1.2, 0.4}, p = 1.7;
    double y[2], z[2];
    stepper->step({0, 0.3, x, &p}, y, nullptr);
    stepper->step({0.3, -0.3, y, &p}, z, nullptr);
    EXPECT_NEAR(z[0], x[0], 1e-15);
    EXPECT_NEAR(z[1], x[1], 1e-15);
  }
}

TEST(Symplectic, AFieldThatIsNotOfSecondOrderIsRefused) {
  const auto lv = make_field<2, 4>(test::lotka_volterra);
  expect_error(
      [&] {
        return solve(lv, {0, 1}, {1, 1}, test::kLotkaVolterraParameters, {.method = "verlet", .dt = 0.1});
      },
      "the field is not of second order: the rate of state 0", "order the states as x = (q, v)");
  const auto lorenz = make_field<3, 3>(test::lorenz);
  expect_error([&] { return make_stepper("verlet", lorenz); }, "the vector field has 3 states, an odd number",
               "use rk4 or dopri5");
}

}  // namespace
}  // namespace costate::ode

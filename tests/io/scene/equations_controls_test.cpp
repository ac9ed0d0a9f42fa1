// The table [controls] of equations.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "tests/io/scene/studies.h"

namespace costate::io::test {
namespace {

// x'' = push - pull, over two seconds.
std::string cart(const std::string& controls, const std::string& rest) {
  return "[start]\nx = 0.0\nv = 0.0\n[parameters]\nm = 2.0\n[controls]\n" + controls +
         "\n[equations]\nx = \"v\"\nv = \"(push - pull)/m\"\n[run]\nt1 = 2.0\nrtol = 1e-11\natol = "
         "1e-11\n" +
         rest;
}
const std::string kHeld = "push = [1.0, 4.0]\npull = [0.5, 0.25]";
const std::string kLinear =
    "push = {values = [0.0, 2.0, 1.0], interpolation = \"linear\"}\n"
    "[controls.pull]\nvalues = [0.0, 0.0, 0.5]\ninterpolation = \"linear\"";

TEST(EquationControls, HeldValuesHaveTheSolutionAndGradientOfTheClosedForm) {
  const Equations p = equations(cart(kHeld, "[[loss]]\nformula = \"x\"\n"));
  const ode::Solution s = solve(p);
  EXPECT_NEAR(s.final_state()[0], (1.5 * 0.5 + 0.5 * 3.75) / 2, 1e-12);
  for (const char* adjoint : {"discrete", "forward", "interpolating", "backsolve"}) {
    SCOPED_TRACE(adjoint);
    const ode::Gradient g = gradient(p, s, adjoint);
    ASSERT_EQ(p.controls.size(), 2u);
    ASSERT_EQ(g.controls.size(), 4u);
    const auto by = [&](int control, int i) {
      return g.controls[std::size_t(i) * p.controls.size() + std::size_t(control)];
    };
    EXPECT_NEAR(by(0, 0), 0.75, 1e-9);
    EXPECT_NEAR(by(0, 1), 0.25, 1e-9);
    EXPECT_NEAR(by(1, 0), -0.75, 1e-9);
    EXPECT_NEAR(by(1, 1), -0.25, 1e-9);
    EXPECT_NEAR(g.parameters["p"][0], -g.value / 2, 1e-9);
  }
}

TEST(EquationControls, LinearValuesAreThoseOfAFormulaOfTime) {
  const Equations p = equations(
      cart(kLinear, "[[loss]]\nformula = \"x + push\"\n[[loss]]\nintegral = true\nformula = \"push*v\"\n"));
  const Equations formula = equations(
      "[start]\nx = 0.0\nv = 0.0\n[parameters]\nm = 2.0\n"
      "[definitions]\npush = \"t < 1 ? 2*t : 3 - t\"\npull = \"t < 1 ? 0*t : 0.5*(t - 1)\"\n"
      "[equations]\nx = \"v\"\nv = \"(push - pull)/m\"\n[run]\nt1 = 2.0\nrtol = 1e-11\natol = "
      "1e-11\nmax_step = 0.01\n"
      "[[loss]]\nformula = \"x + push\"\n[[loss]]\nintegral = true\nformula = \"push*v\"\n");
  const ode::Gradient a = gradient(p, solve(p)), b = gradient(formula, solve(formula));
  EXPECT_NEAR(a.value, b.value, 1e-7);
  EXPECT_NEAR(a.parameters["p"][0], b.parameters["p"][0], 1e-6);
}

TEST(EquationControls, EveryKindOfLossPassesItsChecks) {
  for (const std::string& controls : {kHeld, kLinear}) {
    const Equations p = equations(
        cart(controls,
             "[[events]]\nwhen = \"x - 0.3*push\"\ndirection = 1\nset.v = \"0.5*v + pull\"\n"
             "[[loss]]\nformula = \"x*v + push\"\n[[loss]]\nintegral = true\nformula = \"push^2 + x*pull\"\n"
             "[[loss]]\ntimes = [0.3, 1.0, 1.7]\nformula = \"x*push - data\"\nvalues = [1.0, 2.0, 3.0]\n"));
    for (const check::Result& result : checked(p)) {
      EXPECT_TRUE(result.passed()) << result.name << ": " << result.error << " " << result.detail;
      EXPECT_EQ(result.skipped, result.name == "discrete against cvodes") << result.detail;
    }
  }
}

TEST(EquationControls, AlgebraicStatesFollowTheFirstValue) {
  const Equations p = equations(
      "[start]\nx = 1.0\nz = 0.0\n[parameters]\nk = 2.0\n"
      "[controls]\nu = {values = [0.5, 1.5, 1.0], interpolation = \"linear\"}\n"
      "[equations]\nx = \"z - x\"\nz = \"z - k*u\"\n"
      "[run]\nt1 = 1.0\nsolver = \"radau5\"\nrtol = 1e-10\natol = 1e-10\nalgebraic = "
      "[\"z\"]\n[[loss]]\nformula = \"x*z\"\n");
  EXPECT_NEAR(initial_state(p)[1], 1.0, 1e-14);
  for (const check::Result& result : checked(p))
    EXPECT_TRUE(result.passed()) << result.name << ": " << result.error << " " << result.detail;
}

// Least effort from rest to x = 1 at rest, in two halves: u = (1, -1) m / (1 s)^2.
TEST(EquationControls, OptimizeFindsTheLeastEffort) {
  const std::string to_one = cart("push = [0.0, 0.0]\npull = [0.0, 0.0]",
                                  "[[loss]]\nformula = \"1e4*((x - 1)^2 + v^2)\"\n[[loss]]\nintegral = "
                                  "true\nformula = \"1e-3*push^2\"\n[optimize]\nvariables = ");
  const Optimum o = optimised(equations(to_one + "[\"controls.push\"]\n"));
  ASSERT_EQ(o.best.size(), 2u);

  EXPECT_NEAR(o.best[0], 2, 1e-5);
  EXPECT_NEAR(o.best[1], -2, 1e-5);
  const Optimum bounded = optimised(
      equations(to_one + "[{name = \"controls.push\", lower = 0.0, upper = 10.0}, \"controls.pull[1]\"]\n"));
  ASSERT_EQ(bounded.best.size(), 3u);
  EXPECT_GE(bounded.best[1], 0);
  EXPECT_NEAR(bounded.best[2] - bounded.best[1], 2, 1e-4);
}

TEST(EquationControls, FitFindsValuesThatMeasurementsShow) {
  // Measured along push = (1, 3), pull = 0: x = t^2/4 in the first second, and both x and the push itself.
  for (const bool linear : {false, true}) {
    const std::string values = linear ? "push = {values = [0.3, 0.7, 2.0], interpolation = \"linear\"}\n"
                                        "pull = {values = [0.0, 0.0, 0.0], interpolation = \"linear\"}"
                                      : "push = [0.3, 0.7]\npull = [0.0, 0.0]";
    Equations p =
        equations(cart(values,
                       "[fit]\nvariables = [\"controls.push\"]\n"
                       "[[fit.data]]\ntimes = [0.5, 1.0, 1.5, 2.0]\nformula = \"x\"\nvalues = [0, 0, 0, 0]\n"
                       "[[fit.data]]\ntimes = [0.25, 1.75]\nformula = \"push - v\"\nvalues = [0, 0]\n"));
    // Data from another solution of the same file.
    Equations truth = p;
    std::vector<double>& push = truth.inputs.paths[0].points;
    for (std::size_t k = 0; k < push.size(); ++k) push[k] = 1.0 + 2.0 * double(k);
    const ode::Solution s = solve(truth);
    for (Series& series : p.data) {
      std::vector<double> scratch(series.value->scratch_size());
      for (std::size_t k = 0; k < series.t.size(); ++k) {
        const double t = series.t[k], u = linear ? 1 + 2 * t : t <= 1 ? 1.0 : 3.0;
        const double q[] = {2.0, u, 0.0};
        series.value->value(t, s(t).data(), q, &series.measured[k], scratch.data());
      }
    }
    const Optimum o = optimised(p);
    EXPECT_LT(o.best_value, 1e-16);
    for (std::size_t k = 0; k < o.best.size(); ++k) EXPECT_NEAR(o.best[k], 1.0 + 2.0 * double(k), 1e-7);
  }
}

TEST(EquationControls, SettingsReplaceSingleValues) {
  const Equations held = equations(cart(kHeld, ""), {{"controls.push[1]", "7"}});
  EXPECT_EQ(held.inputs.paths[0].points, (std::vector<double>{1, 7}));
  EXPECT_EQ(options_of(held).controls.values, (std::vector<double>{1, 0.5, 7, 0.25}));
  const Equations linear = equations(cart(kLinear, ""), {{"controls.pull[0]", "-1"}});
  EXPECT_EQ(linear.inputs.paths[1].points[0], -1);
}

}  // namespace
}  // namespace costate::io::test

// Whole solutions of stiff problems by the implicit steppers, against reference values, and their gradients.
#include <gtest/gtest.h>

#include "costate/ode/fields/consistent_state.h"
#include "costate/ode/methods/implicit_method.h"
#include "costate/ode/methods/method.h"
#include "costate/ode/sundials/sundials_backend.h"
#include "tests/ode/lanes/adaptive_march.h"
#include "tests/ode/robertson_field.h"
#include "tests/ode/stiff_problems.h"

namespace costate::ode::test {
namespace {

class StiffSolution : public testing::TestWithParam<const char*> {
 protected:
  static std::unique_ptr<Stepper> stepper(const VectorField& field, double rtol, double atol) {
    return make_implicit_stepper(GetParam(), field, {rtol, atol});
  }
};
INSTANTIATE_TEST_SUITE_P(Methods, StiffSolution, testing::Values("rodas5p", "radau5"));

const std::vector<double> kRobertsonAtol = {1e-11, 1e-15, 1e-11};

void expect_robertson(Stepper& s, double tolerance) {
  const March m = adaptive_march(s, 0, 40, {1, 0, 0}, kRobertsonParameters, 1e-10, kRobertsonAtol, 1e-6);
  EXPECT_NEAR(m.final[0], 0.71582706872, tolerance);
  EXPECT_NEAR(m.final[1], 9.1855347646e-6, 1e-5 * tolerance);
  EXPECT_NEAR(m.final[2], 0.28416374575, tolerance);
  // Forward and reverse derivatives by p1, of every state.
  const double expected[] = {-4.24755877, 4.59119625e-5, 4.24751286};
  const std::vector<double> x_dot = march_jvp(s, m, kRobertsonParameters, {1, 0, 0});
  for (int i = 0; i < 3; ++i) {
    std::vector<double> bar(3);
    bar[i] = 1;
    const MarchGradient g = march_vjp(s, m, kRobertsonParameters, 3, bar);
    EXPECT_NEAR(x_dot[i], expected[i], 3e-9 * std::abs(expected[i])) << i;
    EXPECT_NEAR(g.p[0], x_dot[i], 1e-11 * std::abs(x_dot[i])) << i;
  }
}

TEST_P(StiffSolution, RobertsonMatchesTheReference) {
  const DualField<Robertson> field;
  expect_robertson(*stepper(field, 1e-10, 1e-15), 2e-11);
}

TEST_P(StiffSolution, RobertsonByHandMatchesTheReference) {
  const RobertsonByHand field;
  expect_robertson(*stepper(field, 1e-10, 1e-15), 2e-11);
}

TEST_P(StiffSolution, RobertsonWithAnAlgebraicEquationMatchesTheReference) {
  const DualField<RobertsonAlgebraic> field({}, robertson_mass());
  expect_robertson(*stepper(field, 1e-10, 1e-15), 2e-11);
}

// q' = y3 as a fourth state: the integral over eleven decades of time.
struct RobertsonIntegral {
  static constexpr int kStates = 4, kParameters = 3;
  template <class S>
  void operator()(S t, const S* x, const S* p, S* dx) const {
    Robertson{}(t, x, p, dx);
    dx[3] = x[2];
  }
};

TEST_P(StiffSolution, RobertsonIntegralToFortyMillionMatchesTheReference) {
  const DualField<RobertsonIntegral> field;
  const auto s = stepper(field, 1e-9, 1e-15);
  const March m =
      adaptive_march(*s, 0, 4e7, {1, 0, 0, 0}, kRobertsonParameters, 1e-9, {1e-11, 1e-15, 1e-11, 1e-3}, 1e-6);
  EXPECT_NEAR(m.final[3], 3.9982528209e7, 2e-3);
  const MarchGradient g = march_vjp(*s, m, kRobertsonParameters, 3, {0, 0, 0, 1});
  EXPECT_NEAR(g.p[0], 7.68377327e5, 2e-8 * 7.68e5);
  EXPECT_NEAR(g.p[1], -3.06892092, 2e-8 * 3.07);
  EXPECT_NEAR(g.p[2], 5.11488998e-4, 2e-8 * 5.11e-4);
}

TEST_P(StiffSolution, VanDerPolWithStiffRelaxationConvergesWithItsGradient) {
  const DualField<VanDerPol> field;
  const double p[] = {1000};
  const auto s = stepper(field, 1e-9, 1e-12), finer = stepper(field, 1e-11, 1e-13);
  const March m = adaptive_march(*s, 0, 1500, {2, 0}, p, 1e-9, {1e-12}, 1e-6);
  const March fine = adaptive_march(*finer, 0, 1500, {2, 0}, p, 1e-11, {1e-13}, 1e-6);
  EXPECT_LT(m.final[0], 0);  // past the first jump, near t = 807
  EXPECT_LT(m.steps(), 3000);
  EXPECT_NEAR(m.final[0], fine.final[0], 1e-7);
  const double x_dot = march_jvp(*s, m, p, {1})[0], finer_dot = march_jvp(*finer, fine, p, {1})[0];
  EXPECT_NEAR(x_dot, finer_dot, 1e-3 * std::abs(finer_dot));
  // During the jump the tangent is 5e8 times as large as at the end: of sixteen digits, about seven are left
  // in common.
  EXPECT_NEAR(march_vjp(*s, m, p, 1, {1, 0}).p[0], x_dot, 1e-6 * std::abs(x_dot));
}

TEST_P(StiffSolution, PendulumAsDaeAgreesWithItsAngleIncludingTheConsistentStart) {
  const DualField<CartesianPendulum> field({}, CartesianPendulum::mass());
  const DualField<AnglePendulum> angle;
  const double p[] = {9.8, 1};
  const auto s = stepper(field, 1e-10, 1e-12);
  const auto reference = make_stepper("dop853", angle);
  const March a = adaptive_march(*reference, 0, 1.5, {1, 0}, p, 1e-12, {1e-14}, 1e-3);
  const MarchGradient a_bar = march_vjp(*reference, a, p, 2, {std::cos(a.final[0]), 0});  // of sin(angle) = x

  const ConsistentState consistent(field);
  std::vector<double> x0 = {std::sin(1.0), -std::cos(1.0), 0, 0, 0};
  consistent.make_consistent(0, x0.data(), p);
  EXPECT_NEAR(x0[4], 9.8 * std::cos(1.0), 1e-13);
  const March m = adaptive_march(*s, 0, 1.5, x0, p, 1e-10, {1e-12}, 1e-3);
  EXPECT_NEAR(m.final[0], std::sin(a.final[0]), 1e-8);
  EXPECT_NEAR(m.final[1], -std::cos(a.final[0]), 1e-8);
  MarchGradient g = march_vjp(*s, m, p, 2, {1, 0, 0, 0, 0});
  double t_bar = 0;
  std::vector<double> x0_bar(5);
  consistent.make_consistent_vjp(0, x0.data(), p, g.x0.data(), &t_bar, x0_bar.data(), g.p.data());
  EXPECT_NEAR(g.p[0], a_bar.p[0], 1e-7);
  // L enters with the start on the circle: x0 = L sin, y0 = -L cos, and x = L sin(angle) at the end.
  const double by_length = g.p[1] + x0_bar[0] * std::sin(1.0) - x0_bar[1] * std::cos(1.0);
  EXPECT_NEAR(by_length, a_bar.p[1] + std::sin(a.final[0]), 1e-7);
}

TEST_P(StiffSolution, GradientsAgreeWithSundials) {
  if (!sundials::available()) GTEST_SKIP() << "built without SUNDIALS";
  const RobertsonByHand field;
  const auto s = stepper(field, 1e-9, 1e-14);
  const March m = adaptive_march(*s, 0, 40, {1, 0, 0}, kRobertsonParameters, 1e-9, kRobertsonAtol, 1e-6);
  const MarchGradient ours = march_vjp(*s, m, kRobertsonParameters, 3, {0, 0, 1});
  const auto theirs = sundials::gradient(
      field, 0, 40, {1, 0, 0}, {0.04, 1e4, 3e7},
      {.final = [](const double* x, double* bar) { return bar[0] = bar[1] = 0, bar[2] = 1, x[2]; }},
      {.rtol = 1e-10,
       .atol = {1e-12, 1e-16, 1e-12},
       .adjoint_rtol = 1e-10,
       .adjoint_atol = 1e-13,
       .integral_atol = 1e-16});
  for (int j = 0; j < 3; ++j) EXPECT_NEAR(ours.p[j], theirs.p[j], 1e-5 * std::abs(theirs.p[j])) << j;
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(ours.x0[i], theirs.x0[i], 1e-5) << i;
}

}  // namespace
}  // namespace costate::ode::test

#include "costate/ode/fields/consistent_state.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/ode/fields/consistent_jump.h"
#include "costate/ode/fields/lambda_field.h"
#include "tests/expect_error.h"
#include "tests/ode/stiff_problems.h"

namespace costate::ode::test {
namespace {

using costate::test::expect_error;

const double kP[] = {0.8, 0.6};

TEST(ConsistentState, OrdinaryEquationsHaveNothingToCheck) {
  const DualField<Smooth> field;
  const ConsistentState consistent(field);
  EXPECT_EQ(consistent.algebraic_equations(), 0);
  double x[] = {5, 6, 7};
  consistent.require_consistent(0, x, kP);
  consistent.make_consistent(0, x, kP);
  EXPECT_EQ(x[2], 7);
}

TEST(ConsistentState, AnInconsistentStartIsAnErrorThatNamesTheStateAndItsValue) {
  const DualField<RobertsonAlgebraic> field({}, robertson_mass());
  const ConsistentState consistent(field);
  EXPECT_EQ(consistent.algebraic_equations(), 1);
  const double good[] = {1, 0, 0}, bad[] = {1, 0, 0.5};
  consistent.require_consistent(0, good, kRobertsonParameters);
  try {
    consistent.require_consistent(0, bad, kRobertsonParameters);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("state 2 is 0.5 and should be about 0"), std::string::npos)
        << e.what();
  }
}

TEST(ConsistentState, FindsTheAlgebraicPartAndLeavesTheDifferentialPartAlone) {
  const DualField<MixedMass> field({}, MixedMass::mass());
  const ConsistentState consistent(field);
  double x[] = {0.9, 0.1};  // the sum is differential: s = 1
  consistent.make_consistent(0, x, kP);
  EXPECT_NEAR(x[0] + x[1], 1, 1e-15);
  EXPECT_NEAR(x[0] - x[1], kP[1], 1e-15);
  consistent.require_consistent(0, x, kP, 1e-12, 1e-14);
}

TEST(ConsistentState, DerivativesMatchTheClosedFormAndEachOther) {
  const DualField<MixedMass> field({}, MixedMass::mass());
  const ConsistentState consistent(field);
  double x[] = {0.9, 0.1};
  consistent.make_consistent(0, x, kP);
  // x0 = (s + p1 s^2)/2: ds = 0.3 + 0.2, dp1 = 0.7.
  const double x0_dot[] = {0.3, 0.2}, p_dot[] = {0.4, 0.7};
  double x_dot[2];
  consistent.make_consistent_jvp(0, x, kP, 0.5, x0_dot, p_dot, x_dot);
  EXPECT_NEAR(x_dot[0], 0.5 * (0.5 + 2 * kP[1] * 0.5 + 0.7), 1e-14);
  EXPECT_NEAR(x_dot[0] + x_dot[1], 0.5, 1e-15);

  const double x_bar[] = {1.1, -0.6};
  double t_bar = 0, x0_bar[2] = {}, p_bar[2] = {};
  consistent.make_consistent_vjp(0, x, kP, x_bar, &t_bar, x0_bar, p_bar);
  EXPECT_NEAR(
      x_bar[0] * x_dot[0] + x_bar[1] * x_dot[1],
      0.5 * t_bar + x0_bar[0] * x0_dot[0] + x0_bar[1] * x0_dot[1] + p_bar[0] * p_dot[0] + p_bar[1] * p_dot[1],
      1e-14);
}

TEST(ConsistentJump, DerivativesMatchTheClosedFormAndEachOther) {
  const auto field = std::make_shared<const DualField<MixedMass>>(MixedMass{}, MixedMass::mass());
  // Both states gain: the sum s becomes 2 s + p0, and the difference is p1 s^2 after it.
  const auto jump =
      std::make_shared<const ConsistentJump>(field, make_function<2, 2>([](auto, auto x, auto p) {
                                               return std::array{2.0 * x[0] + p[0], 2.0 * x[1]};
                                             }));
  const double x[] = {0.7, 0.1}, x_dot[] = {0.3, 0.2}, p_dot[] = {0.4, 0.7}, y_bar[] = {1.1, -0.6};
  const double s = 2 * 0.8 + kP[0], s_dot = 2 * 0.5 + 0.4;
  std::vector<double> scratch(jump->scratch_size());
  double y[2], y_dot[2], t_bar = 0, x_bar[2] = {}, p_bar[2] = {};
  jump->value(0, x, kP, y, scratch.data());
  EXPECT_NEAR(y[0] + y[1], s, 1e-14);
  EXPECT_NEAR(y[0] - y[1], kP[1] * s * s, 1e-14);
  jump->jvp(0, x, kP, 0.5, x_dot, p_dot, y_dot, scratch.data());
  EXPECT_NEAR(y_dot[0] + y_dot[1], s_dot, 1e-14);
  EXPECT_NEAR(y_dot[0] - y_dot[1], 0.7 * s * s + 2 * kP[1] * s * s_dot, 1e-13);
  jump->vjp(0, x, kP, y_bar, &t_bar, x_bar, p_bar, scratch.data());
  EXPECT_NEAR(
      y_bar[0] * y_dot[0] + y_bar[1] * y_dot[1],
      0.5 * t_bar + x_bar[0] * x_dot[0] + x_bar[1] * x_dot[1] + p_bar[0] * p_dot[0] + p_bar[1] * p_dot[1],
      1e-13);
}

struct IndexTwo {  // x0' = x1, 0 = x0 - p0: the constraint does not contain the algebraic state
  static constexpr int kStates = 2, kParameters = 1;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    dx[0] = x[1];
    dx[1] = x[0] - p[0];
  }
};

TEST(ConsistentState, AHigherIndexIsAnError) {
  const DualField<IndexTwo> field({}, {1, 0, 0, 0});
  const ConsistentState consistent(field);
  double x[] = {1, 0};
  expect_error([&] { return consistent.require_consistent(0, x, kP); }, "the problem is not of index 1 here",
               "differentiate constraints");
  expect_error([&] { return consistent.make_consistent(0, x, kP); }, "the problem is not of index 1 here",
               "check the mass matrix");
}

TEST(ConsistentState, AMassMatrixOfTheWrongSizeIsAnError) {
  const DualField<IndexTwo> field({}, {1, 0, 0});
  expect_error([&] { return ConsistentState{field}; }, "the mass matrix has 3 entries, 2 states need 4");
}

}  // namespace
}  // namespace costate::ode::test

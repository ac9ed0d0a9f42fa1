// What holds for both implicit steppers: orders, stability, transposes, failures. What is their own:
// radau_test.cpp, rosenbrock_test.cpp.
#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/ode/methods/radau.h"
#include "costate/ode/methods/radau_tableau.h"
#include "costate/ode/methods/rodas5p_tableau.h"
#include "costate/ode/methods/rosenbrock.h"
#include "tests/allocation_guard.h"
#include "tests/expect_error.h"
#include "tests/ode/robertson_field.h"
#include "tests/ode/stepper_checks.h"
#include "tests/ode/stiff_problems.h"

namespace costate::ode::test {
namespace {

using costate::test::expect_error;

const std::vector<int> kSteps = {20, 26, 34, 44, 57, 74};

template <class Method>
struct Facts;
template <>
struct Facts<Radau5> {
  static constexpr double kLongestStep =
      2;  // times steps: short enough for the order to show, long for rounding
  static constexpr double kSingular = radau::kGamma;  // p at which gamma/h - p = 0 for h = 1
};
template <>
struct Facts<Rosenbrock> {
  static constexpr double kLongestStep = 1;
  static constexpr double kSingular = 1 / rodas5p::kGamma;  // 1/(h gamma) - p = 0
};

template <class Method>
class ImplicitStepper : public testing::Test {};
using Steppers = testing::Types<Radau5, Rosenbrock>;
TYPED_TEST_SUITE(ImplicitStepper, Steppers);

TYPED_TEST(ImplicitStepper, ConvergesWithOrderFive) {
  const DualField<Smooth> field;
  TypeParam stepper(field);
  const double p[] = {0.5, 0.7};
  Vector exact(3);
  Smooth::exact(3, p, exact.data());
  const double order = observed_order(kSteps, [&](int n) {
    Vector x = march(stepper, 0, 3, n, {1, 0, 0.5}, p);
    for (int i = 0; i < 3; ++i) x[i] -= exact[i];
    return norm(x);
  });
  EXPECT_NEAR(order, 5, 0.1);
}

TYPED_TEST(ImplicitStepper, EmbeddedErrorAndDenseOutputHaveTheirOrders) {
  const DualField<Smooth> field;
  TypeParam stepper(field);
  const double p[] = {0.5, 0.7};
  const auto one_step = [&](double h, double theta) {
    Vector x(3), y(3), error(3), exact(3);
    Smooth::exact(1, p, x.data());
    EXPECT_TRUE(stepper.step({1, h, x.data(), p}, y.data(), error.data()));
    if (theta == 0) return norm(error);
    stepper.interpolate(theta, y.data());
    Smooth::exact(1 + theta * h, p, exact.data());
    for (int i = 0; i < 3; ++i) y[i] -= exact[i];
    return norm(y);
  };
  // Local errors: one power more than the order.
  const double longest = Facts<TypeParam>::kLongestStep;
  EXPECT_NEAR(observed_order(kSteps, [&](int n) { return one_step(2 * longest / n, 0); }),
              stepper.error_order() + 1, 0.1);
  EXPECT_NEAR(observed_order(kSteps, [&](int n) { return one_step(longest / n, 0.7); }),
              stepper.dense_order() + 1, 0.1);
}

TYPED_TEST(ImplicitStepper, InterpolantJoinsTheStepsEnds) {
  const DualField<Smooth> field;
  TypeParam stepper(field);
  const double p[] = {0.5, 0.7};
  const Vector x = {1, 0, 0.5};
  Vector y(3), start(3), end(3);
  stepper.step({0, 0.3, x.data(), p}, y.data(), nullptr);
  stepper.interpolate(0, start.data());
  stepper.interpolate(1, end.data());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(start[i], x[i]);
    EXPECT_NEAR(end[i], y[i], 1e-14);
  }
}

TYPED_TEST(ImplicitStepper, StiffProtheroRobinsonKeepsItsAccuracy) {
  const DualField<ProtheroRobinson> field;
  TypeParam stepper(field);
  const double p[] = {1e6};
  const auto error = [&](int n) {
    return std::abs(march(stepper, 0.5, 2.5, n, {std::sin(0.5)}, p)[0] - std::sin(2.5));
  };
  EXPECT_LT(error(20), 1e-11);
  EXPECT_NEAR(observed_order(kSteps, error), 3, 0.1);  // the error is c h^3 / lambda [Hairer, Wanner, IV.15]
}

TYPED_TEST(ImplicitStepper, IsStableOnTheImaginaryAxisAndDampsAtInfinity) {
  const DualField<TestEquation> field;
  TypeParam stepper(field);
  const double x[] = {1, 0};
  for (double omega = 0.01; omega < 1e6; omega *= 1.3) {
    const double p[] = {0, omega};
    Vector y(2);
    ASSERT_TRUE(stepper.step({0, 1, x, p}, y.data(), nullptr));
    EXPECT_LE(norm(y), 1 + 1e-12) << omega;
  }
  const double p[] = {-1e12, 0};
  Vector y(2);
  ASSERT_TRUE(stepper.step({0, 1, x, p}, y.data(), nullptr));
  EXPECT_LT(norm(y), 1e-10);
}

TYPED_TEST(ImplicitStepper, TransposeMatchesTangent) {
  const DualField<Smooth> smooth;
  const DualField<Robertson> robertson;
  const DualField<RobertsonAlgebraic> algebraic({}, robertson_mass());
  const double p[] = {0.5, 0.7}, x[] = {0.4, -0.6, 0.3};
  const double y[] = {0.9, 2e-5, 0.1 - 2e-5};
  TypeParam a(smooth), b(robertson), c(algebraic);
  for (int seed = 0; seed < 20; ++seed) {
    for (double theta : {-1.0, 0.35, 1.0}) {
      EXPECT_LT(transpose_defect(a, {0.2, 0.3, x, p}, {{1, 1, 1}, {1, 1}, 1, 1}, theta, seed), 1e-13);
      for (double h : {1e-4, 0.1, 10.0}) {
        const Scales scale{{1, 2e-5, 0.1}, {0.04, 1e4, 3e7}, 1, h};
        EXPECT_LT(transpose_defect(b, {0, h, y, kRobertsonParameters}, scale, theta, seed), 1e-12)
            << h << " " << theta;
        EXPECT_LT(transpose_defect(c, {0, h, y, kRobertsonParameters}, scale, theta, seed), 1e-12)
            << h << " " << theta;
      }
    }
  }
}

TYPED_TEST(ImplicitStepper, TangentMatchesTheStencil) {
  const DualField<Smooth> smooth;
  const DualField<MixedMass> mixed({}, MixedMass::mass());
  const double p[] = {0.5, 0.7}, x[] = {0.4, -0.6, 0.3};
  double z[2];
  MixedMass::exact(0.2, p, 1, z);
  TypeParam a(smooth), b(mixed);
  for (int seed = 0; seed < 5; ++seed) {
    for (double theta : {-1.0, 0.35}) {
      EXPECT_LT(stencil_defect(a, {0.2, 0.3, x, p}, {{1, 1, 1}, {1, 1}, 1, 0.3}, theta, seed), 1e-9);
      EXPECT_LT(stencil_defect(b, {0.2, 0.3, z, p}, {{1, 1}, {1, 1}, 1, 0.3}, theta, seed), 1e-9);
    }
  }
}

TYPED_TEST(ImplicitStepper, SingularMassWithoutZeroRowsConvergesWithOrderFive) {
  const DualField<MixedMass> field({}, MixedMass::mass());
  TypeParam stepper(field);
  const double p[] = {0.8, 0.6};
  Vector start(2), exact(2);
  MixedMass::exact(0, p, 1, start.data());
  MixedMass::exact(3, p, 1, exact.data());
  const double order = observed_order({8, 11, 14, 18, 24, 31}, [&](int n) {
    Vector x = march(stepper, 0, 3, n, start, p);
    for (int i = 0; i < 2; ++i) x[i] -= exact[i];
    return norm(x);
  });
  EXPECT_NEAR(order, 5, 0.1);
}

TYPED_TEST(ImplicitStepper, NullTangentsAndCotangentsMeanZeroAndNotWanted) {
  const DualField<Smooth> field;
  TypeParam stepper(field);
  const double p[] = {0.5, 0.7}, x[] = {0.4, -0.6, 0.3}, zero[3] = {}, y_bar[] = {1, 2, 3};
  double a[3], b[3];
  stepper.step_jvp({0, 0.1, x, p}, {0.5, 1, nullptr, nullptr}, a);
  stepper.step_jvp({0, 0.1, x, p}, {0.5, 1, zero, zero}, b);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(a[i], b[i]);
  double t_bar[2] = {}, h_bar[2] = {}, x_bar[2][3] = {}, p_bar[2] = {};
  stepper.step_vjp({0, 0.1, x, p}, y_bar, {&t_bar[0], &h_bar[0], x_bar[0], nullptr});
  stepper.step_vjp({0, 0.1, x, p}, y_bar, {&t_bar[1], &h_bar[1], x_bar[1], p_bar});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(x_bar[0][i], x_bar[1][i]);
  EXPECT_EQ(h_bar[0], h_bar[1]);
}

TYPED_TEST(ImplicitStepper, ASingularStageMatrixIsAFailedStep) {
  const DualField<Growth> field;
  TypeParam stepper(field);
  const double p[] = {Facts<TypeParam>::kSingular}, x[] = {1};
  double y[1];
  EXPECT_FALSE(stepper.step({0, 1, x, p}, y, nullptr));
  expect_error(
      [&] {
        return stepper.step_jvp({0, 1, x, p}, {0, 1, nullptr, nullptr}, y);
      },
      "step that is to be differentiated", "differentiate accepted steps only");
}

TYPED_TEST(ImplicitStepper, StepsAndDerivativesAllocateNothingAndRepeatTheirBits) {
  const RobertsonByHand field;
  TypeParam stepper(field);
  const double x[] = {0.9, 2e-5, 0.1 - 2e-5}, y_bar[] = {1, 2, 3}, x_dot[] = {0.1, 1e-6, 0.2};
  double y[2][3], error[2][3], y_dot[2][3], between[2][3], t_bar[2] = {}, h_bar[2] = {}, x_bar[2][3] = {},
                                                           p_bar[2][3] = {};
  const costate::test::AllocationGuard guard;
  for (int call : {0, 1}) {
    const StepInput in{0, 0.1, x, kRobertsonParameters};
    EXPECT_TRUE(stepper.step(in, y[call], error[call]));
    stepper.interpolate(0.3, between[call]);
    stepper.step_jvp(in, {0, 1, x_dot, nullptr}, y_dot[call]);
    stepper.step_vjp(in, y_bar, {&t_bar[call], &h_bar[call], x_bar[call], p_bar[call]});
  }
  EXPECT_EQ(guard.count(), 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(y[0][i], y[1][i]);
    EXPECT_EQ(error[0][i], error[1][i]);
    EXPECT_EQ(between[0][i], between[1][i]);
    EXPECT_EQ(y_dot[0][i], y_dot[1][i]);
    EXPECT_EQ(x_bar[0][i], x_bar[1][i]);
    EXPECT_EQ(p_bar[0][i], p_bar[1][i]);
  }
  EXPECT_EQ(h_bar[0], h_bar[1]);
}

}  // namespace
}  // namespace costate::ode::test

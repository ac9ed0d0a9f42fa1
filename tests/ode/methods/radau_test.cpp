#include "costate/ode/methods/radau.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/ode/methods/radau_tableau.h"
#include "tests/expect_error.h"
#include "tests/ode/stepper_checks.h"
#include "tests/ode/stiff_problems.h"

namespace costate::ode::test {
namespace {

using costate::test::expect_error;

TEST(Radau5, CoefficientsSatisfyTheirDefinitions) {
  using namespace radau;
  const double block[3][3] = {{kGamma, 0, 0}, {0, kAlpha, -kBeta}, {0, kBeta, kAlpha}};
  for (int i = 0; i < 3; ++i) {
    for (int k = 1; k <= 3; ++k) {  // collocation: sum_j a_ij c_j^(k-1) = c_i^k / k
      double sum = 0;
      for (int j = 0; j < 3; ++j) sum += kA[i][j] * std::pow(kC[j], k - 1);
      EXPECT_NEAR(sum, std::pow(kC[i], k) / k, 1e-15);
    }
    for (int j = 0; j < 3; ++j) {
      double product = 0, left = 0, right = 0, inverse = 0;
      for (int k = 0; k < 3; ++k) {
        product += kA[i][k] * kInverseA[k][j];
        left += kInverseA[i][k] * kT[k][j];
        right += kT[i][k] * block[k][j];
        inverse += kT[i][k] * kInverseT[k][j];
      }
      EXPECT_NEAR(product, i == j, 1e-14);
      EXPECT_NEAR(inverse, i == j, 1e-14);
      EXPECT_NEAR(left, right, 1e-14);
      EXPECT_NEAR(weight(i, kC[j]), i == j, 1e-14);  // the collocation polynomial passes through the stages
    }
    EXPECT_NEAR(weight_rate(i, 0.3), (weight(i, 0.3001) - weight(i, 0.2999)) / 2e-4, 1e-6);
  }
}

TEST(Radau5, NeedsFirstDerivativesAlone) {
  const DualField<Smooth, false> field;
  Radau5 stepper(field);
  const double p[] = {0.5, 0.7}, x[] = {0.4, -0.6, 0.3};
  EXPECT_LT(stencil_defect(stepper, {0.2, 0.3, x, p}, {{1, 1, 1}, {1, 1}, 1, 0.3}, -1, 1), 1e-9);
}

struct Riccati {
  static constexpr int kStates = 1, kParameters = 1;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    dx[0] = p[0] * x[0] * x[0];
  }
};

TEST(Radau5, StagesThatDoNotConvergeAreAFailedStep) {
  const DualField<Riccati> field;
  Radau5 stepper(field);
  const double p[] = {1}, x[] = {1};  // 1/(1 - t) has no value at t = 3
  double y[1], bar[] = {1}, t_bar = 0, h_bar = 0, x_bar[1] = {}, p_bar[1] = {};
  EXPECT_FALSE(stepper.step({0, 3, x, p}, y, nullptr));
  expect_error(
      [&] {
        return stepper.step_vjp({0, 3, x, p}, bar, {&t_bar, &h_bar, x_bar, p_bar});
      },
      "the stages of a Radau5 step that is to be differentiated did not converge",
      "differentiate accepted steps only");
  EXPECT_TRUE(stepper.step({0, 0.3, x, p}, y, nullptr));
  EXPECT_NEAR(y[0], 1 / 0.7, 1e-4);
}

}  // namespace
}  // namespace costate::ode::test

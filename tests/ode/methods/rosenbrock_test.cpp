#include "costate/ode/methods/rosenbrock.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "tests/expect_error.h"
#include "tests/ode/stiff_problems.h"

namespace costate::ode::test {
namespace {

using costate::test::expect_error;

TEST(Rosenbrock, RefusesDerivativesOfAFieldWithoutSecondOnes) {
  const DualField<Smooth, false> field;
  Rosenbrock stepper(field);
  const double p[] = {0.5, 0.7}, x[] = {0.4, -0.6, 0.3};
  double y[3], t_bar = 0, h_bar = 0, x_bar[3] = {}, p_bar[2] = {};
  EXPECT_TRUE(stepper.step({0, 0.1, x, p}, y, nullptr));
  expect_error(
      [&] {
        return stepper.step_jvp({0, 0.1, x, p}, {0, 1, nullptr, nullptr}, y);
      },
      "needs second derivatives of the vector field", "use method = \"radau5\"");
  expect_error(
      [&] {
        return stepper.step_vjp({0, 0.1, x, p}, y, {&t_bar, &h_bar, x_bar, p_bar});
      },
      "needs second derivatives of the vector field", "use method = \"radau5\"");
}

}  // namespace
}  // namespace costate::ode::test

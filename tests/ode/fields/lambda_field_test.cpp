#include "costate/ode/fields/lambda_field.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/expect_error.h"
#include "tests/ode/problems.h"

namespace costate::ode {
namespace {

using costate::test::expect_error;

// Twelve inputs: more than one strip of directions. All partial derivatives have a closed form.
const auto kMany = make_field<4, 7>([](auto t, auto x, auto p) {
  using std::exp, std::sin;
  return std::array{p[0] * x[1] * x[2] + t, sin(x[0]) * p[1] + p[6], exp(0.1 * x[3]) * p[2] * p[3],
                    x[0] * x[3] - t * p[4] * p[5]};
});
const double kX[] = {0.3, -1.1, 0.7, 0.2}, kP[] = {1.1, 0.4, -0.8, 1.3, 0.6, 2.0, 0.5}, kT = 0.9;

TEST(LambdaField, TransposeHasItsClosedForm) {
  const double d[] = {1, 2, 3, 4};
  double t_bar = 0, x_bar[4] = {}, p_bar[7] = {};
  kMany.vjp(kT, kX, kP, d, &t_bar, x_bar, p_bar, nullptr);
  const double e = std::exp(0.1 * kX[3]);
  EXPECT_NEAR(t_bar, 1 - 4 * kP[4] * kP[5], 1e-14);
  const double want_x[] = {2 * std::cos(kX[0]) * kP[1] + 4 * kX[3], kP[0] * kX[2], kP[0] * kX[1],
                           0.3 * e * kP[2] * kP[3] + 4 * kX[0]};
  const double want_p[] = {
      kX[1] * kX[2], 2 * std::sin(kX[0]), 3 * e * kP[3], 3 * e * kP[2], -4 * kT * kP[5], -4 * kT * kP[4], 2};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(x_bar[i], want_x[i], 1e-14);
  for (int i = 0; i < 7; ++i) EXPECT_NEAR(p_bar[i], want_p[i], 1e-14);
}

TEST(LambdaField, TransposeAddsAndMayLeaveParametersOut) {
  const double d[] = {1, 2, 3, 4};
  double t_bar = 0, x_bar[4] = {}, p_bar[7] = {}, t2 = 5, x2[4] = {1, 1, 1, 1};
  kMany.vjp(kT, kX, kP, d, &t_bar, x_bar, p_bar, nullptr);
  kMany.vjp(kT, kX, kP, d, &t2, x2, nullptr, nullptr);
  EXPECT_NEAR(t2, t_bar + 5, 1e-14);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(x2[i], x_bar[i] + 1, 1e-14);
}

TEST(LambdaField, TangentIsTheTransposeOfTheTransposeAndNullsAreZero) {
  const double d[] = {1, 2, 3, 4}, x_dot[] = {0.3, 0.1, -0.7, 0.9}, p_dot[] = {1, -2, 0.5, 0.25, 1, 3, -1};
  double t_bar = 0, x_bar[4] = {}, p_bar[7] = {}, dot[4];
  kMany.vjp(kT, kX, kP, d, &t_bar, x_bar, p_bar, nullptr);
  const auto product = [&](double t, const double* x, const double* p) {
    kMany.jvp(kT, kX, kP, t, x, p, dot, nullptr);
    return d[0] * dot[0] + d[1] * dot[1] + d[2] * dot[2] + d[3] * dot[3];
  };
  double x_part = 0, p_part = 0;
  for (int i = 0; i < 4; ++i) x_part += x_bar[i] * x_dot[i];
  for (int i = 0; i < 7; ++i) p_part += p_bar[i] * p_dot[i];
  EXPECT_NEAR(product(0.4, x_dot, p_dot), 0.4 * t_bar + x_part + p_part, 1e-13);
  EXPECT_NEAR(product(0, x_dot, nullptr), x_part, 1e-13);
  EXPECT_NEAR(product(0, nullptr, p_dot), p_part, 1e-13);
}

TEST(LambdaField, JacobianMatchesTheDefaultByColumns) {
  double direct[16], columns[16];
  kMany.jacobian(kT, kX, kP, direct, nullptr);
  kMany.VectorField::jacobian(kT, kX, kP, columns, nullptr);
  for (int i = 0; i < 16; ++i) EXPECT_NEAR(direct[i], columns[i], 1e-15);
}

TEST(LambdaFunction, MayReturnOneNumber) {
  const auto g = make_function<2, 2>(test::height);
  EXPECT_EQ(g->outputs(), 1);
  const double x[] = {3, 4}, p[] = {0, 0}, one = 1;
  double y = 0, t_bar = 0, x_bar[2] = {};
  g->value(0, x, p, &y, nullptr);
  g->vjp(0, x, p, &one, &t_bar, x_bar, nullptr, nullptr);
  EXPECT_EQ(y, 3);
  EXPECT_EQ(x_bar[0], 1);
  EXPECT_EQ(x_bar[1], 0);
}

TEST(LambdaField, CarriesItsMassMatrixAndRefusesOneOfTheWrongSize) {
  const auto equations = [](auto, auto x, auto) { return std::array{-x[0], x[0] - x[1]}; };
  EXPECT_EQ((make_field<2, 0>(equations, {1, 0, 0, 0}).mass()), (std::vector<double>{1, 0, 0, 0}));
  EXPECT_TRUE((make_field<2, 0>(equations).mass().empty()));
  expect_error(
      [&] {
        return make_field<2, 0>(equations, {1, 0});
      },
      "the mass matrix has 2 values for 2 states", "give all rows, one after the other");
}

}  // namespace
}  // namespace costate::ode

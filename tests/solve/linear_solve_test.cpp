#include "costate/solve/linear_solve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "costate/core/error.h"
#include "tests/expect_error.h"

namespace costate::solve {
namespace {

using costate::test::expect_error;

std::vector<double> draw(int n, std::mt19937_64& random) {
  std::uniform_real_distribution<double> u(-1, 1);
  std::vector<double> v(n);
  for (double& e : v) e = u(random);
  return v;
}

TEST(LinearSolve, TransposeMatchesTangentInEveryBlock) {
  const int n = 6;
  for (int seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    auto a = draw(n * n, random);
    for (int i = 0; i < n; ++i) a[i * n + i] += 3;
    const auto b = draw(n, random), a_dot = draw(n * n, random), b_dot = draw(n, random),
               x_bar = draw(n, random);
    LinearSolve solve(n);
    solve.factorise(a.data());
    std::vector<double> x(n), x_dot(n), a_bar(n * n), b_bar(n);
    EXPECT_LT(solve.solve(b.data(), x.data()), 1e-15);
    for (const bool with_a : {false, true}) {
      EXPECT_LT(solve.jvp(x.data(), with_a ? a_dot.data() : nullptr, b_dot.data(), x_dot.data()), 1e-15);
      std::fill(a_bar.begin(), a_bar.end(), 0.0);
      std::fill(b_bar.begin(), b_bar.end(), 0.0);
      EXPECT_LT(solve.vjp(x.data(), x_bar.data(), with_a ? a_bar.data() : nullptr, b_bar.data()), 1e-15);
      double left = 0, right = 0, size = 0;
      for (int i = 0; i < n; ++i)
        left += x_dot[i] * x_bar[i], right += b_dot[i] * b_bar[i], size += std::abs(x_dot[i]);
      for (int i = 0; i < n * n; ++i) right += a_dot[i] * a_bar[i];
      EXPECT_NEAR(left, right, 1e-13 * size);
    }
  }
}

TEST(LinearSolve, MatrixDerivativeMatchesADifference) {
  const double a[] = {2, 1, 0.5, 3}, b[] = {1, -2}, x_bar[] = {0.3, 0.7};
  LinearSolve solve(2);
  solve.factorise(a);
  double x[2], a_bar[4] = {}, b_bar[2] = {};
  solve.solve(b, x);
  solve.vjp(x, x_bar, a_bar, b_bar);
  for (int k = 0; k < 4; ++k) {
    const double h = 1e-5;
    double value[2];
    for (int side : {0, 1}) {
      double moved[4];
      std::copy(a, a + 4, moved);
      moved[k] += side ? h : -h;
      LinearSolve at(2);
      at.factorise(moved);
      double y[2];
      at.solve(b, y);
      value[side] = x_bar[0] * y[0] + x_bar[1] * y[1];
    }
    EXPECT_NEAR(a_bar[k], (value[1] - value[0]) / (2 * h), 1e-9);
  }
}

TEST(LinearSolve, RefinementKeepsTheResidualAtRoundOff) {  // a Hilbert matrix: condition number 1.7e13
  const int n = 10;
  std::vector<double> a(n * n), b(n, 1), x(n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) a[i * n + j] = 1.0 / (i + j + 1);
  }
  LinearSolve solve(n);
  solve.factorise(a.data());
  EXPECT_LT(solve.solve(b.data(), x.data()), 1e-15);
  EXPECT_LT(solve.solve_transposed(b.data(), x.data()), 1e-15);
}

TEST(LinearSolve, SingularMatrixIsAnError) {
  const double a[] = {1, 1, 1, 1};
  LinearSolve solve(2);
  expect_error([&] { return solve.factorise(a); }, "the matrix of a linear system is singular (2 unknowns)",
               "every unknown appears in an independent equation");
}

}  // namespace
}  // namespace costate::solve

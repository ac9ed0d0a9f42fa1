#include "costate/solve/sparse_solve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "costate/core/error.h"
#include "tests/expect_error.h"

namespace costate::solve {
namespace {

using costate::test::expect_error;

// Steady heat in a rod, unit spacing, ends held at zero: the solution for unit load is i (n + 1 - i) / 2.
SparsePattern rod(int n, std::vector<double>& values) {
  SparsePattern s{n, {}, {}};
  const auto add = [&](int i, int j, double v) {
    s.row.push_back(i), s.column.push_back(j), values.push_back(v);
  };
  for (int i = 0; i < n; ++i) {
    add(i, i, 1), add(i, i, 1);  // from both sides: entries given twice are summed
    if (i > 0) add(i, i - 1, -1);
    if (i + 1 < n) add(i, i + 1, -1);
  }
  return s;
}

TEST(SparseSolve, SteadyHeatMatchesItsClosedForm) {
  const int n = 500;
  std::vector<double> values, b(n, 1), x(n);
  SparseSolve solve(rod(n, values));
  solve.factorise(values.data());
  EXPECT_LT(solve.solve(b.data(), x.data()), 1e-14);
  for (int i = 0; i < n; ++i) EXPECT_NEAR(x[i], 0.5 * (i + 1) * (n - i), 1e-7);
}

TEST(SparseSolve, TransposeMatchesTangent) {
  const int n = 60;
  std::vector<double> values;
  const SparsePattern pattern = rod(n, values);
  SparseSolve solve(pattern);
  for (int seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> u(-1, 1);
    std::vector<double> a = values, a_dot(a.size()), a_bar(a.size()), b(n), b_dot(n), b_bar(n), x(n),
                        x_dot(n), x_bar(n);
    for (double& e : a) e += 0.1 * u(random) + (e > 0 ? 0.5 : 0);
    for (auto* v : {&a_dot, &b, &b_dot, &x_bar}) {
      for (double& e : *v) e = u(random);
    }
    solve.factorise(a.data());
    solve.solve(b.data(), x.data());
    solve.jvp(x.data(), a_dot.data(), b_dot.data(), x_dot.data());
    solve.vjp(x.data(), x_bar.data(), a_bar.data(), b_bar.data());
    double left = 0, right = 0, size = 0;
    for (int i = 0; i < n; ++i)
      left += x_dot[i] * x_bar[i], right += b_dot[i] * b_bar[i], size += std::abs(x_dot[i]);
    for (std::size_t k = 0; k < a.size(); ++k) right += a_dot[k] * a_bar[k];
    EXPECT_NEAR(left, right, 1e-13 * size);
  }
}

TEST(SparseSolve, SingularMatrixAndBadPatternAreErrors) {
  SparseSolve solve({2, {0, 0, 1, 1}, {0, 1, 0, 1}});
  const double values[] = {1, 2, 2, 4};
  expect_error([&] { return solve.factorise(values); },
               "the matrix of a sparse linear system is singular (2 unknowns)",
               "held by a constraint or a boundary condition");
  expect_error(
      [&] {
        return SparseSolve({2, {0, 2}, {0, 1}});
      },
      "entry 1 of a sparse pattern lies outside a matrix of 2 rows");
  expect_error([&] { return SparseSolve({2, {0, 1}, {0}}); }, "one row and one column per entry");
}

}  // namespace
}  // namespace costate::solve

#include "costate/solve/dense_ldl.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

namespace costate::solve {
namespace {

// B B' + n I with random B: well conditioned.
template <class T>
std::vector<T> positive_definite(std::size_t n, std::mt19937_64& random) {
  std::uniform_real_distribution<double> u(-1, 1);
  std::vector<double> b(n * n);
  for (double& e : b) e = u(random);
  std::vector<T> a(n * n, T(0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = i == j ? double(n) : 0;
      for (std::size_t k = 0; k < n; ++k) sum += b[i * n + k] * b[j * n + k];
      a[i * n + j] = T(sum);
    }
  }
  return a;
}

template <class T>
void expect_solves(double tolerance) {
  std::mt19937_64 random(3);
  for (const std::size_t n : {1, 2, 3, 6, 17}) {
    const std::vector<T> a = positive_definite<T>(n, random);
    std::vector<T> x(n), b(n, T(0)), factors = a;
    for (std::size_t i = 0; i < n; ++i) x[i] = T(std::sin(double(i) + 1));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) b[i] += a[i * n + j] * x[j];
    // What stands above the diagonal is never read.
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) factors[i * n + j] = std::numeric_limits<T>::quiet_NaN();
    ldl_factorise(n, factors.data());
    ldl_solve(n, factors.data(), b.data());
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(double(b[i]), double(x[i]), tolerance) << n << " " << i;
  }
}

TEST(DenseLdl, SolvesInBothPrecisions) {
  expect_solves<double>(1e-14);
  expect_solves<float>(2e-6);
}

TEST(DenseLdl, TheFactorsMultiplyToTheMatrix) {
  double a[9] = {4, 0, 0, 2, 5, 0, -2, 1, 6};
  ldl_factorise(3, a);
  const double l[3][3] = {{1, 0, 0}, {a[3], 1, 0}, {a[6], a[7], 1}}, d[3] = {a[0], a[4], a[8]};
  const double want[3][3] = {{4, 2, -2}, {2, 5, 1}, {-2, 1, 6}};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      double sum = 0;
      for (int k = 0; k < 3; ++k) sum += l[i][k] * d[k] * l[j][k];
      EXPECT_NEAR(sum, want[i][j], 1e-15);
    }
  }
}

// b_bar = A^-1 x_bar and A_bar = -b_bar x' for L = <w, x>, against complex steps of the same code.
TEST(DenseLdl, TransposeMatchesComplexSteps) {
  using C = std::complex<double>;
  constexpr std::size_t n = 4;
  std::mt19937_64 random(5);
  const std::vector<double> a = positive_definite<double>(n, random);
  const double b[n] = {1, -2, 0.5, 3}, w[n] = {0.3, 1, -0.7, 0.2};
  std::vector<double> factors = a, x(b, b + n), b_bar(w, w + n);
  ldl_factorise(n, factors.data());
  ldl_solve(n, factors.data(), x.data());
  ldl_solve(n, factors.data(), b_bar.data());
  const auto slope = [&](std::size_t i, std::size_t j, bool of_matrix) {
    std::vector<C> moved(a.begin(), a.end()), y(b, b + n);
    const C step(0, 1e-30);
    if (of_matrix) {
      moved[i * n + j] += step;
      if (i != j) moved[j * n + i] += step;
    } else {
      y[i] += step;
    }
    ldl_factorise(n, moved.data());
    ldl_solve(n, moved.data(), y.data());
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += w[k] * y[k].imag() / 1e-30;
    return sum;
  };
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(slope(i, 0, false), b_bar[i], 1e-14);
    for (std::size_t j = 0; j <= i; ++j) {
      const double both = i == j ? -b_bar[i] * x[i] : -b_bar[i] * x[j] - b_bar[j] * x[i];
      EXPECT_NEAR(slope(i, j, true), both, 1e-13);
    }
  }
}

}  // namespace
}  // namespace costate::solve

#include "costate/solve/dense_lu.h"

#include <gtest/gtest.h>

#include <random>

namespace costate::solve {
namespace {

template <class S>
S draw(std::mt19937_64& random) {
  std::uniform_real_distribution<double> u(-1, 1);
  if constexpr (std::is_same_v<S, double>) {
    return u(random);
  } else {
    const double re = u(random);
    return {re, u(random)};
  }
}

template <class S>
class DenseLuTest : public testing::Test {};
using Scalars = testing::Types<double, std::complex<double>>;
TYPED_TEST_SUITE(DenseLuTest, Scalars);

TYPED_TEST(DenseLuTest, SolvesAndSolvesTransposed) {
  using S = TypeParam;
  std::mt19937_64 random(1);
  for (int n : {1, 2, 3, 7, 40, 150}) {
    std::vector<S> a(n * n), x(n), b(n), c(n), y(n);
    for (S& e : a) e = draw<S>(random);
    for (S& e : x) e = draw<S>(random);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        b[i] += a[i * n + j] * x[j];
        c[i] += a[j * n + i] * x[j];
      }
    }
    DenseLu<S> lu(n);
    ASSERT_TRUE(lu.factorise(a.data()));
    lu.solve(b.data(), y.data());
    for (int i = 0; i < n; ++i) EXPECT_NEAR(std::abs(y[i] - x[i]), 0, 1e-10) << n;
    lu.solve_transposed(c.data(), c.data());
    for (int i = 0; i < n; ++i) EXPECT_NEAR(std::abs(c[i] - x[i]), 0, 1e-10) << n;
  }
}

TEST(DenseLu, PivotsAZeroOnTheDiagonal) {
  const double a[] = {0, 2, 0, 1e-20, 1, 1, 3, 0, 0}, b[] = {4, 3, 3};
  DenseLu<double> lu(3);
  ASSERT_TRUE(lu.factorise(a));
  double x[3];
  lu.solve(b, x);
  EXPECT_DOUBLE_EQ(x[0], 1);
  EXPECT_DOUBLE_EQ(x[1], 2);
  EXPECT_DOUBLE_EQ(x[2], 1);
}

TEST(DenseLu, SaysThatAMatrixIsSingular) {
  const double a[] = {1, 2, 2, 4};
  DenseLu<double> lu(2);
  EXPECT_FALSE(lu.factorise(a));
}

}  // namespace
}  // namespace costate::solve

// Sparse factors against dense ones and against the matrix itself.
#include "costate/solve/block_cholesky.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "costate/solve/dense_panel.h"
#include "tests/allocation_guard.h"

namespace costate::solve {
namespace {

struct Problem {
  int n;
  std::vector<BlockCholesky::Pair> pairs;
  std::vector<double> places, blocks;
  std::vector<char> keep;
};

double noise(std::uint32_t i) { return 2 * uniform(7, 1, i, 0) - 1; }

// A grid of n x n vertices with both diagonals, random blocks, and a diagonal that dominates.
Problem grid(int n) {
  Problem p{n * n, {}, {}, {}, {}};
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const int k = n * j + i;
      p.places.insert(p.places.end(), {double(i), double(j), 0.0});
      if (i > 0) p.pairs.push_back({k, k - 1});
      if (j > 0) p.pairs.push_back({k - n, k});  // either way round
      if (i > 0 && j > 0) p.pairs.push_back({k, k - n - 1});
      if (i + 1 < n && j > 0) p.pairs.push_back({k, k - n + 1});
    }
  p.keep.assign(std::size_t(p.n), 1);
  p.blocks.assign(9 * (std::size_t(p.n) + p.pairs.size()), 0.0);
  for (std::size_t b = 0; b < p.blocks.size(); ++b) p.blocks[b] = noise(std::uint32_t(b));
  for (int i = 0; i < p.n; ++i)
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c)
        p.blocks[std::size_t(9 * i + 3 * r + c)] =
            r == c ? 14 + noise(std::uint32_t(i)) : 0.25 * double(r + c);
  return p;
}

std::vector<double> times(const Problem& p, const std::vector<double>& x) {
  std::vector<double> y(x.size(), 0.0);
  const auto add = [&](int i, int j, const double* b, bool transposed) {
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c)
        y[std::size_t(3 * i + r)] += (transposed ? b[3 * c + r] : b[3 * r + c]) * x[std::size_t(3 * j + c)];
  };
  for (int i = 0; i < p.n; ++i) add(i, i, p.blocks.data() + 9 * i, false);
  for (std::size_t k = 0; k < p.pairs.size(); ++k) {
    const double* b = p.blocks.data() + 9 * (std::size_t(p.n) + k);
    add(p.pairs[k][0], p.pairs[k][1], b, false);
    add(p.pairs[k][1], p.pairs[k][0], b, true);
  }
  return y;
}

TEST(BlockCholesky, SolvesGridsOfAllSizes) {
  for (const int n : {1, 2, 3, 5, 9, 20}) {
    const Problem p = grid(n);
    BlockCholesky factor;
    factor.analyse(p.n, p.pairs, p.places, p.keep);
    ASSERT_TRUE(factor.factor(p.blocks.data())) << n;
    std::vector<double> x(std::size_t(3 * p.n)), work(2 * x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(i));
    std::vector<double> b = times(p, x);
    factor.solve(b.data(), work.data());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(b[i], x[i], 1e-13) << n << ' ' << i;
  }
}

// Large enough for parallel subtrees: 70 x 70 vertices.
TEST(BlockCholesky, ThreadsDoNotShow) {
  const Problem p = grid(70);
  BlockCholesky factor;
  factor.analyse(p.n, p.pairs, p.places, p.keep);
  std::vector<double> first, x(std::size_t(3 * p.n)), work(2 * x.size());
  for (const int threads : {1, 2, 3, 7}) {
    set_thread_count(threads);
    ASSERT_TRUE(factor.factor(p.blocks.data()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(i));
    factor.solve(x.data(), work.data());
    if (first.empty()) first = x;
    EXPECT_EQ(x, first) << threads;
  }
  set_thread_count(0);
  const std::vector<double> b = times(p, x);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(b[i], std::sin(double(i)), 1e-12) << i;
}

TEST(BlockCholesky, SinglePrecisionSolvesToItsDigits) {
  const Problem p = grid(40);
  BlockCholesky factor;
  factor.analyse(p.n, p.pairs, p.places, p.keep, true);
  ASSERT_TRUE(factor.factor_single(p.blocks.data()));
  std::vector<double> x(std::size_t(3 * p.n)), work(2 * x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(i));
  std::vector<double> b = times(p, x);
  factor.solve_single(b.data(), work.data());
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) error = std::max(error, std::abs(b[i] - x[i]));
  EXPECT_LT(error, 3e-6);
  EXPECT_GT(error, 1e-9);
}

TEST(BlockCholesky, VerticesThatAreNotKeptAreNoUnknowns) {
  Problem p = grid(8);
  for (int i = 0; i < p.n; i += 3) p.keep[std::size_t(i)] = 0;
  BlockCholesky factor;
  factor.analyse(p.n, p.pairs, p.places, p.keep);
  ASSERT_TRUE(factor.factor(p.blocks.data()));
  std::vector<double> x(std::size_t(3 * p.n), 0.0), work(2 * x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (p.keep[i / 3]) x[i] = std::cos(double(i));
  std::vector<double> b = times(p, x);
  for (std::size_t i = 0; i < b.size(); ++i)
    if (!p.keep[i / 3]) b[i] = 42;
  factor.solve(b.data(), work.data());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(b[i], p.keep[i / 3] ? x[i] : 42, 1e-13);
}

TEST(BlockCholesky, IndefiniteMatricesAreToldAndAShiftHelps) {
  Problem p = grid(6);
  p.blocks[9 * 17] = -3;
  BlockCholesky factor;
  factor.analyse(p.n, p.pairs, p.places, p.keep);
  EXPECT_FALSE(factor.factor(p.blocks.data()));
  EXPECT_TRUE(factor.factor(p.blocks.data(), 30));
}

TEST(BlockCholesky, AllocatesNothingAfterTheAnalysis) {
  const Problem p = grid(12);
  BlockCholesky factor;
  factor.analyse(p.n, p.pairs, p.places, p.keep);
  std::vector<double> x(std::size_t(3 * p.n), 1.0), work(2 * x.size());
  const test::AllocationGuard guard;
  factor.factor(p.blocks.data());
  factor.solve(x.data(), work.data());
  EXPECT_EQ(guard.count(), 0);
}

// n log n for a square grid: fill grows slowly where the order is good.
TEST(BlockCholesky, TheOrderKeepsFillLow) {
  const Problem p = grid(60);
  BlockCholesky factor;
  factor.analyse(p.n, p.pairs, p.places, p.keep);
  const double banded = 9.0 * p.n * 61;  // a matrix that is eliminated row by row
  EXPECT_LT(double(factor.factor_size()), 0.65 * banded);
}

template <class Real>
void expect_factor(int n, int columns) {
  const int stride = n + kSpareRows;
  std::vector<Real> A(std::size_t(stride * (n + kSpareColumns)));
  std::vector<double> B(A.size());
  for (int c = 0; c < n; ++c)
    for (int r = c; r < n; ++r)
      A[std::size_t(c * stride + r)] = Real(r == c ? n + 1.0 : noise(std::uint32_t(c * n + r)));
  std::copy(A.begin(), A.end(), B.begin());
  ASSERT_TRUE(factor_columns(A.data(), n, columns, stride));
  for (int k = 0; k < columns; ++k) {
    double* col = B.data() + k * stride;
    col[k] = std::sqrt(col[k]);
    for (int r = k + 1; r < n; ++r) col[r] /= col[k];
    for (int c = k + 1; c < n; ++c)
      for (int r = c; r < n; ++r) B[std::size_t(c * stride + r)] -= col[c] * col[r];
  }
  const double gate = (sizeof(Real) == 8 ? 1e-13 : 1e-5) * n;
  for (int c = 0; c < n; ++c)
    for (int r = c; r < n; ++r)
      EXPECT_NEAR(A[std::size_t(c * stride + r)], B[std::size_t(c * stride + r)], gate)
          << n << ' ' << columns;
}
TEST(DensePanel, FactorsAsTheTextbookDoes) {
  for (const int n : {1, 4, 7, 30, 61, 100})
    for (const int columns : {1, 3, n / 2, n}) {
      if (columns > n || columns < 1) continue;
      expect_factor<double>(n, columns);
      expect_factor<float>(n, columns);
    }
}

}  // namespace
}  // namespace costate::solve

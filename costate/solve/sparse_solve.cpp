#include "costate/solve/sparse_solve.h"

#include <Eigen/SparseLU>

#include "costate/core/error.h"

namespace costate::solve {

struct SparseSolve::Factor {
  Eigen::SparseMatrix<double> matrix;
  std::vector<int> slot;  // entry k of the pattern lies at valuePtr()[slot[k]]
  Eigen::SparseLU<Eigen::SparseMatrix<double>, Eigen::COLAMDOrdering<int>> lu;
  double norm = 0;
  Eigen::VectorXd x, r, trial;
};

SparseSolve::SparseSolve(SparsePattern pattern)
    : pattern_(std::move(pattern)), factor_(std::make_unique<Factor>()), right_(pattern_.rows) {
  if (pattern_.row.size() != pattern_.column.size())
    throw Error("a sparse pattern needs one row and one column per entry");
  const int n = pattern_.rows;
  std::vector<Eigen::Triplet<double>> triplets;
  triplets.reserve(pattern_.entries());
  for (int k = 0; k < pattern_.entries(); ++k) {
    if (pattern_.row[k] < 0 || pattern_.row[k] >= n || pattern_.column[k] < 0 || pattern_.column[k] >= n) {
      throw Error("entry " + std::to_string(k) + " of a sparse pattern lies outside a matrix of " +
                  std::to_string(n) + " rows");
    }
    triplets.emplace_back(pattern_.row[k], pattern_.column[k], 1.0);
  }
  Factor& f = *factor_;
  f.matrix.resize(n, n);
  f.matrix.setFromTriplets(triplets.begin(), triplets.end());
  f.slot.resize(pattern_.entries());
  for (int k = 0; k < pattern_.entries(); ++k) {
    f.slot[k] = int(&f.matrix.coeffRef(pattern_.row[k], pattern_.column[k]) - f.matrix.valuePtr());
  }
  f.lu.analyzePattern(f.matrix);
}

SparseSolve::~SparseSolve() = default;

void SparseSolve::factorise(const double* values) {
  Factor& f = *factor_;
  std::fill(f.matrix.valuePtr(), f.matrix.valuePtr() + f.matrix.nonZeros(), 0.0);
  for (int k = 0; k < pattern_.entries(); ++k) f.matrix.valuePtr()[f.slot[k]] += values[k];
  f.norm = f.matrix.cwiseAbs().sum() / std::max(1, pattern_.rows);
  f.lu.factorize(f.matrix);
  if (f.lu.info() != Eigen::Success) {
    throw Error(
        {"the matrix of a sparse linear system is singular (" + std::to_string(pattern_.rows) + " unknowns)",
         "", "check that every unknown is held by a constraint or a boundary condition"},
        Error::Kind::numerics);
  }
}

template <bool transposed>
double SparseSolve::solve_refined(const double* b_data, double* x_data) {
  Factor& f = *factor_;
  const Eigen::Map<const Eigen::VectorXd> b(b_data, pattern_.rows);
  const auto apply = [&](const Eigen::VectorXd& right) -> Eigen::VectorXd {
    if constexpr (transposed) {
      return f.lu.transpose().solve(right);
    } else {
      return f.lu.solve(right);
    }
  };
  const auto residual = [&](const Eigen::VectorXd& x) {
    if constexpr (transposed) {
      f.r = b - f.matrix.transpose() * x;
    } else {
      f.r = b - f.matrix * x;
    }
    const double scale = f.norm * x.lpNorm<Eigen::Infinity>() + b.lpNorm<Eigen::Infinity>();
    return scale > 0 ? f.r.lpNorm<Eigen::Infinity>() / scale : 0.0;
  };
  f.x = apply(b);
  double left = residual(f.x);
  for (int k = 0; k < 3 && left > 2e-16; ++k) {
    f.trial = f.x + apply(f.r);
    const double refined = residual(f.trial);
    if (!(refined < left)) break;
    f.x = f.trial;
    left = refined;
  }
  Eigen::Map<Eigen::VectorXd>(x_data, pattern_.rows) = f.x;
  return left;
}

double SparseSolve::solve(const double* b, double* x) { return solve_refined<false>(b, x); }
double SparseSolve::solve_transposed(const double* b, double* x) { return solve_refined<true>(b, x); }

double SparseSolve::jvp(const double* x, const double* values_dot, const double* b_dot, double* x_dot) {
  for (int i = 0; i < pattern_.rows; ++i) right_[i] = b_dot ? b_dot[i] : 0;
  if (values_dot) {
    for (int k = 0; k < pattern_.entries(); ++k)
      right_[pattern_.row[k]] -= values_dot[k] * x[pattern_.column[k]];
  }
  return solve_refined<false>(right_.data(), x_dot);
}

double SparseSolve::vjp(const double* x, const double* x_bar, double* values_bar, double* b_bar) {
  const double left = solve_refined<true>(x_bar, right_.data());
  if (values_bar) {
    for (int k = 0; k < pattern_.entries(); ++k)
      values_bar[k] -= right_[pattern_.row[k]] * x[pattern_.column[k]];
  }
  for (int i = 0; i < pattern_.rows; ++i) b_bar[i] += right_[i];
  return left;
}

}  // namespace costate::solve

#include "costate/solve/linear_solve.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"

namespace costate::solve {
namespace {

double max_norm(const double* v, int n) {
  double m = 0;
  for (int i = 0; i < n; ++i) m = std::max(m, std::abs(v[i]));
  return m;
}

constexpr int kMaxRefinements = 3;
constexpr double kGoodResidual = 2e-16;

}  // namespace

LinearSolve::LinearSolve(int n) : n_(n), a_(std::size_t(n) * n), lu_(n), r_(n), trial_(n), right_(n) {}

bool LinearSolve::try_factorise(const double* a) {
  std::copy(a, a + a_.size(), a_.data());
  norm_a_ = norm_a_transposed_ = 0;
  std::fill(r_.begin(), r_.end(), 0.0);
  for (int i = 0; i < n_; ++i) {
    double row = 0;
    for (int j = 0; j < n_; ++j) {
      row += std::abs(a_[i * n_ + j]);
      r_[j] += std::abs(a_[i * n_ + j]);
    }
    norm_a_ = std::max(norm_a_, row);
  }
  norm_a_transposed_ = max_norm(r_.data(), n_);
  return lu_.factorise(a);
}

void LinearSolve::factorise(const double* a) {
  if (!try_factorise(a)) {
    throw Error({"the matrix of a linear system is singular (" + std::to_string(n_) + " unknowns)", "",
                 "check that every unknown appears in an independent equation"},
                Error::Kind::numerics);
  }
}

// r = b - A x into r_, and its size relative to |A| |x| + |b|.
template <bool transposed>
double LinearSolve::residual(const double* b, const double* x) const {
  std::copy(b, b + n_, r_.begin());
  for (int i = 0; i < n_; ++i) {
    const double* row = a_.data() + std::size_t(i) * n_;
    if constexpr (transposed) {
      for (int j = 0; j < n_; ++j) r_[j] -= row[j] * x[i];
    } else {
      double sum = 0;
      for (int j = 0; j < n_; ++j) sum += row[j] * x[j];
      r_[i] -= sum;
    }
  }
  const double scale = (transposed ? norm_a_transposed_ : norm_a_) * max_norm(x, n_) + max_norm(b, n_);
  return scale > 0 ? max_norm(r_.data(), n_) / scale : 0;
}

template <bool transposed>
double LinearSolve::solve_refined(const double* b, double* x) const {
  const auto apply = [&](const double* from, double* to) {
    if constexpr (transposed) {
      lu_.solve_transposed(from, to);
    } else {
      lu_.solve(from, to);
    }
  };
  apply(b, x);
  double left = residual<transposed>(b, x);
  for (int k = 0; k < kMaxRefinements && left > kGoodResidual; ++k) {
    apply(r_.data(), trial_.data());
    for (int i = 0; i < n_; ++i) trial_[i] += x[i];
    const double refined = residual<transposed>(b, trial_.data());
    if (!(refined < left)) break;
    std::copy(trial_.begin(), trial_.end(), x);
    left = refined;
  }
  return left;
}

double LinearSolve::solve(const double* b, double* x) const { return solve_refined<false>(b, x); }
double LinearSolve::solve_transposed(const double* b, double* x) const { return solve_refined<true>(b, x); }

double LinearSolve::jvp(const double* x, const double* a_dot, const double* b_dot, double* x_dot) const {
  for (int i = 0; i < n_; ++i) {
    double sum = b_dot ? b_dot[i] : 0;
    if (a_dot) {
      for (int j = 0; j < n_; ++j) sum -= a_dot[i * n_ + j] * x[j];
    }
    right_[i] = sum;
  }
  return solve_refined<false>(right_.data(), x_dot);
}

double LinearSolve::vjp(const double* x, const double* x_bar, double* a_bar, double* b_bar) const {
  const double left = solve_refined<true>(x_bar, right_.data());
  for (int i = 0; i < n_; ++i) {
    const double w = right_[i];
    if (a_bar) {
      for (int j = 0; j < n_; ++j) a_bar[i * n_ + j] -= w * x[j];
    }
    b_bar[i] += w;
  }
  return left;
}

}  // namespace costate::solve

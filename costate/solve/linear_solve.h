// LinearSolve: A x = b as a differentiable map (A, b) -> x, dense, row-major.
//
//   jvp:  A x_dot = b_dot - A_dot x
//   vjp:  b_bar += w,  A_bar -= w x'      with A' w = x_bar
//
// Each solve is refined (residual r = b - A x, then x += A^-1 r) while the residual falls, and the relative
// residual that is left is kept: a large one says that A is close to singular and the result carries few
// digits.
//
// [1] Giles: Collected matrix derivative results for forward and reverse mode AD (2008), section 2.3.1.
// [2] Higham: Accuracy and Stability of Numerical Algorithms, 2nd ed., chapter 12 (fixed-precision
// refinement). Tests: tests/solve/linear_solve_test.cpp.
#pragma once

#include <vector>

#include "costate/solve/dense_lu.h"

namespace costate::solve {

class LinearSolve {
 public:
  explicit LinearSolve(int n);

  int size() const { return n_; }
  // Throws Error if A is singular. Keeps a copy of A for the refinement.
  void factorise(const double* a);
  bool try_factorise(const double* a);

  // Each returns |A x - b| / (|A| |x| + |b|) in the maximum norm. b and x must not overlap.
  double solve(const double* b, double* x) const;
  double solve_transposed(const double* b, double* x) const;

  // With x the solution. Null a_dot or b_dot: zero.
  double jvp(const double* x, const double* a_dot, const double* b_dot, double* x_dot) const;
  // Adds. Null a_bar: not wanted.
  double vjp(const double* x, const double* x_bar, double* a_bar, double* b_bar) const;

 private:
  template <bool transposed>
  double residual(const double* b, const double* x) const;
  template <bool transposed>
  double solve_refined(const double* b, double* x) const;

  int n_;
  std::vector<double> a_;
  DenseLu<double> lu_;
  double norm_a_ = 0, norm_a_transposed_ = 0;
  mutable std::vector<double> r_, trial_, right_;
};

}  // namespace costate::solve

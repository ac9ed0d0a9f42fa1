// SparseSolve: A x = b for a sparse A of fixed pattern, as a differentiable map (values of A, b) -> x. Host
// side, by Eigen's sparse LU (supernodal, column ordering COLAMD): for finite elements and grids too large
// for dense_lu.h.
//
//   jvp:  A x_dot = b_dot - A_dot x
//   vjp:  A' w = x_bar,  b_bar += w,  values_bar[k] -= w[row k] x[column k]
//         (only on the pattern: A_bar is never dense)
//
// Solves are refined as in linear_solve.h and return the relative residual.
// Tests: tests/solve/sparse_solve_test.cpp.
#pragma once

#include <memory>
#include <vector>

namespace costate::solve {

struct SparsePattern {  // coordinate form; an entry given twice is summed
  int rows = 0;
  std::vector<int> row, column;
  int entries() const { return int(row.size()); }
};

class SparseSolve {
 public:
  // Orders the columns and allocates: once per pattern.
  explicit SparseSolve(SparsePattern pattern);
  ~SparseSolve();

  // Throws Error if A is singular.
  void factorise(const double* values);

  double solve(const double* b, double* x);
  double solve_transposed(const double* b, double* x);
  double jvp(const double* x, const double* values_dot, const double* b_dot, double* x_dot);
  double vjp(const double* x, const double* x_bar, double* values_bar, double* b_bar);

 private:
  struct Factor;
  template <bool transposed>
  double solve_refined(const double* b, double* x);

  SparsePattern pattern_;
  std::unique_ptr<Factor> factor_;
  std::vector<double> right_;
};

}  // namespace costate::solve

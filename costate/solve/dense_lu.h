// Dense LU with partial pivoting, row-major, for matrices of up to a few hundred rows.
//
//   P A = L U          solve: x = A^-1 b          solve_transposed: x = A^-T b   (transposed, not conjugated)
//
// Allocates when constructed or made larger than ever before, never when it factorises or solves. For stage
// systems of implicit integrators (real and complex) and the small dense systems of Newton's method.
//
// [1] Golub, Van Loan: Matrix Computations, 4th ed., algorithm 3.4.1.
// Tests: tests/solve/dense_lu_test.cpp.
#pragma once

#include <complex>
#include <vector>

namespace costate::solve {

template <class S>  // double or std::complex<double>
class DenseLu {
 public:
  DenseLu() = default;
  explicit DenseLu(int n) { resize(n); }

  int size() const { return n_; }
  // For a matrix of another size. Nothing is kept.
  void resize(int n) {
    n_ = n;
    lu_.resize(std::size_t(n) * std::size_t(n));
    inverse_diagonal_.resize(n);
    work_.resize(n);
    row_.resize(n);
  }
  // The matrix to factorise: fill it, then call factorise(), which overwrites it.
  S* matrix() { return lu_.data(); }
  // False: a pivot is zero or not finite, the matrix is singular to working precision.
  bool factorise();
  bool factorise(const S* a);

  // b and x may be the same array.
  void solve(const S* b, S* x) const;
  void solve_transposed(const S* b, S* x) const;

 private:
  int n_ = 0;
  std::vector<S> lu_, inverse_diagonal_;
  mutable std::vector<S> work_;  // permuted right-hand side: one factor is used by one thread
  std::vector<int> row_;         // row_[i]: the row of A that became row i
};

extern template class DenseLu<double>;
extern template class DenseLu<std::complex<double>>;

}  // namespace costate::solve

// Dense Cholesky factors without square roots of a small symmetric positive definite matrix, row-major, on
// any scalar.
//
//   A = L D L'      L unit lower triangular, D diagonal
//   x = A^-1 b      L z = b,  D y = z,  L' x = y
//
// A is symmetric, so the transpose of the solve is the solve itself: b_bar = A^-1 x_bar, and A_bar = -b_bar
// x'. No pivoting, which positive definite matrices do not need; no test for other matrices, whose result is
// not a number or useless. For the mass matrices of bodies among particles (mpm/bodies), in every lane.
//
// [1] Golub, Van Loan: Matrix Computations, 4th ed., section 4.1.
// Tests: tests/solve/dense_ldl_test.cpp.
#pragma once

#include <cstddef>

namespace costate::solve {

// Of A the lower half is read, and becomes L below the diagonal and D on it.
template <class T>
void ldl_factorise(std::size_t n, T* A) {
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) A[j * n + j] -= A[j * n + k] * A[j * n + k] * A[k * n + k];
    const T inverse = T(1) / A[j * n + j];
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) A[i * n + j] -= A[i * n + k] * A[j * n + k] * A[k * n + k];
      A[i * n + j] = A[i * n + j] * inverse;
    }
  }
}

// x <- A^-1 x, with the factors of A.
template <class T>
void ldl_solve(std::size_t n, const T* A, T* x) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < i; ++k) x[i] -= A[i * n + k] * x[k];
  for (std::size_t i = 0; i < n; ++i) x[i] = x[i] / A[i * n + i];
  for (std::size_t i = n; i-- > 0;)
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= A[k * n + i] * x[k];
}

}  // namespace costate::solve

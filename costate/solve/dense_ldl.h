// A = L D L' of a small symmetric positive definite matrix, on any scalar. Tests: tests/mpm/body_test.cpp.
#pragma once

#include <cstddef>

namespace costate::mpm {

// A row by row; its lower half is read, and becomes L below the diagonal and D on it.
template <class T>
void factor_dense(std::size_t n, T* A) {
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) A[j * n + j] -= A[j * n + k] * A[j * n + k] * A[k * n + k];
    const T inverse = T(1) / A[j * n + j];
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) A[i * n + j] -= A[i * n + k] * A[j * n + k] * A[k * n + k];
      A[i * n + j] = A[i * n + j] * inverse;
    }
  }
}
// x <- A^-1 x
template <class T>
void solve_dense(std::size_t n, const T* A, T* x) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < i; ++k) x[i] -= A[i * n + k] * x[k];
  for (std::size_t i = 0; i < n; ++i) x[i] = x[i] / A[i * n + i];
  for (std::size_t i = n; i-- > 0;)
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= A[k * n + i] * x[k];
}

}  // namespace costate::mpm

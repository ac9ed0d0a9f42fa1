#include "costate/solve/dense_lu.h"

#include <algorithm>
#include <cmath>

namespace costate::solve {
namespace {

using Complex = std::complex<double>;

// The plain products: std::complex's operator tests every product for NaN.
double times(double a, double b) { return a * b; }
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
double inverse(double a) { return 1 / a; }
Complex inverse(Complex a) {
  const double scale = 1 / std::max(std::abs(a.real()), std::abs(a.imag()));
  const double re = a.real() * scale, im = a.imag() * scale;
  const double f = scale / (re * re + im * im);
  return {re * f, -im * f};
}
double size_of(double a) { return std::abs(a); }
double size_of(Complex a) { return std::abs(a.real()) + std::abs(a.imag()); }

}  // namespace

template <class S>
bool DenseLu<S>::factorise(const S* a) {
  std::copy(a, a + lu_.size(), lu_.data());
  return factorise();
}

template <class S>
bool DenseLu<S>::factorise() {
  const int n = n_;
  S* lu = lu_.data();
  for (int i = 0; i < n; ++i) row_[i] = i;
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    double largest = size_of(lu[k * n + k]);
    for (int i = k + 1; i < n; ++i) {
      const double candidate = size_of(lu[i * n + k]);
      if (candidate > largest) largest = candidate, pivot = i;
    }
    if (!(largest > 0) || !std::isfinite(largest)) return false;
    if (pivot != k) {
      std::swap_ranges(lu + k * n, lu + (k + 1) * n, lu + pivot * n);
      std::swap(row_[k], row_[pivot]);
    }
    const S inverse_pivot = inverse(lu[k * n + k]);
    inverse_diagonal_[k] = inverse_pivot;
    const S* top = lu + k * n;
    for (int i = k + 1; i < n; ++i) {
      S* row = lu + i * n;
      if (size_of(row[k]) == 0) continue;
      const S factor = times(row[k], inverse_pivot);
      row[k] = factor;
      for (int j = k + 1; j < n; ++j) row[j] -= times(factor, top[j]);
    }
  }
  return true;
}

template <class S>
void DenseLu<S>::solve(const S* b, S* x) const {
  const int n = n_;
  const S* lu = lu_.data();
  S* y = work_.data();
  for (int i = 0; i < n; ++i) {
    S sum = b[row_[i]];
    for (int j = 0; j < i; ++j) sum -= times(lu[i * n + j], y[j]);
    y[i] = sum;
  }
  for (int i = n - 1; i >= 0; --i) {
    S sum = y[i];
    for (int j = i + 1; j < n; ++j) sum -= times(lu[i * n + j], y[j]);
    y[i] = times(sum, inverse_diagonal_[i]);
  }
  std::copy(y, y + n, x);
}

// A' = U' L' P: column-oriented substitution, so that rows of the factors are still read along memory.
template <class S>
void DenseLu<S>::solve_transposed(const S* b, S* x) const {
  const int n = n_;
  const S* lu = lu_.data();
  S* y = work_.data();
  std::copy(b, b + n, y);
  for (int i = 0; i < n; ++i) {
    y[i] = times(y[i], inverse_diagonal_[i]);
    for (int j = i + 1; j < n; ++j) y[j] -= times(lu[i * n + j], y[i]);
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int j = 0; j < i; ++j) y[j] -= times(lu[i * n + j], y[i]);
  }
  for (int i = 0; i < n; ++i) x[row_[i]] = y[i];
}

template class DenseLu<double>;
template class DenseLu<std::complex<double>>;

}  // namespace costate::solve

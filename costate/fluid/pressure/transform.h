// The transform that diagonalises the second difference of a row of n cells, for every pair of its ends.
//
//   -(p_(i+1) - 2 p_i + p_(i-1)) = lambda p_i    p beyond an end: even (p_(-1) = p_0, a wall),
//                                                odd (p_(-1) = -p_0, a fixed pressure), or p wraps
//
//   ends            modes                             lambda                            by
//   periodic        cos, sin(2 pi k i / n)            4 sin^2(pi k / n)                 real FFT
//   even, even      cos(pi k (2 i + 1) / (2 n))       4 sin^2(pi k / (2 n))             DCT-II [1]
//   odd, odd        sin(pi (k+1) (2 i + 1) / (2 n))   4 sin^2(pi (k + 1) / (2 n))       DCT-II of (-1)^i p_i
//   even, odd       cos(pi (2 k + 1)(2 i + 1)/(4 n))  4 sin^2(pi (2 k + 1) / (4 n))     DCT-IV
//   odd, even       the same, from the other end
//   wall, wall      sin(pi (k + 1)(i + 1) / (n + 1))  4 sin^2(pi (k + 1) / (2 n + 2))   matrix
//   wall, even      sin(pi (2 k + 1)(i+1)/(2 n + 1))  4 sin^2(pi (2 k + 1) / (4 n + 2)) matrix
//   even, wall      the same, from the other end
//
// A wall is zero a whole cell away, where the others are half a cell away: speeds on faces across walls. The
// first five are one complex FFT of n / 2 packs (fft.h). A row with an odd number of cells, with a large
// prime factor, or with a wall is multiplied by the matrix of its modes instead. So are cells of different
// widths (stretched_modes.h). inverse(forward(x)) = gain() x.
//
// [1] Makhoul, A Fast Cosine Transform in One and Two Dimensions, IEEE Trans. ASSP 28 (1980).
// Tests: tests/fluid/pressure_test.cpp.
#pragma once

#include <vector>

#include "costate/fluid/pressure/fft.h"
#include "costate/fluid/pressure/stretched_modes.h"

namespace costate::fluid {

template <class Real>
class Transform {
 public:
  using P = NativePack<Real>;

  Transform() = default;
  Transform(Ends ends, std::int64_t n);
  explicit Transform(const StretchedModes& modes);

  std::int64_t size() const { return n_; }
  double gain() const { return gain_; }
  bool dense() const { return !matrix_.empty(); }
  const std::vector<double>& lambda() const { return lambda_; }  // of each of the n results

  // From x, with y as scratch, both of n packs; returns the one that holds the result.
  P* forward(P* x, P* y) const;
  P* inverse(P* x, P* y) const;

 private:
  bool walled() const {
    return ends_ == Ends::wall_wall || ends_ == Ends::wall_even || ends_ == Ends::even_wall;
  }
  void fill_modes();
  double mode(std::int64_t k, std::int64_t i) const;
  P* multiply(bool transposed, P* x, P* y) const;
  P* real_forward(P* x, P* y) const;
  P* real_inverse(P* x, P* y) const;
  P* cosine_forward(P* x, P* y, bool odd) const;
  P* cosine_inverse(P* x, P* y, bool odd) const;
  P* fourth(P* x, P* y, bool reversed) const;
  void reverse(P* x) const;

  Ends ends_ = Ends::periodic;
  std::int64_t n_ = 0;
  double gain_ = 1;
  std::vector<double> lambda_;
  Fft<Real> fft_;
  std::vector<Real> half_;     // e^(-2 pi i k / n)
  std::vector<Real> quarter_;  // DCT-II: e^(-pi i k / (2 n)); DCT-IV: those before and after the FFT
  std::vector<Real> matrix_;   // row k: mode k
  std::vector<Real> root_;     // of the width of each cell, where they differ; and one over it
  std::vector<Real> per_root_;
};

extern template class Transform<float>;
extern template class Transform<double>;

}  // namespace costate::fluid

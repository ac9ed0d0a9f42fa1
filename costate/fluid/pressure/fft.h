// The discrete Fourier transform of packs: every lane is a row of its own, so no number ever changes lanes.
//
//   Z_k = sum_n z_n e^(-2 pi i k n / m)          m complex numbers, any m with small factors
//
// Stockham's autosort form [1]: a pass of radix r maps blocks of length n, a stride s apart, to blocks of
// length n / r, a stride r s apart, between two buffers, and needs no bit reversal. Number e lies as
// (x[2 e + kRe], x[2 e + 1 - kRe]): with kRe = 1 real and imaginary parts trade places, which turns the
// transform into its inverse times m.
//
// [1] Van Loan, Computational Frameworks for the Fast Fourier Transform (1992), section 1.7.
// Tests: tests/fluid/pressure_test.cpp (against the sums).
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "costate/core/pack.h"

namespace costate::fluid {

template <class Real>
class Fft {
 public:
  using P = NativePack<Real>;
  static constexpr std::int64_t kLargestFactor = 13;

  // Factors, fours first; the last one may be too large.
  static std::vector<std::int64_t> factors(std::int64_t m) {
    std::vector<std::int64_t> found;
    for (; m % 4 == 0; m /= 4) found.push_back(4);
    for (std::int64_t f = 2; f <= kLargestFactor; ++f)
      for (; m % f == 0; m /= f) found.push_back(f);
    if (m > 1) found.push_back(m);
    return found;
  }

  Fft() = default;
  explicit Fft(std::int64_t m) : m_(m) {
    std::int64_t n = m;
    for (const std::int64_t r : factors(m)) {
      Pass pass{r, n, twiddles_.size(), roots_.size()};
      for (std::int64_t p = 0; p < n / r; ++p)
        for (std::int64_t k = 1; k < r; ++k) push(twiddles_, p * k, n);
      for (std::int64_t j = 0; j < r; ++j) push(roots_, j, r);
      passes_.push_back(pass);
      n /= r;
    }
  }
  std::int64_t size() const { return m_; }

  // From x, with y as scratch, both of 2 m packs; returns the one that holds the result.
  template <int kRe>
  P* run(P* x, P* y) const {
    std::int64_t s = 1;
    for (const Pass& pass : passes_) {
      if (pass.r == 4)
        four<kRe>(pass, s, x, y);
      else if (pass.r == 2)
        two<kRe>(pass, s, x, y);
      else
        odd<kRe>(pass, s, x, y);
      s *= pass.r;
      std::swap(x, y);
    }
    return x;
  }

 private:
  struct Pass {
    std::int64_t r, n;
    std::size_t twiddles, roots;
  };
  struct Complex {
    P re, im;
    friend COSTATE_INLINE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
    friend COSTATE_INLINE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
    COSTATE_INLINE Complex times(const Real* w) const {
      return {re * P(w[0]) - im * P(w[1]), re * P(w[1]) + im * P(w[0])};
    }
  };
  template <int kRe>
  static COSTATE_INLINE Complex get(const P* x, std::int64_t e) {
    return {x[2 * e + kRe], x[2 * e + 1 - kRe]};
  }
  template <int kRe>
  static COSTATE_INLINE void put(P* y, std::int64_t e, const Complex& z) {
    y[2 * e + kRe] = z.re;
    y[2 * e + 1 - kRe] = z.im;
  }
  static void push(std::vector<Real>& to, std::int64_t j, std::int64_t n) {
    const double angle = -2 * std::numbers::pi * double(j % n) / double(n);
    to.push_back(Real(std::cos(angle)));
    to.push_back(Real(std::sin(angle)));
  }

  template <int kRe>
  void two(const Pass& pass, std::int64_t s, const P* x, P* y) const {
    const std::int64_t m = pass.n / 2;
    const Real* w = twiddles_.data() + pass.twiddles;
    for (std::int64_t p = 0; p < m; ++p, w += 2) {
      for (std::int64_t q = 0; q < s; ++q) {
        const Complex a = get<kRe>(x, q + s * p), b = get<kRe>(x, q + s * (p + m));
        put<kRe>(y, q + s * (2 * p), a + b);
        put<kRe>(y, q + s * (2 * p + 1), (a - b).times(w));
      }
    }
  }

  template <int kRe>
  void four(const Pass& pass, std::int64_t s, const P* x, P* y) const {
    const std::int64_t m = pass.n / 4;
    const Real* w = twiddles_.data() + pass.twiddles;
    for (std::int64_t p = 0; p < m; ++p, w += 6) {
      for (std::int64_t q = 0; q < s; ++q) {
        const Complex a = get<kRe>(x, q + s * p), b = get<kRe>(x, q + s * (p + m)),
                      c = get<kRe>(x, q + s * (p + 2 * m)), d = get<kRe>(x, q + s * (p + 3 * m));
        const Complex ac = a + c, a_c = a - c, bd = b + d, b_d = b - d;
        const Complex turned{-b_d.im, b_d.re};  // i (b - d)
        put<kRe>(y, q + s * (4 * p), ac + bd);
        put<kRe>(y, q + s * (4 * p + 1), (a_c - turned).times(w));
        put<kRe>(y, q + s * (4 * p + 2), (ac - bd).times(w + 2));
        put<kRe>(y, q + s * (4 * p + 3), (a_c + turned).times(w + 4));
      }
    }
  }

  template <int kRe>
  void odd(const Pass& pass, std::int64_t s, const P* x, P* y) const {
    const std::int64_t r = pass.r, m = pass.n / r;
    const Real *w = twiddles_.data() + pass.twiddles, *root = roots_.data() + pass.roots;
    for (std::int64_t p = 0; p < m; ++p, w += 2 * (r - 1)) {
      for (std::int64_t q = 0; q < s; ++q) {
        for (std::int64_t k = 0; k < r; ++k) {
          Complex sum = get<kRe>(x, q + s * p);
          for (std::int64_t l = 1; l < r; ++l)
            sum = sum + get<kRe>(x, q + s * (p + m * l)).times(root + 2 * (k * l % r));
          put<kRe>(y, q + s * (r * p + k), k == 0 ? sum : sum.times(w + 2 * (k - 1)));
        }
      }
    }
  }

  std::int64_t m_ = 0;
  std::vector<Pass> passes_;
  std::vector<Real> twiddles_, roots_;
};

}  // namespace costate::fluid

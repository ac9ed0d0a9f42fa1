// The least 1/2 F' A F + b' F over the ellipse |(F_i / mu_i)_i| <= r, for up to five rows, and its transpose.
//
// In x = F / mu the ellipse is a ball: B = mu A mu, d = mu b,
//
//   inside   B x = -d
//   border   (B + l) x = -d,  |x| = r,  l > 0      Newton's method on 1/|x(l)| - 1/r, which is nearly linear
//                                                  in l (Hebden; More, Sorensen 1983)
//
// Transpose, with z from (B + l) z = x_bar - x s, <x, z> = 0 (inside: s = 0, l = 0):
//   d_bar = -z,   B_bar = -z x',   r_bar = s r
//
// Where B is singular (a contact that one hinge moves), MuJoCo takes no friction at all: so do we. It asks
// whether the determinant is above 1e-10, which rounding alone makes true where bodies are light, and always
// in single precision; what it computes then is the rounding. So a pivot that is rounding beside its own
// diagonal counts as zero, too. A row with r = 0 has no friction either. With S a Dual the last step of
// Newton's method gives the tangent.
// Tests: tests/rigid/contact/noslip_test.cpp.
#pragma once

#include "costate/core/functions.h"
#include "costate/core/pack.h"

namespace costate::rigid {

inline constexpr int kMostFriction = 5;

// x <- (B + l)^-1 x, by Cholesky's factor. Returns where B + l is regular.
template <class S>
struct ConeFactor {
  S L[kMostFriction][kMostFriction];
  mask_t<S> regular;

  ConeFactor(int n, const S (*B)[kMostFriction], const S& l) {
    using T = value_t<S>;
    const S least = S(T(1e-10)), rounding = S(T(sizeof(T) == 8 ? 1e-9 : 1e-5));
    S determinant(1);
    regular = mask_t<S>(true);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= i; ++j) {
        S sum = B[i][j];
        if (i == j) sum += l;
        for (int k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
        if (i > j) {
          L[i][j] = sum * L[j][j];
          continue;
        }
        determinant *= sum;
        const mask_t<S> good = (sum > (n > 3 ? least : S(0))) & (sum > rounding * (B[i][i] + l));
        regular = regular & good;
        L[i][i] = S(1) / sqrt(select(good, sum, S(1)));  // its inverse
      }
    }
    if (n <= 3) regular = regular & (determinant > least);
  }
  void solve(int n, S* x) const {
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < i; ++k) x[i] -= L[i][k] * x[k];
      x[i] *= L[i][i];
    }
    for (int i = n - 1; i >= 0; --i) {
      for (int k = i + 1; k < n; ++k) x[i] -= L[k][i] * x[k];
      x[i] *= L[i][i];
    }
  }
};

template <class S>
struct ConeMinimum {
  S x[kMostFriction];
  S l;                        // the border's multiplier
  mask_t<S> none, on_border;  // no friction; |x| = r
};

template <class S>
S dot_rows(int n, const S* a, const S* b) {
  S sum(0);
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// B, d in the ball's coordinates.
template <class S>
ConeMinimum<S> cone_minimum(int n, const S (*B)[kMostFriction], const S* d, const S& r) {
  using T = value_t<S>;
  ConeMinimum<S> out;
  const auto at = [&](const S& l, S* x) {
    const ConeFactor<S> factor(n, B, l);
    for (int i = 0; i < n; ++i) x[i] = -d[i];
    factor.solve(n, x);
    return factor;
  };
  const S zero(0);
  out.l = zero;
  const mask_t<S> regular = at(zero, out.x).regular, some = r > S(T(1e-15));
  const S radius = select(some, r, S(1));
  out.none = !(regular & some);
  out.on_border = regular & some & (dot_rows(n, out.x, out.x) > radius * radius);
  if (any(out.on_border)) {
    mask_t<S> running = out.on_border;
    for (int i = 0; i < 60; ++i) {
      S x[kMostFriction], z[kMostFriction];
      const ConeFactor<S> factor = at(out.l, x);
      for (int k = 0; k < n; ++k) z[k] = x[k];
      factor.solve(n, z);
      // d(1/|x|)/dl = <x, z> / |x|^3
      const S square = select(running, dot_rows(n, x, x), S(1)), length = sqrt(square);
      const S slope = select(running, dot_rows(n, x, z), S(1));
      const S step = (length - radius) * square / (radius * slope);
      out.l = select(running, out.l + step, out.l);
      running = running & (abs(step) > S(T(sizeof(T) == 8 ? 1e-11 : 1e-4)) * out.l);
      if (!any(running)) break;
    }
    at(out.l, out.x);
  }
  for (int i = 0; i < n; ++i) out.x[i] = select(out.none, zero, out.x[i]);
  return out;
}

// From x_bar to z and r_bar = s r; z replaces x_bar.
template <class S>
S cone_minimum_vjp(int n, const S (*B)[kMostFriction], const ConeMinimum<S>& at, const S& r, S* x_bar) {
  const ConeFactor<S> factor(n, B, at.l);
  S z[kMostFriction], y[kMostFriction];
  for (int i = 0; i < n; ++i) z[i] = x_bar[i], y[i] = at.x[i];
  factor.solve(n, z);
  factor.solve(n, y);
  const S slope = dot_rows(n, at.x, y);
  const S s = select(at.on_border, dot_rows(n, at.x, z) / select(at.on_border, slope, S(1)), S(0));
  for (int i = 0; i < n; ++i) x_bar[i] = select(at.none, S(0), z[i] - s * y[i]);
  return s * r;
}

}  // namespace costate::rigid

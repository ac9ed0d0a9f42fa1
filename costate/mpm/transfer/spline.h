// B-spline weights of one axis. X is a position in cells, base the first node of its stencil, f = X - base,
// t = f - 1:
//
//   quadratic, base = floor(X - 1/2), 3 nodes    w = ((3/2 - f)^2/2,  3/4 - t^2,  (f - 1/2)^2/2)
//   cubic,     base = floor(X) - 1,   4 nodes    w = ((1 - t)^3,  3 t^3 - 6 t^2 + 4,
//                                                     -3 t^3 + 3 t^2 + 3 t + 1,  t^3) / 6
//
// A quadratic stencil has a fourth node of weight zero, so that both fill a NodeRow. sum w = 1 and sum w
// d = 0 with d_k = k - f; sum w d d = 1/4 or 1/3, whose inverse is the D^-1 of MLS-MPM in cells. Slopes are
// derivatives with respect to X. Steffen, Kirby, Berzins: Analysis and reduction of quadrature errors in the
// material point method, 2008. Tests: tests/mpm/transfer_test.cpp.
#pragma once

#include "costate/core/functions.h"
#include "costate/mpm/model.h"

namespace costate::mpm {

template <int kTaps>
inline constexpr double kFirstNodeShift = kTaps == 3 ? 0.5 : 1.0;  // base = floor(X - this)
template <int kTaps>
inline constexpr double kInverseMoment = kTaps == 3 ? 4.0 : 3.0;

template <int kTaps, class S>
COSTATE_HD COSTATE_INLINE void spline_weights(const S& f, S (&w)[4]) {
  using T = value_t<S>;
  const S half(T(0.5)), one(1), t = f - one;
  if constexpr (kTaps == 3) {
    const S a = S(T(1.5)) - f, b = f - half;
    w[0] = half * a * a;
    w[1] = S(T(0.75)) - t * t;
    w[2] = half * b * b;
    w[3] = S(0);
  } else {
    const S sixth(T(1.0 / 6)), u = one - t, three(T(3));
    w[0] = sixth * u * u * u;
    w[1] = sixth * (three * t * t * t - S(T(6)) * t * t + S(T(4)));
    w[2] = sixth * (three * (t + t * t - t * t * t) + one);
    w[3] = sixth * t * t * t;
  }
}
template <int kTaps, class S>
COSTATE_HD COSTATE_INLINE void spline_slopes(const S& f, S (&slope)[4]) {
  using T = value_t<S>;
  const S half(T(0.5)), one(1), t = f - one;
  if constexpr (kTaps == 3) {
    slope[0] = f - S(T(1.5));
    slope[1] = S(T(-2)) * t;
    slope[2] = f - half;
    slope[3] = S(0);
  } else {
    const S u = one - t;
    slope[0] = -half * u * u;
    slope[1] = S(T(1.5)) * t * t - S(T(2)) * t;
    slope[2] = t + half - S(T(1.5)) * t * t;
    slope[3] = half * t * t;
  }
}

}  // namespace costate::mpm

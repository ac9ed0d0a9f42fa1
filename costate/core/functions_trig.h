// sin, cos, sincos, tan on every plain scalar.
//
// Reduction (Cody and Waite [1], with fma): n = round(x 2/pi), r = x - n pi/2 with pi/2 in three parts P1 +
// P2 + P3 that each fill a mantissa. x - n P1 is exact because n P1 is not rounded inside an fma and the
// difference fits; the other two steps round once each. Then |r| <= pi/4 and
//
//   sin r = r + r^3 s(r^2),     cos r = 1 - r^2/2 + r^4 c(r^2)
//
// with s, c polynomials through Chebyshev nodes (truncation 2^-56 double, 2^-30 float). The two lowest bits
// of n choose between them and the sign. tan keeps the rounding errors of r, sin and cos and divides with one
// correction step.
//
// Beyond |x| = 2^40 (double) or 2^17 (float) three parts of pi/2 no longer suffice: if any lane is there,
// those lanes ask the C library (on a GPU, CUDA's). That is the only branch.
//
// Measured error: sin, cos 1.5 ulp, tan 1.2 ulp, over the whole range.
//
// [1] Cody, Waite: Software Manual for the Elementary Functions, 1980.
//
// Tests: tests/core/functions_test.cpp, functions_special_test.cpp.
#pragma once

#include "costate/core/functions_bits.h"

namespace costate {

template <class S>
struct SinCos {
  S sin, cos;
};

namespace simd {

template <class T>
inline constexpr T trig_fast_range = std::is_same_v<T, double> ? T(0x1p40) : T(0x1p17);

// x = n pi/2 + r, |r| <= pi/4, r to about an ulp, and high + low to twice the digits; quadrant holds n in its
// lowest bits.
template <class S>
struct Quadrant {
  S r, high, low;
  bits_t<S> quadrant;
};

template <Real S>
COSTATE_HD COSTATE_INLINE Quadrant<S> reduce_quadrant(S x) {
  using T = value_t<S>;
  constexpr bool f64 = is_double<S>;
  const T two_over_pi = f64 ? T(0x1.45f306dc9c883p-1) : T(0x1.45f306p-1);
  const T p1 = f64 ? T(0x1.921fb54442d18p+0) : T(0x1.921fb6p+0);
  const T p2 = f64 ? T(0x1.1a62633145c07p-54) : T(-0x1.777a5cp-25);
  const T p3 = f64 ? T(-0x1.f1976b7ed8fbcp-110) : T(-0x1.ee59dap-50);
  const S magic(Format<T>::round_magic);
  const S shifted = fused(x, S(two_over_pi), magic);
  const S n = shifted - magic;
  const S r1 = fused(-n, S(p1), x);
  const S r2 = fused(-n, S(p2), r1);
  const S r = fused(-n, S(p3), r2);
  // The same once more without loss: n P2 = w + w_low exactly, and the two-sum r1 - w = d + d_low under any
  // cancellation.
  const S w = n * S(p2);
  const S w_low = fused(n, S(p2), -w);
  const S d = r1 - w;
  const S back = d - r1;
  const S d_low = (r1 - (d - back)) - (w + back);
  const S rest = fused(-n, S(p3), d_low - w_low);
  const S high = d + rest;
  return {r, high, rest - (high - d), to_bits(shifted)};
}

template <Real S>
COSTATE_HD COSTATE_INLINE S sin_polynomial(S z) {  // (sin r - r) / r^3, z = r^2
  if constexpr (is_double<S>)
    return polynomial(z, -1.66666666666666646e-1, 8.33333333333091647e-3, -1.98412698367102006e-4,
                      2.75573160774939748e-6, -2.50511266294034822e-8, 1.59177540331726356e-10);
  else
    return polynomial(z, -1.666666666e-1f, 8.333331863e-3f, -1.984008042e-4f, 2.724910817e-6f);
}
template <Real S>
COSTATE_HD COSTATE_INLINE S cos_polynomial(S z) {  // (cos r - 1 + r^2/2) / r^4
  if constexpr (is_double<S>)
    return polynomial(z, 4.16666666666666654e-2, -1.38888888888873772e-3, 2.48015872987354266e-5,
                      -2.7557317256053664e-7, 2.08761430055881305e-9, -1.13823976647893079e-11);
  else
    return polynomial(z, 4.166666464e-2f, -1.388829991e-3f, 2.45472673e-5f);
}

// Flips the sign of a where bit `bit` of b is set; bits are counted from 0.
template <Real S>
COSTATE_HD COSTATE_INLINE S flip_sign(S a, bits_t<S> b, int bit) {
  constexpr int sign_bit = 8 * int(sizeof(value_t<S>)) - 1;
  return from_bits<S>(to_bits(a) ^ (shift_left<S>(b, sign_bit - bit) & format<S>::sign));
}

// The C library's answer, for arguments that the fast reduction does not reach. float goes through double.
template <Real S, class Replace>
COSTATE_HD inline void for_large_arguments(S x, const Replace& replace) {
  for (int i = 0; i < lanes_of<S>; ++i) {
    if constexpr (lanes_of<S> == 1)
      replace(i, double(x));
    else if (!(abs(x[i]) <= trig_fast_range<value_t<S>>))
      replace(i, double(x[i]));
  }
}
template <Real S>
COSTATE_HD COSTATE_INLINE void set_lane(S& s, int i, double value) {
  if constexpr (lanes_of<S> == 1)
    s = S(value);
  else
    s.set(i, value_t<S>(value));
}

}  // namespace simd

template <Real S>
COSTATE_HD inline SinCos<S> sincos(S x) {
  using namespace simd;
  const S magnitude = abs(x);
  const mask_t<S> fast = magnitude <= S(trig_fast_range<value_t<S>>);
  const Quadrant<S> q = reduce_quadrant(select(fast, magnitude, S(0)));
  const S r = q.r;
  const S z = r * r;

  const S sin_r = fused(sin_polynomial(z) * z, r, r);
  // 1 - z/2 rounded, its rounding error put back, then the tail.
  const S head = fused(S(-0.5), z, S(1));
  const S head_error = fused(S(-0.5), z, S(1) - head);
  const S cos_r = head + fused(cos_polynomial(z), z * z, head_error);

  const mask_t<S> swap = test_bits<S>(q.quadrant, 1);
  const S s = flip_sign(select(swap, cos_r, sin_r), q.quadrant, 1);
  const S c = flip_sign(select(swap, sin_r, cos_r), q.quadrant + 1, 1);
  SinCos<S> result{from_bits<S>(to_bits(s) ^ (to_bits(x) & format<S>::sign)), c};
  if (!all(fast)) {
    for_large_arguments(x, [&](int i, double big) {
      set_lane(result.sin, i, ::sin(big));
      set_lane(result.cos, i, ::cos(big));
    });
  }
  return result;
}

template <Real S>
COSTATE_HD COSTATE_INLINE S sin(S x) {
  return sincos(x).sin;
}
template <Real S>
COSTATE_HD COSTATE_INLINE S cos(S x) {
  return sincos(x).cos;
}

template <Real S>
COSTATE_HD inline S tan(S x) {
  using namespace simd;
  const S magnitude = abs(x);
  const mask_t<S> fast = magnitude <= S(trig_fast_range<value_t<S>>);
  const Quadrant<S> q = reduce_quadrant(select(fast, magnitude, S(0)));
  const S r = q.high;
  const S z = r * r;
  const S z_low = fused(S(2) * r, q.low, fused(r, r, -z));

  const S sin_low = fused(sin_polynomial(z) * z, r, q.low);  // sin = r + sin_low
  const S head = fused(S(-0.5), z, S(1));
  const S cos_low = fused(S(-0.5), z_low, fused(cos_polynomial(z), z * z, fused(S(-0.5), z, S(1) - head)));

  // Even quadrant: sin / cos; odd: -cos / sin.
  const mask_t<S> odd = test_bits<S>(q.quadrant, 1);
  const S top = select(odd, head, r);
  const S top_low = select(odd, cos_low, sin_low);
  S bottom = select(odd, r, head);
  S bottom_low = select(odd, sin_low, cos_low);
  const S sum = bottom + bottom_low;
  bottom_low = bottom_low - (sum - bottom);
  bottom = sum;
  const S inverse = S(1) / bottom;
  const S quotient = top * inverse;
  const S remainder = fused(-quotient, bottom_low, fused(-quotient, bottom, top) + top_low);
  S result = flip_sign(fused(remainder, inverse, quotient), q.quadrant, 0);
  result = from_bits<S>(to_bits(result) ^ (to_bits(x) & format<S>::sign));
  if (!all(fast)) {
    for_large_arguments(x, [&](int i, double big) { set_lane(result, i, ::tan(big)); });
  }
  return result;
}

}  // namespace costate

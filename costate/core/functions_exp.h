// exp, expm1, sinh, cosh, tanh on every plain scalar, without tables or branches.
//
// Reduction: n = round(x / ln 2), r = x - n ln 2 with ln 2 in two parts; |r| <= ln(2)/2 and
//
//   e^r - 1 = r + r^2 q(r)          q through Chebyshev nodes, truncation 2^-62 (double), 2^-27 (float)
//
// e^x = 2^n (1 + (e^r - 1)). The power is applied in two factors, so that a denormal result is rounded only
// once and an overflow ends in infinity. The hyperbolic functions of x > 0 are rational in h = (e^x - 1) / 4,
// which is finite where they are, and is kept as an unevaluated sum high + low so that the quotients need one
// division and one correction:
//
//   sinh x = 2 (h + h / (1 + 4h)),   cosh x = E + 1 / (4E), E = e^x / 2,   tanh(x/2) = 2h / (1 + 2h)
//
// Where |x| < 2^-60 (float 2^-30) expm1, sinh and tanh are x to the last bit, and denormals stay whole.
//
// Measured error: exp 0.9 ulp, expm1 1.3, sinh 1.4, cosh 1.4, tanh 1.0. Tests: tests/core/functions_test.cpp.
#pragma once

#include "costate/core/functions_bits.h"

namespace costate {

namespace simd {

// x = n ln 2 + r + r_low with n a whole number.
template <class S>
struct ExpArgument {
  S n, r, r_low;
};

template <Real S>
COSTATE_HD COSTATE_INLINE ExpArgument<S> reduce_exponent(S x) {
  using T = value_t<S>;
  constexpr bool d = is_double<S>;
  const T log2_e = d ? T(0x1.71547652b82fep+0) : T(0x1.715476p+0);
  const T ln2 = d ? T(0x1.62e42fefa39efp-1) : T(0x1.62e430p-1);
  const T ln2_low = d ? T(0x1.abc9e3b39803fp-56) : T(-0x1.05c610p-29);
  const S magic(Format<T>::round_magic);
  const S n = fused(x, S(log2_e), magic) - magic;
  const S r1 = fused(-n, S(ln2), x);
  const S r = fused(-n, S(ln2_low), r1);
  return {n, r, fused(-n, S(ln2_low), r1 - r)};
}

template <Real S>
COSTATE_HD COSTATE_INLINE S exp_polynomial(S r) {  // (e^r - 1 - r) / r^2
  if constexpr (is_double<S>)
    return polynomial(r, 0.5, 1.66666666666666711e-1, 4.16666666666666808e-2, 8.33333333332603495e-3,
                      1.38888888888751989e-3, 1.9841269875169837e-4, 2.48015873483020642e-5,
                      2.75572549585574358e-6, 2.75572493246653984e-7, 2.51054002802059996e-8,
                      2.09236675691880685e-9);
  else
    return polynomial(r, 0.5f, 1.666657635e-1f, 4.166650887e-2f, 8.36328447e-3f, 1.393128702e-3f);
}

// Arguments outside [lowest, highest] give 0 and infinity; clamping them keeps n in range. A NaN passes.
template <class T>
inline constexpr T exp_lowest = std::is_same_v<T, double> ? T(-746) : T(-104);
template <class T>
inline constexpr T exp_highest = std::is_same_v<T, double> ? T(710.7) : T(89.6);

// a 2^n with one rounding, for |n| up to twice the exponent range.
template <Real S>
COSTATE_HD COSTATE_INLINE S scale_by_power(S a, S n) {
  const S magic(format<S>::round_magic);
  const S half = fused(n, S(0.5), magic) - magic;
  return a * power_of_two(half) * power_of_two(n - half);
}

// e^(x + x_low) 2^extra, |x_low| small.
template <Real S>
COSTATE_HD COSTATE_INLINE S exp_scaled(S x, S x_low, value_t<S> extra) {
  using T = value_t<S>;
  x = select(x > S(exp_highest<T>), S(exp_highest<T>), select(x < S(exp_lowest<T>), S(exp_lowest<T>), x));
  const ExpArgument<S> a = reduce_exponent(x);
  const S low = a.r_low + x_low;
  const S r = a.r + low;
  const S tail = fused(r * r, exp_polynomial(r), low - (r - a.r));
  return scale_by_power(S(1) + (r + tail), a.n + S(extra));
}

// (e^x - 1) / 4 = high + low.
template <class S>
struct Expm1Quarter {
  S high, low;
};
template <Real S>
COSTATE_HD COSTATE_INLINE Expm1Quarter<S> expm1_quarter(S x) {
  using T = value_t<S>;
  const T lowest = is_double<S> ? T(-56) : T(-32);  // e^x is below half an ulp of 1
  x = select(x > S(exp_highest<T>), S(exp_highest<T>), select(x < S(lowest), S(lowest), x));
  const ExpArgument<S> a = reduce_exponent(x);
  const S tail = fused(a.r * a.r, exp_polynomial(a.r), a.r_low);
  const S scale = power_of_two(a.n - S(2));
  const S offset = scale - S(0.25);
  const S high = fused(scale, a.r, offset);
  const S error = fused(scale, a.r, offset - high);
  return {high, fused(scale, tail, error)};
}

// h / (1 + c h) for h = high + low >= 0 and c a power of two: the quotient and its first correction.
template <Real S>
COSTATE_HD COSTATE_INLINE S corrected_quotient(Expm1Quarter<S> h, value_t<S> c) {
  const S high = h.high + h.low;
  const S low = h.low - (high - h.high);
  const S one(1);
  const S scaled = S(c) * high;  // exact
  const S denominator = one + scaled;
  // Rounding error of that sum: its larger term first.
  const S larger = select(scaled < one, one, scaled);
  const S smaller = select(scaled < one, scaled, one);
  const S denominator_low = fused(S(c), low, smaller - (denominator - larger));
  const S inverse = one / denominator;
  const S quotient = high * inverse;
  const S remainder = fused(-quotient, denominator_low, fused(-quotient, denominator, high) + low);
  return fused(remainder, inverse, quotient);
}

template <Real S>
COSTATE_HD COSTATE_INLINE mask_t<S> is_tiny(S x) {
  return abs(x) < S(is_double<S> ? value_t<S>(0x1p-60) : value_t<S>(0x1p-30));
}

}  // namespace simd

template <Real S>
COSTATE_HD inline S exp(S x) {
  return simd::exp_scaled(x, S(0), 0);
}

template <Real S>
COSTATE_HD inline S expm1(S x) {
  const simd::Expm1Quarter<S> h = simd::expm1_quarter(x);
  return select(simd::is_tiny(x), x, S(4) * (h.high + h.low));
}

template <Real S>
COSTATE_HD inline S sinh(S x) {
  using namespace simd;
  using T = value_t<S>;
  const Expm1Quarter<S> h = expm1_quarter(abs(x));
  // Past `large` the quotient is 1/4 and no longer seen in the sum.
  const S large(is_double<S> ? T(0x1p60) : T(0x1p30));
  const mask_t<S> is_large = h.high > large;
  const Expm1Quarter<S> bounded{select(is_large, large, h.high), select(is_large, S(0), h.low)};
  const S sum = h.high + (h.low + corrected_quotient(bounded, T(4)));
  return select(is_tiny(x), x, copysign(S(2) * sum, x));
}

template <Real S>
COSTATE_HD inline S cosh(S x) {
  const S e = simd::exp_scaled(abs(x), S(0), value_t<S>(-1));
  return e + S(0.25) / e;
}

template <Real S>
COSTATE_HD inline S tanh(S x) {
  using namespace simd;
  using T = value_t<S>;
  const S saturated(is_double<S> ? T(22) : T(10));
  const S a = abs(x);
  const S q = corrected_quotient(expm1_quarter(S(2) * select(a > saturated, saturated, a)), T(2));
  return select(is_tiny(x), x, copysign(S(2) * q, x));
}

}  // namespace costate

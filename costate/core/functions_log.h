// log, log1p, log2, pow, cbrt on every plain scalar, without tables or branches.
//
// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); s = f / (2 + f), z = s^2 and [1]
//
//   log(1 + f) = 2 artanh s = f - (f^2/2 - s (f^2/2 + R)),     R = z (2/3 + 2/5 z + 2/7 z^2 + ...)
//
// with R through Chebyshev nodes (truncation 2^-56 double, 2^-27 float). log1p puts the rounding error of
// 1 + x back into f.
//
// pow = e^(y log x) needs log x to about 2^-64: there s, the cubic term and k ln 2 are kept as unevaluated
// sums of two numbers, and the product with y too (double-double arithmetic [2]). Special cases
// are those of IEEE 754 (pow(x, 0) = 1 for every x, pow(-2, 3) = -8, pow(0, -1) = infinity, ...), chosen by
// masks at the end and without raising exceptions.
//
// cbrt: x = 2^(3k) 2^j m; a polynomial guess of m^(1/3) times 2^(j/3), then one Halley step whose residual
// is computed from exact products.
//
// Measured error: log 0.8 ulp, log1p 1.4, log2 0.6, pow 1.0, cbrt 0.6.
//
// [1] Tang: Table-driven implementation of the logarithm function, ACM TOMS 16 (1990); fdlibm uses the form
// with s.
//
// [2] Dekker: A floating-point technique for extending the available precision, Numer. Math. 18 (1971).
//
// Tests: tests/core/functions_test.cpp, functions_special_test.cpp.
#pragma once

#include "costate/core/functions_exp.h"

namespace costate {

namespace simd {

// x = 2^k m with m in [sqrt(1/2), sqrt(2)), for positive finite x, denormal or not.
template <class S>
struct Normalized {
  S k, m;
};
template <Real S>
COSTATE_HD COSTATE_INLINE Normalized<S> normalize(S x) {
  using T = value_t<S>;
  using F = Format<T>;
  using Int = typename F::Int;
  const Int one = Int(F::exponent_bias) << F::mantissa_bits;
  const Int sqrt_half = is_double<S> ? Int(0x3fe6a09e667f3bcd) : Int(0x3f3504f3);
  const T lift = is_double<S> ? T(54) : T(25);
  const mask_t<S> denormal = x < S(F::smallest_normal);
  x = select(denormal, x * S(is_double<S> ? T(0x1p54) : T(0x1p25)), x);
  const bits_t<S> shifted = to_bits(x) + (one - sqrt_half);
  // The biased exponent as a number: set it into the low bits of 2^mantissa_bits and subtract that again.
  const T base = is_double<S> ? T(0x1p52) : T(0x1p23);
  const Int base_bits = (Int(F::exponent_bias) + F::mantissa_bits) << F::mantissa_bits;
  const S exponent =
      from_bits<S>(shift_right<S>(shifted, F::mantissa_bits) | base_bits) - S(base + T(F::exponent_bias));
  const S m = from_bits<S>((shifted & F::mantissa_mask) + sqrt_half);
  return {exponent - select(denormal, S(lift), S(0)), m};
}

template <Real S>
COSTATE_HD COSTATE_INLINE S log_polynomial(S z) {  // R / z
  if constexpr (is_double<S>)
    return polynomial(z, 6.66666666666666969e-1, 3.99999999998994473e-1, 2.85714286260014256e-1,
                      2.22222111305607264e-1, 1.81828894337575164e-1, 1.5331711346672996e-1,
                      1.46165764216443859e-1);
  else
    return polynomial(z, 6.666668504e-1f, 3.998877843e-1f, 2.958004617e-1f);
}
template <Real S>
COSTATE_HD COSTATE_INLINE S log_tail_polynomial(S z) {  // (R / z - 2/3) / z
  if constexpr (is_double<S>)
    return polynomial(z, 0.4, 2.85714285714285646e-1, 2.22222222222284295e-1, 1.81818181796570126e-1,
                      1.53846157611573886e-1, 1.33332965354372395e-1, 1.1766813077591133e-1,
                      1.04563282429454378e-1, 1.07624155979720051e-1);
  else
    return polynomial(z, 0.4f, 2.857153182e-1f, 2.220476233e-1f, 1.912044836e-1f);
}

// k ln 2 + log(1 + f).
template <Real S>
COSTATE_HD COSTATE_INLINE S log_sum(S k, S f) {
  using T = value_t<S>;
  const T ln2 = is_double<S> ? T(0x1.62e42fefa39efp-1) : T(0x1.62e430p-1);
  const T ln2_low = is_double<S> ? T(0x1.abc9e3b39803fp-56) : T(-0x1.05c610p-29);
  const S s = f / (S(2) + f);
  const S z = s * s;
  const S half_f = S(0.5) * f;
  const S tail = fused(s, fused(z, log_polynomial(z), half_f * f), k * S(ln2_low));
  return fused(k, S(ln2), f - fused(half_f, f, -tail));
}

// The value for positive finite x, and the limits elsewhere: log 0 = -infinity, log(negative) = NaN.
template <Real S>
COSTATE_HD COSTATE_INLINE S log_limits(S x, S value) {
  const S inf(infinity<S>);
  return select(x > S(0), select(x < inf, value, inf), select(x == S(0), -inf, S(not_a_number<S>)));
}
template <Real S>
COSTATE_HD COSTATE_INLINE S positive_or_one(S x) {
  return select((x > S(0)) & (x < S(infinity<S>)), x, S(1));
}

// high + low, |low| at most an ulp of high.
template <class S>
struct DoubleLength {
  S high, low;
};
template <Real S>
COSTATE_HD COSTATE_INLINE DoubleLength<S> quick_sum(S large, S small) {  // |large| >= |small|
  const S sum = large + small;
  return {sum, small - (sum - large)};
}
template <Real S>
COSTATE_HD COSTATE_INLINE DoubleLength<S> exact_product(S a, S b) {
  const S p = a * b;
  return {p, fused(a, b, -p)};
}
template <Real S>
COSTATE_HD COSTATE_INLINE DoubleLength<S> product(DoubleLength<S> a, DoubleLength<S> b) {
  const DoubleLength<S> p = exact_product(a.high, b.high);
  return {p.high, fused(a.high, b.low, fused(a.low, b.high, p.low))};
}

// log m for m in [sqrt(1/2), sqrt(2)), with about twelve bits more than the format.
template <Real S>
COSTATE_HD COSTATE_INLINE DoubleLength<S> log_double_length(S m) {
  using T = value_t<S>;
  const T third = is_double<S> ? T(0x1.5555555555555p-1) : T(0x1.555556p-1);
  const T third_low = is_double<S> ? T(0x1.5555555555555p-55) : T(-0x1.555556p-26);
  const S f = m - S(1);  // exact
  const S d = m + S(1);
  const S d_low = m - (d - S(1));
  const S inverse = S(1) / d;
  const S s_high = f * inverse;
  const S remainder = fused(-s_high, d_low, fused(-s_high, d, f));
  const S s_rounded = fused(remainder, inverse, s_high);
  const DoubleLength<S> s{s_rounded, fused(remainder, inverse, s_high - s_rounded)};
  const DoubleLength<S> z = product(s, s);
  const S tail = log_tail_polynomial(z.high);
  const S r_high = fused(z.high, tail, S(third));
  const DoubleLength<S> r{r_high, fused(z.high, tail, S(third) - r_high) + S(third_low)};
  const DoubleLength<S> cubic = product(product(s, z), r);
  DoubleLength<S> sum = quick_sum(S(2) * s.high, cubic.high);
  sum.low = sum.low + fused(S(2), s.low, cubic.low);
  return quick_sum(sum.high, sum.low);
}

// log x for positive finite x.
template <Real S>
COSTATE_HD COSTATE_INLINE DoubleLength<S> log_double_length_of_any(S x) {
  using T = value_t<S>;
  // Short enough that k times the first part is exact.
  const T ln2 = is_double<S> ? T(0x1.62e42fefa2p-1) : T(0x1.62e0p-1);
  const T ln2_low = is_double<S> ? T(0x1.9ef35793c7673p-41) : T(0x1.0bfbe8p-15);
  const Normalized<S> a = normalize(x);
  const DoubleLength<S> l = log_double_length(a.m);
  const S whole = a.k * S(ln2);
  // |k ln 2| is the larger term unless k = 0, and then it is nothing.
  const S sum = whole + l.high;
  const S error = select(a.k == S(0), S(0), l.high - (sum - whole));
  return quick_sum(sum, error + fused(a.k, S(ln2_low), l.low));
}

}  // namespace simd

template <Real S>
COSTATE_HD inline S log(S x) {
  using namespace simd;
  const Normalized<S> a = normalize(positive_or_one(x));
  return log_limits(x, log_sum(a.k, a.m - S(1)));
}

template <Real S>
COSTATE_HD inline S log1p(S x) {
  using namespace simd;
  using T = value_t<S>;
  const mask_t<S> inside = (x > S(-1)) & (x < S(infinity<S>));
  const S y = select(inside, x, S(0));
  const S u = S(1) + y;
  const S lost = select(y < S(1), y - (u - S(1)), S(1) - (u - y));
  const Normalized<S> a = normalize(u);
  // Past 2^60 what was lost is below every bit of the result, and 2^-k may leave the range.
  const S huge(is_double<S> ? T(0x1p60) : T(0x1p30));
  const S k = select(y < huge, a.k, S(0));
  const S f = fused(select(y < huge, lost, S(0)), power_of_two(-k), a.m - S(1));
  const S value = log_sum(a.k, f);
  return select(inside, select(is_tiny(x), x, value), log_limits(S(1) + x, value));
}

template <Real S>
COSTATE_HD inline S log2(S x) {
  using namespace simd;
  using T = value_t<S>;
  const DoubleLength<S> log2_e{S(is_double<S> ? T(0x1.71547652b82fep+0) : T(0x1.715476p+0)),
                               S(is_double<S> ? T(0x1.777d0ffda0d24p-56) : T(0x1.4ae0c0p-26))};
  const Normalized<S> a = normalize(positive_or_one(x));
  const DoubleLength<S> l = product(log_double_length(a.m), log2_e);
  const DoubleLength<S> sum = quick_sum(a.k, l.high);
  const S value = select(a.k == S(0), l.high + l.low, sum.high + (sum.low + l.low));
  return log_limits(x, value);
}

template <class A, class B>
requires Real<common_scalar<A, B>> COSTATE_HD inline auto pow(A base, B exponent) {
  using namespace simd;
  using S = common_scalar<A, B>;
  using T = value_t<S>;
  const S x(base), y(exponent), inf(infinity<S>);
  const S magnitude = abs(x);
  const DoubleLength<S> l = log_double_length_of_any(positive_or_one(magnitude));

  // y log|x|, in the range where the result is neither 0 nor infinite; past it only the sign matters.
  const S y_bound(is_double<S> ? T(0x1p70) : T(0x1p35));
  const S y_finite = select(abs(y) < y_bound, y, copysign(y_bound, y));
  const DoubleLength<S> p = product(DoubleLength<S>{y_finite, S(0)}, l);
  const S bound(is_double<S> ? T(800) : T(110));
  const mask_t<S> in_range = abs(p.high) < bound;
  S value =
      exp_scaled(select(in_range, p.high, copysign(bound, p.high)), select(in_range, p.low, S(0)), T(0));

  // |x| = 0 or infinite: growth follows the sign of y and whether |x| is above or below 1.
  const S at_end = select((magnitude > S(1)) ^ (y > S(0)), S(0), inf);
  value = select((magnitude == S(0)) | (magnitude == inf), at_end, value);
  // |x| = 1 and infinite y.
  value = select(magnitude == S(1), S(1), value);

  const mask_t<S> whole = floor(y) == y;
  const S half = S(0.5) * y;
  const mask_t<S> odd = whole & (floor(half) != half);
  const mask_t<S> negative = test_bits<S>(to_bits(x), format<S>::sign);
  value = select(negative & odd, -value, value);
  value = select((x < S(0)) & !whole & (magnitude < inf), S(not_a_number<S>), value);
  value = select((x != x) | (y != y), x + y, value);
  return select((y == S(0)) | (x == S(1)), S(1), value);
}

template <Real S>
COSTATE_HD inline S cbrt(S x) {
  using namespace simd;
  using T = value_t<S>;
  const S magnitude = positive_or_one(abs(x));
  const Normalized<S> a = normalize(magnitude);
  const S third = floor(fused(a.k, S(T(1) / T(3)), S(T(1) / T(6))));  // k = 3 third + j, j in {0, 1, 2}
  const S j = fused(S(-3), third, a.k);
  const S guess = [&] {
    if constexpr (is_double<S>)
      return polynomial(a.m, 0.39969553392, 1.18902542445, -1.16718230088, 0.945282978568, -0.496198864418,
                        0.148642062358, -0.0192649911896);
    else
      return polynomial(a.m, 0.495154223574f, 0.73179020859f, -0.282696667684f, 0.0558080006654f);
  }();
  const S t = guess * select(j == S(1), S(T(1.25992104989487316)),
                             select(j == S(2), S(T(1.58740105196819947)), S(1)));
  const S target = a.m * select(j == S(1), S(2), select(j == S(2), S(4), S(1)));
  // Halley: t - t (t^3 - c) / (2 t^3 + c), the residual by exact products.
  const DoubleLength<S> square = exact_product(t, t);
  const S cube = square.high * t;
  const S residual = fused(square.low, t, fused(square.high, t, -target));
  const S root = fused(-t, residual / fused(S(2), cube, target), t);
  const S value = copysign(root * power_of_two(third), x);
  return select(is_finite(x) & (x != S(0)), value, x);
}

}  // namespace costate

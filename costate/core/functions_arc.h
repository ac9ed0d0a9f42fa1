// atan, atan2, asin, acos, hypot on every plain scalar.
//
// atan2(y, x): the eighth of the circle is found first. With a = min(|x|, |y|), b = max(|x|, |y|):
//
//   a <= tan(pi/8) b:  t = a / b              angle to the nearer axis = atan t
//   otherwise:         t = (a - b) / (a + b)                           = pi/4 + atan t
//
// so |t| <= tan(pi/8) and atan t = t + t^3 p(t^2). The angle is k pi/4 +- atan t with a whole k in 0..4,
// added with pi/4 in two parts. atan x is atan2(x, 1). One division; the rounding errors of a - b and a + b
// are carried along.
//
// asin, acos: for |x| <= 1/2, asin x = x + x^3 q(x^2); otherwise, with w = sqrt((1 - |x|)/2),
//
//   asin |x| = pi/2 - 2 asin w
//
// p, q through Chebyshev nodes (truncation 2^-57 double, 2^-29 float). Outside [-1, 1] asin and acos give
// NaN quietly.
//
// Measured error: atan, atan2 1.3 ulp, asin, acos 1.2, hypot 1.0.
// Tests: tests/core/functions_test.cpp, functions_special_test.cpp.
#pragma once

#include "costate/core/functions_bits.h"

namespace costate {

namespace simd {

template <Real S>
COSTATE_HD COSTATE_INLINE S atan_polynomial(S z) {  // (atan t - t) / t^3
  if constexpr (is_double<S>)
    return polynomial(z, -3.33333333333333302e-1, 1.99999999999955141e-1, -1.42857142846651796e-1,
                      1.11111110151467146e-1, -9.09090457366905996e-2, 7.69218308734202595e-2,
                      -6.66450998981804447e-2, 5.85813625190614628e-2, -5.08538348884283141e-2,
                      3.92297445366122309e-2, -1.91745435720213323e-2);
  else
    return polynomial(z, -3.333333176e-1f, 1.999954022e-1f, -1.426394636e-1f, 1.074363163e-1f,
                      -6.451597259e-2f);
}
template <Real S>
COSTATE_HD COSTATE_INLINE S asin_polynomial(S z) {  // (asin x - x) / x^3
  if constexpr (is_double<S>)
    return polynomial(z, 1.66666666666666678e-1, 7.49999999999843293e-2, 4.46428571463554298e-2,
                      3.03819441385312473e-2, 2.23721729421498879e-2, 1.73523927208699729e-2,
                      1.39712129735529333e-2, 1.14791774151849059e-2, 1.03228143501857793e-2,
                      5.4575067186403583e-3, 1.74008794426940224e-2, -1.48518870712472032e-2,
                      2.87578513674215647e-2);
  else
    return polynomial(z, 1.666666634e-1f, 7.500094543e-2f, 4.459940153e-2f, 3.110066274e-2f, 1.714923836e-2f,
                      3.36908472e-2f);
}

template <class T>
struct QuarterPi {
  static constexpr bool d = std::is_same_v<T, double>;
  static constexpr T high = d ? T(0x1.921fb54442d18p-1) : T(0x1.921fb6p-1);
  static constexpr T low = d ? T(0x1.1a62633145c07p-55) : T(-0x1.777a5cp-26);
};

// The angle in [0, pi] of (+-x, y) for x, y >= 0, the larger of them normal with a normal inverse; `left`
// marks a negative x.
template <Real S>
COSTATE_HD COSTATE_INLINE S half_plane_angle(S y, S x, mask_t<S> left) {
  using T = value_t<S>;
  const mask_t<S> steep = y > x;
  const S b = select(steep, y, x);
  const S a = select(steep, x, y);
  const mask_t<S> diagonal = a > S(T(0.414213562373095049)) * b;
  const S top = select(diagonal, a - b, a);
  const S bottom = select(diagonal, a + b, b);
  const S top_low = select(diagonal, a - (top + b), S(0));
  const S bottom_low = select(diagonal, a - (bottom - b), S(0));
  const S inverse = S(1) / bottom;
  const S t = top * inverse;
  const S remainder = fused(-t, bottom_low, fused(-t, bottom, top) + top_low);
  const S z = t * t;
  const S arc = t + fused(atan_polynomial(z) * z, t, remainder * inverse);
  // From the nearer axis to the positive x axis: reflect at pi/4 if steep, at pi/2 if left.
  const S k_right = select(diagonal, S(1), select(steep, S(2), S(0)));
  const S k = select(left, S(4) - k_right, k_right);
  const S signed_arc = select(steep ^ left, -arc, arc);
  return fused(k, S(QuarterPi<T>::high), fused(k, S(QuarterPi<T>::low), signed_arc));
}

// arc = w + tail is asin a for a = |x| <= 1/2 (direct), and otherwise half the complement: asin a = pi/2 - 2
// arc.
template <class S>
struct HalfArc {
  S w, tail;
  mask_t<S> direct;
};
template <Real S>
COSTATE_HD COSTATE_INLINE HalfArc<S> half_arc(S a) {
  const mask_t<S> direct = a <= S(0.5);
  const S complement = fused(S(-0.5), a, S(0.5));
  const S z = select(direct, a * a, select(complement > S(0), complement, S(0)));
  const S w = select(direct, a, square_root(z));
  return {w, asin_polynomial(z) * z * w, direct};
}

// k pi/4 + c (w + tail), k in {0, 2, 4}, c in {+-1, +-2}: the two products with powers of two are exact.
template <Real S>
COSTATE_HD COSTATE_INLINE S arc_sum(S k, S c, const HalfArc<S>& h) {
  using Quarter = QuarterPi<value_t<S>>;
  const S base = k * S(Quarter::high);
  const S sum = fused(c, h.w, base);
  const S lost = fused(c, h.w, base - sum);
  return sum + fused(c, h.tail, fused(k, S(Quarter::low), lost));
}

}  // namespace simd

template <class A, class B>
requires Real<common_scalar<A, B>> COSTATE_HD inline auto atan2(A sine, B cosine) {
  using namespace simd;
  using S = common_scalar<A, B>;
  using T = value_t<S>;
  const S y(sine), x(cosine), inf(infinity<S>);
  S ay = abs(y), ax = abs(x);
  // Infinite sides: only which of the two is infinite counts. Both zero: the positive axis.
  const mask_t<S> infinite = (ax == inf) | (ay == inf);
  const mask_t<S> origin = (ax == S(0)) & (ay == S(0));
  ay = select(infinite, select(ay == inf, S(1), S(0)), ay);
  ax = select(infinite, select(ax == inf, S(1), S(0)), select(origin, S(1), ax));
  const T far = is_double<S> ? T(0x1p900) : T(0x1p100);
  const T shift = is_double<S> ? T(0x1p-200) : T(0x1p-40);
  const S larger = select(ax > ay, ax, ay);
  const S scale = select(larger > S(far), S(shift), select(larger < S(T(1) / far), S(T(1) / shift), S(1)));
  const S angle = half_plane_angle(ay * scale, ax * scale, test_bits<S>(to_bits(x), format<S>::sign));
  return select((x != x) | (y != y), x + y, copysign(angle, y));
}

template <Real S>
COSTATE_HD inline S atan(S x) {
  using namespace simd;
  const S a = abs(x);
  const S far(value_t<S>(0x1p100));  // already pi/2 to the last bit
  const S bounded = select(a > far, far, a);
  return select(x != x, x, copysign(half_plane_angle(bounded, S(1), mask_t<S>(false)), x));
}

template <Real S>
COSTATE_HD inline S asin(S x) {
  using namespace simd;
  const S a = abs(x);
  const HalfArc<S> h = half_arc(a);
  const S angle = arc_sum(select(h.direct, S(0), S(2)), select(h.direct, S(1), S(-2)), h);
  return select(a <= S(1), copysign(angle, x), S(not_a_number<S>));
}

template <Real S>
COSTATE_HD inline S acos(S x) {
  using namespace simd;
  const S a = abs(x);
  const HalfArc<S> h = half_arc(a);
  // Direct: pi/2 - asin x. Complement: 2 arc for x > 0, pi - 2 arc for x < 0.
  const mask_t<S> positive = x > S(0);
  const S k = select(h.direct, S(2), select(positive, S(0), S(4)));
  const S c = select(h.direct, select(positive, S(-1), S(1)), select(positive, S(2), S(-2)));
  return select(a <= S(1), arc_sum(k, c, h), S(not_a_number<S>));
}

// sqrt(x^2 + y^2) without overflow or underflow on the way; infinite where either side is, even next to a
// NaN.
template <class A, class B>
requires Real<common_scalar<A, B>> COSTATE_HD inline auto hypot(A first, B second) {
  using namespace simd;
  using S = common_scalar<A, B>;
  using T = value_t<S>;
  const S x = abs(S(first)), y = abs(S(second)), inf(infinity<S>);
  const S large = select(x > y, x, y);
  const S small = select(x > y, y, x);
  const T up = is_double<S> ? T(0x1p600) : T(0x1p80);
  const T huge = is_double<S> ? T(0x1p500) : T(0x1p60);
  const mask_t<S> above = large > S(huge), below = large < S(T(1) / huge);
  const S scale = select(above, S(T(1) / up), select(below, S(up), S(1)));
  const S unscale = select(above, S(up), select(below, S(T(1) / up), S(1)));
  const S a = large * scale, b = small * scale;
  const S norm = square_root(fused(a, a, b * b)) * unscale;
  return select((x == inf) | (y == inf), inf, select((x != x) | (y != y), x + y, norm));
}

}  // namespace costate

// The elementary functions of Dual: value and slope side by side. See dual.h for the idea and for the
// conventions at corners. Tests: tests/ad/dual_test.cpp.
#pragma once

#include "costate/ad/dual.h"

namespace costate {

// --- one argument ---------------------------------------------------------------------------------

template <class S, int D>
COSTATE_HD COSTATE_INLINE SinCos<Dual<S, D>> sincos(const Dual<S, D>& x) {
  const SinCos<S> t = sincos(x.v);
  return {x.chain(t.sin, t.cos), x.chain(t.cos, -t.sin)};
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> sin(const Dual<S, D>& x) {
  const SinCos<S> t = sincos(x.v);
  return x.chain(t.sin, t.cos);
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> cos(const Dual<S, D>& x) {
  const SinCos<S> t = sincos(x.v);
  return x.chain(t.cos, -t.sin);
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> tan(const Dual<S, D>& x) {
  const S t = tan(x.v);
  return x.chain(t, t * t + 1);
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> exp(const Dual<S, D>& x) {
  const S e = exp(x.v);
  return x.chain(e, e);
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> expm1(const Dual<S, D>& x) {
  return x.chain(expm1(x.v), exp(x.v));  // expm1 + 1 would lose the slope of very negative x
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> log(const Dual<S, D>& x) {
  return x.chain(log(x.v), S(1) / x.v);
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> log1p(const Dual<S, D>& x) {
  return x.chain(log1p(x.v), S(1) / (x.v + 1));
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> log2(const Dual<S, D>& x) {
  return x.chain(log2(x.v), S(value_t<S>(1.44269504088896341)) / x.v);
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> sinh(const Dual<S, D>& x) {
  return x.chain(sinh(x.v), cosh(x.v));
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> cosh(const Dual<S, D>& x) {
  return x.chain(cosh(x.v), sinh(x.v));
}
// tanh' = 1 / cosh^2: 1 - tanh^2 would lose all digits where tanh is near 1. Past |x| = 40 the slope, below
// 1e-33, is given as 0, so that nothing overflows in float.
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> tanh(const Dual<S, D>& x) {
  const mask_t<S> saturated = abs(x.v) > S(40);
  const S c = cosh(select(saturated, S(0), x.v));
  return x.chain(tanh(x.v), select(saturated, S(0), S(1) / (c * c)));
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> asin(const Dual<S, D>& x) {
  return x.chain(asin(x.v), S(1) / sqrt((1 - x.v) * (1 + x.v)));
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> acos(const Dual<S, D>& x) {
  return x.chain(acos(x.v), S(-1) / sqrt((1 - x.v) * (1 + x.v)));
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> atan(const Dual<S, D>& x) {
  return x.chain(atan(x.v), S(1) / (x.v * x.v + 1));
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> sqrt(const Dual<S, D>& x) {
  const S root = sqrt(x.v);
  return x.chain(root, S(value_t<S>(0.5)) / root);
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> cbrt(const Dual<S, D>& x) {
  const S root = cbrt(x.v);
  return x.chain(root, S(1) / (3 * (root * root)));
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> abs(const Dual<S, D>& x) {
  return x.chain(abs(x.v), sign(x.v));
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> sign(const Dual<S, D>& x) {
  return Dual<S, D>(sign(x.v));
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> floor(const Dual<S, D>& x) {
  return Dual<S, D>(floor(x.v));
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> trunc(const Dual<S, D>& x) {
  return Dual<S, D>(trunc(x.v));
}
template <class S, int D>
COSTATE_HD COSTATE_INLINE Dual<S, D> round(const Dual<S, D>& x) {
  return Dual<S, D>(round(x.v));
}

// Finite in value and in every tangent.
template <class S, int D>
COSTATE_HD COSTATE_INLINE mask_t<S> is_finite(const Dual<S, D>& x) {
  mask_t<S> r = is_finite(x.v);
  for (int i = 0; i < D; ++i) r = r & is_finite(x.d[i]);
  return r;
}

// --- two arguments, of which one may be a constant ------------------------------------------------

template <class A, class B>
requires AnyDual<common_scalar<A, B>> COSTATE_HD COSTATE_INLINE auto min(const A& first, const B& second) {
  using X = common_scalar<A, B>;
  const X a(first), b(second);
  return select((b < a) | (b != b), b, a);
}
template <class A, class B>
requires AnyDual<common_scalar<A, B>> COSTATE_HD COSTATE_INLINE auto max(const A& first, const B& second) {
  using X = common_scalar<A, B>;
  const X a(first), b(second);
  return select((b > a) | (b != b), b, a);
}

// |a| with the sign of b: the slope is the sign that was given over the sign that was there.
template <class A, class B>
requires AnyDual<common_scalar<A, B>> COSTATE_HD COSTATE_INLINE auto copysign(const A& magnitude,
                                                                              const B& sign_of) {
  using X = common_scalar<A, B>;
  using S = typename X::Inner;
  const X a(magnitude), b(sign_of);
  return a.chain(copysign(a.v, b.v), copysign(S(1), b.v) * sign(a.v));
}

template <class A, class B>
requires AnyDual<common_scalar<A, B>> COSTATE_HD COSTATE_INLINE auto hypot(const A& first, const B& second) {
  using X = common_scalar<A, B>;
  using S = typename X::Inner;
  const X a(first), b(second);
  const S zero(0);
  // The origin is its own case: there even the inner tangents must not meet 1 / 0.
  const mask_t<S> origin = (a.v == zero) & (b.v == zero);
  const S x = select(origin, S(1), a.v);
  const S h = hypot(x, b.v);
  return X::chain(select(origin, zero, h), select(origin, zero, x / h), a, select(origin, zero, b.v / h), b);
}

template <class A, class B>
requires AnyDual<common_scalar<A, B>> COSTATE_HD COSTATE_INLINE auto atan2(const A& sine, const B& cosine) {
  using X = common_scalar<A, B>;
  using S = typename X::Inner;
  const X y(sine), x(cosine);
  const S zero(0);
  const mask_t<S> origin = (x.v == zero) & (y.v == zero);
  const S safe_x = select(origin, S(1), x.v);
  // Divided by h twice, not by h^2, which may underflow.
  const S h = hypot(safe_x, y.v);
  const S slope_y = select(origin, zero, safe_x / h / h);
  const S angle = select(origin, S(atan2(primal(y.v), primal(x.v))), atan2(y.v, safe_x));
  const S slope_x = select(origin, zero, -(y.v / h / h));
  return X::chain(angle, slope_y, y, slope_x, x);
}

// x^c for a constant exponent: slope c x^(c - 1), and 0 for c = 0 whatever x is.
template <class S, int D, class C>
requires(!AnyDual<C> &&
         std::is_convertible_v<C, S>) COSTATE_HD COSTATE_INLINE Dual<S, D> pow(const Dual<S, D>& x,
                                                                               const C& exponent) {
  using Plain = std::conditional_t<std::is_arithmetic_v<C>, value_t<S>, C>;
  const Plain c(exponent);
  const auto none = c == Plain(0);
  // For c = 0 any exponent that keeps the power finite will do: the factor c is 0.
  const Plain less = select(none, Plain(1), c - Plain(1));
  const auto base = x.v;
  return x.chain(pow(base, c), select(mask_t<S>(none), S(0), pow(base, less) * S(c)));
}

template <class A, class B>
requires(AnyDual<common_scalar<A, B>>&& AnyDual<B>) COSTATE_HD COSTATE_INLINE
    auto pow(const A& base, const B& exponent) {
  using X = common_scalar<A, B>;
  using S = typename X::Inner;
  const X x(base), y(exponent);
  const S zero(0);
  const S value = pow(x.v, y.v);
  // 0^0: the slope is 0 times 0^-1, given as 0.
  const mask_t<S> none = (y.v == zero) & (x.v == zero);
  const S slope_x = select(none, zero, y.v * pow(x.v, select(none, S(1), y.v - 1)));
  const mask_t<S> positive = x.v > zero;
  const S slope_y = select(positive, value * log(select(positive, x.v, S(1))), zero);
  return X::chain(value, slope_x, x, slope_y, y);
}

// a b + c with the value rounded once.
template <class A, class B, class C>
requires AnyDual<common_scalar<common_scalar<A, B>, C>> COSTATE_HD COSTATE_INLINE auto fma(const A& first,
                                                                                           const B& second,
                                                                                           const C& third) {
  using X = common_scalar<common_scalar<A, B>, C>;
  const X a(first), b(second), c(third);
  X r;
  r.v = fma(a.v, b.v, c.v);
  for (int i = 0; i < X::directions; ++i) r.d[i] = fma(a.v, b.d[i], fma(b.v, a.d[i], c.d[i]));
  return r;
}

}  // namespace costate

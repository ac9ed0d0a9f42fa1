// Dual<S, D>: a number that carries its derivatives in D directions along with it.
//
// The idea. Adjoin to the numbers a symbol e with e e = 0, as one adjoins i with i i = -1. A dual number is
// a + b e. Then
//
//   (a + b e) + (c + d e) = (a + c) + (b + d) e
//   (a + b e) (c + d e)   = a c + (a d + b c) e              because the e e term is gone
//
// and for every function with a Taylor series, f(a + b e) = f(a) + f'(a) b e: the series ends after its
// second term. So if x moves with speed b, evaluating the very same code at x + b e gives the value and, as
// the coefficient of e, the speed of the result: the chain rule applied by the arithmetic itself, exact to
// rounding, with no step size to choose. The coefficient is called the tangent.
//
// Several directions. Dual<S, D> has D symbols e_0 ... e_(D-1) whose products all vanish, and
// x = v + d[0] e_0 + ... + d[D-1] e_(D-1). A function of n inputs seeded with x_i = variable(v_i, i), D = n,
// returns its gradient in d[0..n).
//
// Higher order. The scalar S may itself be dual. With x = (v + p e) + (q + r e) g, the tangent of the tangent
// holds second derivatives: seeding p = q = 1, r = 0, f(x).d[0].d[0] = f''(v). Any depth works, and any
// lanes: Dual<Dual<Pack<double, 8>>> is eight worlds with their second derivatives.
//
// In this engine duals are forward mode (the jvp of a templated kernel) and the oracle that hand-written
// adjoints are tested against.
//
// Where a function has a corner, comparisons and select decide on values, and these conventions hold:
//   abs, sign, floor, trunc, round   abs'(0) = 0; the others are flat everywhere
//   min, max                         of equal arguments the first is taken, with its tangent
//   hypot, atan2                     the derivative at the origin is 0
//   pow(x, y)                        at x = 0: d/dx is finite for y >= 1 (1 for y = 1, 0 above) and 0 for
//                                    y = 0; d/dy is 0 there. At x < 0 (whole y): d/dx as usual; d/dy, which
//                                    is not real, is given as 0.
//   sqrt, cbrt at 0; asin, acos at +-1; log at 0; pow(0, y) with y < 1
//                                    the slope is infinite and the tangent is too, or NaN (0 times infinity).
//                                    A kernel that can arrive there selects a safe argument first.
//
// Tests: tests/ad/dual_test.cpp.
#pragma once

#include "costate/core/functions.h"

namespace costate {

template <class S, int D = 1>
struct Dual {
  static_assert(D >= 1, "a dual has at least one direction");
  using Inner = S;
  static constexpr int directions = D;
  using MaskType = mask_t<S>;

  S v;     // value
  S d[D];  // tangents

  Dual() = default;
  // A constant: whatever converts to S (numbers, packs, duals of less depth), with tangent zero.
  template <class U>
  requires(std::is_convertible_v<U, S> && !std::is_same_v<U, Dual>) COSTATE_HD COSTATE_INLINE
      Dual(const U& constant)
      : v(constant) {
    for (int i = 0; i < D; ++i) d[i] = S(0);
  }
  COSTATE_HD COSTATE_INLINE Dual(const S& value, const S& tangent) requires(D == 1) : v(value), d{tangent} {}

  // The i-th independent variable: tangent 1 in direction i, 0 in the others.
  static COSTATE_HD COSTATE_INLINE Dual variable(const S& value, int i = 0) {
    Dual r(value);
    r.d[i] = S(1);
    return r;
  }
  // Lanes of values with tangent zero, so that kernels load duals as they load packs.
  static COSTATE_HD COSTATE_INLINE Dual load(const value_t<S>* from) { return Dual(costate::load<S>(from)); }

  // f(this), given f and f' at the value.
  COSTATE_HD COSTATE_INLINE Dual chain(const S& f, const S& slope) const {
    Dual r;
    r.v = f;
    for (int i = 0; i < D; ++i) r.d[i] = slope * d[i];
    return r;
  }
  // f(a, b), given f and its two partial derivatives at the values.
  static COSTATE_HD COSTATE_INLINE Dual chain(const S& f, const S& slope_a, const Dual& a, const S& slope_b,
                                              const Dual& b) {
    Dual r;
    r.v = f;
    for (int i = 0; i < D; ++i) r.d[i] = slope_a * a.d[i] + slope_b * b.d[i];
    return r;
  }

  // --- dual with dual ------------------------------------------------------------------------------------
  friend COSTATE_HD COSTATE_INLINE Dual operator+(const Dual& a, const Dual& b) {
    Dual r;
    r.v = a.v + b.v;
    for (int i = 0; i < D; ++i) r.d[i] = a.d[i] + b.d[i];
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Dual operator-(const Dual& a, const Dual& b) {
    Dual r;
    r.v = a.v - b.v;
    for (int i = 0; i < D; ++i) r.d[i] = a.d[i] - b.d[i];
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Dual operator*(const Dual& a, const Dual& b) {
    return chain(a.v * b.v, b.v, a, a.v, b);
  }
  friend COSTATE_HD COSTATE_INLINE Dual operator/(const Dual& a, const Dual& b) {
    Dual r;
    r.v = a.v / b.v;
    const S inverse = S(1) / b.v;
    for (int i = 0; i < D; ++i) r.d[i] = (a.d[i] - r.v * b.d[i]) * inverse;
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Dual operator-(const Dual& a) {
    Dual r;
    r.v = -a.v;
    for (int i = 0; i < D; ++i) r.d[i] = -a.d[i];
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Dual operator+(const Dual& a) { return a; }

  // --- dual with constant: no arithmetic on tangents that are zero --------------------------------
  template <class U>
  static constexpr bool is_constant = std::is_convertible_v<U, S> && !std::is_same_v<U, Dual>;
  // Plain numbers stay plain all the way in, packs and inner duals become S.
  template <class U>
  using Constant = std::conditional_t<std::is_arithmetic_v<U>, value_t<S>, S>;

  template <class U>
  requires is_constant<U>
  friend COSTATE_HD COSTATE_INLINE Dual operator+(Dual a, const U& b) {
    a.v = a.v + Constant<U>(b);
    return a;
  }
  template <class U>
  requires is_constant<U>
  friend COSTATE_HD COSTATE_INLINE Dual operator+(const U& a, Dual b) {
    b.v = Constant<U>(a) + b.v;
    return b;
  }
  template <class U>
  requires is_constant<U>
  friend COSTATE_HD COSTATE_INLINE Dual operator-(Dual a, const U& b) {
    a.v = a.v - Constant<U>(b);
    return a;
  }
  template <class U>
  requires is_constant<U>
  friend COSTATE_HD COSTATE_INLINE Dual operator-(const U& a, const Dual& b) {
    Dual r;
    r.v = Constant<U>(a) - b.v;
    for (int i = 0; i < D; ++i) r.d[i] = -b.d[i];
    return r;
  }
  template <class U>
  requires is_constant<U>
  friend COSTATE_HD COSTATE_INLINE Dual operator*(Dual a, const U& b) {
    const Constant<U> c(b);
    a.v = a.v * c;
    for (int i = 0; i < D; ++i) a.d[i] = a.d[i] * c;
    return a;
  }
  template <class U>
  requires is_constant<U>
  friend COSTATE_HD COSTATE_INLINE Dual operator*(const U& a, const Dual& b) { return b * a; }
  template <class U>
  requires is_constant<U>
  friend COSTATE_HD COSTATE_INLINE Dual operator/(Dual a, const U& b) {
    const Constant<U> c(b);
    a.v = a.v / c;
    for (int i = 0; i < D; ++i) a.d[i] = a.d[i] / c;
    return a;
  }
  template <class U>
  requires is_constant<U>
  friend COSTATE_HD COSTATE_INLINE Dual operator/(const U& a, const Dual& b) {
    const S quotient = Constant<U>(a) / b.v;
    return b.chain(quotient, -quotient / b.v);
  }

  template <class U>
  COSTATE_HD COSTATE_INLINE Dual& operator+=(const U& b) {
    return *this = *this + b;
  }
  template <class U>
  COSTATE_HD COSTATE_INLINE Dual& operator-=(const U& b) {
    return *this = *this - b;
  }
  template <class U>
  COSTATE_HD COSTATE_INLINE Dual& operator*=(const U& b) {
    return *this = *this * b;
  }
  template <class U>
  COSTATE_HD COSTATE_INLINE Dual& operator/=(const U& b) {
    return *this = *this / b;
  }

  // --- comparisons look at values -----------------------------------------------------------------
  friend COSTATE_HD COSTATE_INLINE MaskType operator<(const Dual& a, const Dual& b) { return a.v < b.v; }
  friend COSTATE_HD COSTATE_INLINE MaskType operator<=(const Dual& a, const Dual& b) { return a.v <= b.v; }
  friend COSTATE_HD COSTATE_INLINE MaskType operator>(const Dual& a, const Dual& b) { return a.v > b.v; }
  friend COSTATE_HD COSTATE_INLINE MaskType operator>=(const Dual& a, const Dual& b) { return a.v >= b.v; }
  friend COSTATE_HD COSTATE_INLINE MaskType operator==(const Dual& a, const Dual& b) { return a.v == b.v; }
  friend COSTATE_HD COSTATE_INLINE MaskType operator!=(const Dual& a, const Dual& b) { return a.v != b.v; }

  friend COSTATE_HD COSTATE_INLINE Dual select(const MaskType& m, const Dual& a, const Dual& b) {
    Dual r;
    r.v = select(m, a.v, b.v);
    for (int i = 0; i < D; ++i) r.d[i] = select(m, a.d[i], b.d[i]);
    return r;
  }
};

template <class S, int D>
struct ScalarTraits<Dual<S, D>> {
  using Value = value_t<S>;
  using MaskType = mask_t<S>;
  static constexpr int lanes = lanes_of<S>;
};

template <class S>
inline constexpr bool is_dual = false;
template <class S, int D>
inline constexpr bool is_dual<Dual<S, D>> = true;
template <class S>
concept AnyDual = is_dual<S>;

// The number under all tangents: a float, a double or a pack.
template <class S>
COSTATE_HD COSTATE_INLINE const auto& primal(const S& x) {
  if constexpr (is_dual<S>)
    return primal(x.v);
  else
    return x;
}

}  // namespace costate

#include "costate/ad/dual_functions.h"

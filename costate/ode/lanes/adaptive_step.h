// One step of an embedded pair in SIMD lanes, and its transpose: each lane is a world with its own t and h.
//
// Equations in explicit_rk.h; here stages and coefficients are unrolled at compile time (Pair: DormandPrince
// or Tsitouras of core/runge_kutta.h). A lane with h = 0 stands still, and its transpose is the identity:
// that is how a rejected step is replayed.
//
// Rhs as in fixed_step.h, without controls.
// Tests: tests/ode/lanes/adaptive_ensemble_test.cpp.
#pragma once

#include <bit>
#include <utility>

#include "costate/core/functions.h"
#include "costate/core/runge_kutta.h"
#include "costate/core/vec.h"

namespace costate::ode {

template <int... I, class Body>
COSTATE_INLINE void unrolled(std::integer_sequence<int, I...>, const Body& body) {
  (body.template operator()<I>(), ...);
}

// The number whose bits are 0x7fde6238502484ba: the exponent of 1 / x is that of 2 minus twice the bias less
// that of x, and the mantissa makes the straight line between powers of two as good as it gets (12 %).
inline constexpr double kReciprocalMagic = std::bit_cast<double>(0x7fde6238502484baULL);

// Powers to a few digits, which is all that a step size controller needs, from the bits of the number.
template <class S>
COSTATE_INLINE S rough_log2(const S& x) {  // x > 0 and normal; error below 0.01
  using F = simd::format<S>;
  const auto bits = simd::to_bits(x);
  const auto one = simd::to_bits(S(1.0)), magic = simd::to_bits(S(4503599627370496.0));  // 2^52
  const S exponent =
      simd::from_bits<S>(simd::shift_right<S>(bits, F::mantissa_bits) | magic) - S(4503599627370496.0);
  const S m = simd::from_bits<S>((bits & F::mantissa_mask) | one);
  return exponent - S(1023.0 + 5.0 / 3) + m * (S(2.0) - S(1.0 / 3) * m);
}
template <class S>
COSTATE_INLINE S rough_exp2(const S& y) {  // |y| < 1000; relative error below 0.003
  const S n = simd::round_down(y), f = y - n;
  return simd::power_of_two(n) * (S(1.0) + f * (S(0.6565) + S(0.3435) * f));
}

template <class S>
COSTATE_INLINE S rough_reciprocal(const S& x) {  // x > 0 and normal; relative error below 2e-4
  const S y = simd::from_bits<S>(simd::to_bits(S(kReciprocalMagic)) - simd::to_bits(x));
  const S z = y * (S(2.0) - x * y);
  return z * (S(2.0) - x * z);
}

template <class Rhs, class Pair, class S>
struct AdaptiveStep {
  static constexpr int NX = Rhs::states, NP = Rhs::parameters;
  static_assert(Rhs::controls == 0, "controls do not fit steps of varying length");
  using X = Vec<S, NX>;
  using P = Vec<S, NP>;
  using V = value_t<S>;

  // sum_j a[Row][j] k_j
  template <int Row>
  static COSTATE_INLINE X increment(const X* k) {
    X sum = S(V(Pair::a[Row][0])) * k[0];
    unrolled(std::make_integer_sequence<int, (Row > 1 ? Row - 1 : 0)>{}, [&]<int J>() {
      if constexpr (Pair::a[Row][J + 1] != 0) {
        for (int i = 0; i < NX; ++i) sum[i] += S(V(Pair::a[Row][J + 1])) * k[J + 1][i];
      }
    });
    return sum;
  }
  static COSTATE_INLINE X moved(const X& x, const S& h, const X& rate) {
    X y;
    for (int i = 0; i < NX; ++i) y[i] = x[i] + h * rate[i];
    return y;
  }

  // k[I] from those before it; returns its argument, which for the last is the end of the step.
  template <int I>
  static COSTATE_INLINE X stage(const S& t, const S& h, const X& x, const P& p, X* k) {
    const X y = moved(x, h, increment<I>(k));
    k[I] = Rhs::value(t + S(V(Pair::c[I])) * h, y, Vec<S, 0>{}, p);
    return y;
  }
  // k[0] is known; fills k[1..6] and returns the end of the step.
  static COSTATE_INLINE X step(const S& t, const S& h, const X& x, const P& p, X* k) {
    X y = x;
    unrolled(std::make_integer_sequence<int, 6>{}, [&]<int I>() { y = stage<I + 1>(t, h, x, p, k); });
    return y;
  }

  // The error estimate of the step.
  static COSTATE_INLINE X error(const S& h, const X* k) {
    X e = S(V(Pair::e[0])) * k[0];
    unrolled(std::make_integer_sequence<int, 6>{}, [&]<int J>() {
      if constexpr (Pair::e[J + 1] != 0) {
        for (int i = 0; i < NX; ++i) e[i] += S(V(Pair::e[J + 1])) * k[J + 1][i];
      }
    });
    return h * e;
  }
  // Square of its norm: the mean of (e_i / scale_i)^2.
  static COSTATE_INLINE S norm_squared(const X& e, const X& x, const X& y, const S& rtol, const S& atol) {
    S sum(0);
    for (int i = 0; i < NX; ++i) {
      const S ratio = e[i] * rough_reciprocal(atol + rtol * max(abs(x[i]), abs(y[i])));
      sum += ratio * ratio;
    }
    return sum * S(V(1.0 / NX));
  }

  // x_bar from y_bar, with the stages recomputed from x; adds to p_bar.
  static COSTATE_INLINE X step_vjp(const S& t, const S& h, const X& x, const P& p, const X& y_bar, P& p_bar) {
    X k[6], s[6], k_bar[6];
    s[0] = x;
    k[0] = Rhs::value(t, x, Vec<S, 0>{}, p);
    unrolled(std::make_integer_sequence<int, 5>{}, [&]<int I>() {
      s[I + 1] = moved(x, h, increment<I + 1>(k));
      if constexpr (I < 4) k[I + 1] = Rhs::value(t + S(V(Pair::c[I + 1])) * h, s[I + 1], Vec<S, 0>{}, p);
    });
    unrolled(std::make_integer_sequence<int, 6>{},
             [&]<int I>() { k_bar[I] = (h * S(V(Pair::b[I]))) * y_bar; });
    X x_bar = y_bar;
    S t_bar(0);
    Vec<S, 0> no_control{};
    unrolled(std::make_integer_sequence<int, 6>{}, [&]<int R>() {
      constexpr int I = 5 - R;
      const X s_bar =
          Rhs::vjp(t + S(V(Pair::c[I])) * h, s[I], no_control, p, k_bar[I], t_bar, no_control, p_bar);
      x_bar += s_bar;
      unrolled(std::make_integer_sequence<int, I>{}, [&]<int J>() {
        if constexpr (Pair::a[I][J] != 0) {
          const S weight = h * S(V(Pair::a[I][J]));
          for (int i = 0; i < NX; ++i) k_bar[J][i] += weight * s_bar[i];
        }
      });
    });
    return x_bar;
  }
};

}  // namespace costate::ode

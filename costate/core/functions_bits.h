// What the elementary functions are made of: the bits of a number, true fused multiply-add, square root,
// rounding, sign, min and max, and polynomials, on every plain scalar S (float, double, Pack<T, N>).
//
// One source serves a world, a pack of worlds and a GPU thread, and gives the same bits for one world as for
// eight. The build allows the compiler to contract a * b + c into one rounding where it likes, so code whose
// bits must not depend on that choice never adds a product: it writes fma(a, b, c) wherever one meets the
// other.
//
// Nothing here raises FE_INVALID or FE_DIVBYZERO for finite arguments in a function's domain.
// Tests: tests/core/functions_test.cpp.
#pragma once

#include <limits>
#include <type_traits>

#include "costate/core/pack.h"

namespace costate {

template <class S>
inline constexpr bool is_real = false;
template <>
inline constexpr bool is_real<float> = true;
template <>
inline constexpr bool is_real<double> = true;
template <class T, int N>
inline constexpr bool is_real<Pack<T, N>> = true;
// A scalar without derivatives: float, double, or a pack of them.
template <class S>
concept Real = is_real<S>;

// The scalar in which a function of two arguments computes: max(pack, 0.0) is a pack, max(2, 0.5) a double.
template <class A, class B>
struct CommonScalar {
  using type = std::conditional_t<std::is_convertible_v<A, B>, B, A>;
};
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) struct CommonScalar<A, B> {
  using type =
      std::conditional_t<std::is_integral_v<std::common_type_t<A, B>>, double, std::common_type_t<A, B>>;
};
template <class A, class B>
using common_scalar = typename CommonScalar<A, B>::type;

namespace simd {

// --- bits -----------------------------------------------------------------------------------------

template <class T>
struct Format;
template <>
struct Format<double> {
  using Int = std::int64_t;
  using Unsigned = std::uint64_t;
  static constexpr int mantissa_bits = 52;
  static constexpr Int exponent_bias = 1023;
  static constexpr Int sign = std::numeric_limits<Int>::min();
  static constexpr Int exponent_mask = 0x7ff0000000000000;
  static constexpr Int mantissa_mask = 0x000fffffffffffff;
  // Adding 1.5 * 2^52 leaves the nearest integer in the lowest bits of the sum.
  static constexpr double round_magic = 0x1.8p52;
  static constexpr double smallest_normal = 0x1p-1022;
};
template <>
struct Format<float> {
  using Int = std::int32_t;
  using Unsigned = std::uint32_t;
  static constexpr int mantissa_bits = 23;
  static constexpr Int exponent_bias = 127;
  static constexpr Int sign = std::numeric_limits<Int>::min();
  static constexpr Int exponent_mask = 0x7f800000;
  static constexpr Int mantissa_mask = 0x007fffff;
  static constexpr float round_magic = 0x1.8p23f;
  static constexpr float smallest_normal = 0x1p-126f;
};
template <class S>
using format = Format<value_t<S>>;
template <class S>
inline constexpr bool is_double = std::is_same_v<value_t<S>, double>;

// The integer, or vector of integers, that holds the bits of an S.
template <class S>
struct BitsOf {
  using type = typename Format<S>::Int;
};
template <class T, int N>
struct BitsOf<Pack<T, N>> {
  using type = typename VectorOf<typename Format<T>::Int, N>::type;
};
template <class S>
using bits_t = typename BitsOf<S>::type;

template <Real S>
COSTATE_HD COSTATE_INLINE bits_t<S> to_bits(S x) {
  bits_t<S> b;
  if constexpr (lanes_of<S> == 1)
    memcpy(&b, &x, sizeof(S));
  else
    b = (bits_t<S>)x.v;
  return b;
}
template <Real S>
COSTATE_HD COSTATE_INLINE S from_bits(bits_t<S> b) {
  if constexpr (lanes_of<S> == 1) {
    S x;
    memcpy(&x, &b, sizeof(S));
    return x;
  } else {
    return S((typename S::Vector)b);
  }
}
template <Real S>
COSTATE_HD COSTATE_INLINE bits_t<S> shift_left(bits_t<S> b, int n) {
  using U = typename format<S>::Unsigned;
  if constexpr (lanes_of<S> == 1)
    return bits_t<S>(U(b) << n);
  else
    return (bits_t<S>)((typename VectorOf<U, lanes_of<S>>::type)b << U(n));
}
template <Real S>
COSTATE_HD COSTATE_INLINE bits_t<S> shift_right(bits_t<S> b, int n) {  // zeros come in from the left
  using U = typename format<S>::Unsigned;
  if constexpr (lanes_of<S> == 1)
    return bits_t<S>(U(b) >> n);
  else
    return (bits_t<S>)((typename VectorOf<U, lanes_of<S>>::type)b >> U(n));
}
// True where a bit of `which` is set in b.
template <Real S>
COSTATE_HD COSTATE_INLINE mask_t<S> test_bits(bits_t<S> b, typename format<S>::Int which) {
  if constexpr (lanes_of<S> == 1)
    return (b & which) != 0;
  else
    return mask_t<S>((b & which) != 0);
}

// --- registers ------------------------------------------------------------------------------------

// The instructions that the vector types of the compiler have no operator for.
template <class T, int Bytes>
struct Register {
  static constexpr bool exists = false;
};
#if defined(COSTATE_X86_SIMD) && defined(__FMA__)
#define COSTATE_REGISTER(T, BYTES, NATIVE, FMA, SQRT, ROUND)                                \
  template <>                                                                               \
  struct Register<T, BYTES> {                                                               \
    static constexpr bool exists = true;                                                    \
    using Native = NATIVE;                                                                  \
    static COSTATE_INLINE Native fma(Native a, Native b, Native c) { return FMA(a, b, c); } \
    static COSTATE_INLINE Native sqrt(Native a) { return SQRT(a); }                         \
    static COSTATE_INLINE Native floor(Native a) {                                          \
      return ROUND(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);                           \
    }                                                                                       \
    static COSTATE_INLINE Native trunc(Native a) {                                          \
      return ROUND(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);                              \
    }                                                                                       \
  };
COSTATE_REGISTER(double, 16, __m128d, _mm_fmadd_pd, _mm_sqrt_pd, _mm_round_pd)
COSTATE_REGISTER(float, 16, __m128, _mm_fmadd_ps, _mm_sqrt_ps, _mm_round_ps)
COSTATE_REGISTER(double, 32, __m256d, _mm256_fmadd_pd, _mm256_sqrt_pd, _mm256_round_pd)
COSTATE_REGISTER(float, 32, __m256, _mm256_fmadd_ps, _mm256_sqrt_ps, _mm256_round_ps)
#if defined(__AVX512F__)
// With a mask of ones: the plain forms read an undefined register in g++'s headers, and it warns of that.
#define COSTATE_SQRT_PD(a) _mm512_maskz_sqrt_pd(__mmask8(-1), a)
#define COSTATE_SQRT_PS(a) _mm512_maskz_sqrt_ps(__mmask16(-1), a)
#define COSTATE_ROUND_PD(a, how) _mm512_maskz_roundscale_pd(__mmask8(-1), a, how)
#define COSTATE_ROUND_PS(a, how) _mm512_maskz_roundscale_ps(__mmask16(-1), a, how)
COSTATE_REGISTER(double, 64, __m512d, _mm512_fmadd_pd, COSTATE_SQRT_PD, COSTATE_ROUND_PD)
COSTATE_REGISTER(float, 64, __m512, _mm512_fmadd_ps, COSTATE_SQRT_PS, COSTATE_ROUND_PS)
#undef COSTATE_SQRT_PD
#undef COSTATE_SQRT_PS
#undef COSTATE_ROUND_PD
#undef COSTATE_ROUND_PS
#endif
#undef COSTATE_REGISTER
#endif

template <class T, int N>
COSTATE_INLINE Pack<T, N / 2> half(Pack<T, N> a, int which) {
  Pack<T, N / 2> r;
  std::memcpy(&r.v, reinterpret_cast<const char*>(&a.v) + which * sizeof(r.v), sizeof(r.v));
  return r;
}
template <class T, int N>
COSTATE_INLINE Pack<T, 2 * N> join(Pack<T, N> low, Pack<T, N> high) {
  Pack<T, 2 * N> r;
  std::memcpy(&r.v, &low.v, sizeof(low.v));
  std::memcpy(reinterpret_cast<char*>(&r.v) + sizeof(low.v), &high.v, sizeof(high.v));
  return r;
}

// f on packs that fit a register: wider packs go through it half by half.
template <class F, class T, int N, class... More>
COSTATE_INLINE Pack<T, N> by_register(F f, Pack<T, N> a, More... more) {
  if constexpr (N * int(sizeof(T)) > kSimdBytes && N > 2) {
    return join(by_register(f, half(a, 0), half(more, 0)...), by_register(f, half(a, 1), half(more, 1)...));
  } else {
    return f(a, more...);
  }
}
template <class F, class T, int N>
COSTATE_INLINE Pack<T, N> by_lane(F f, Pack<T, N> a) {
  Pack<T, N> r;
  for (int i = 0; i < N; ++i) r.set(i, f(a[i]));
  return r;
}

// --- the same operations on one number ------------------------------------------------------------

#if defined(__CUDA_ARCH__)
COSTATE_HD COSTATE_INLINE double fused(double a, double b, double c) { return ::fma(a, b, c); }
COSTATE_HD COSTATE_INLINE float fused(float a, float b, float c) { return ::fmaf(a, b, c); }
COSTATE_HD COSTATE_INLINE double square_root(double a) { return ::sqrt(a); }
COSTATE_HD COSTATE_INLINE float square_root(float a) { return ::sqrtf(a); }
COSTATE_HD COSTATE_INLINE double round_down(double a) { return ::floor(a); }
COSTATE_HD COSTATE_INLINE float round_down(float a) { return ::floorf(a); }
COSTATE_HD COSTATE_INLINE double round_to_zero(double a) { return ::trunc(a); }
COSTATE_HD COSTATE_INLINE float round_to_zero(float a) { return ::truncf(a); }
#else
COSTATE_HD COSTATE_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
COSTATE_HD COSTATE_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
COSTATE_HD COSTATE_INLINE double square_root(double a) { return __builtin_sqrt(a); }
COSTATE_HD COSTATE_INLINE float square_root(float a) { return __builtin_sqrtf(a); }
COSTATE_HD COSTATE_INLINE double round_down(double a) { return __builtin_floor(a); }
COSTATE_HD COSTATE_INLINE float round_down(float a) { return __builtin_floorf(a); }
COSTATE_HD COSTATE_INLINE double round_to_zero(double a) { return __builtin_trunc(a); }
COSTATE_HD COSTATE_INLINE float round_to_zero(float a) { return __builtin_truncf(a); }
#endif

template <class T, int N>
COSTATE_INLINE Pack<T, N> fused(Pack<T, N> a, Pack<T, N> b, Pack<T, N> c) {
  return by_register(
      []<int M>(Pack<T, M> x, Pack<T, M> y, Pack<T, M> z) {
        using R = Register<T, M* int(sizeof(T))>;
        if constexpr (R::exists) {
          using Native = typename R::Native;
          return Pack<T, M>((typename Pack<T, M>::Vector)R::fma((Native)x.v, (Native)y.v, (Native)z.v));
        } else {
          Pack<T, M> r;
          for (int i = 0; i < M; ++i) r.set(i, fused(x[i], y[i], z[i]));
          return r;
        }
      },
      a, b, c);
}
template <class T, int N>
COSTATE_INLINE Pack<T, N> square_root(Pack<T, N> a) {
  return by_register(
      []<int M>(Pack<T, M> x) {
        using R = Register<T, M* int(sizeof(T))>;
        if constexpr (R::exists)
          return Pack<T, M>((typename Pack<T, M>::Vector)R::sqrt((typename R::Native)x.v));
        else
          return by_lane([](T one) { return square_root(one); }, x);
      },
      a);
}
template <class T, int N>
COSTATE_INLINE Pack<T, N> round_down(Pack<T, N> a) {
  return by_register(
      []<int M>(Pack<T, M> x) {
        using R = Register<T, M* int(sizeof(T))>;
        if constexpr (R::exists)
          return Pack<T, M>((typename Pack<T, M>::Vector)R::floor((typename R::Native)x.v));
        else
          return by_lane([](T one) { return round_down(one); }, x);
      },
      a);
}
template <class T, int N>
COSTATE_INLINE Pack<T, N> round_to_zero(Pack<T, N> a) {
  return by_register(
      []<int M>(Pack<T, M> x) {
        using R = Register<T, M* int(sizeof(T))>;
        if constexpr (R::exists)
          return Pack<T, M>((typename Pack<T, M>::Vector)R::trunc((typename R::Native)x.v));
        else
          return by_lane([](T one) { return round_to_zero(one); }, x);
      },
      a);
}

// --- building blocks ------------------------------------------------------------------------------

// 2^n for a whole number n in the range of normal exponents: n + bias lands in the low bits and moves to the
// exponent.
template <Real S>
COSTATE_HD COSTATE_INLINE S power_of_two(S n) {
  using T = value_t<S>;
  using F = Format<T>;
  return from_bits<S>(shift_left<S>(to_bits(n + S(F::round_magic + T(F::exponent_bias))), F::mantissa_bits));
}

// c0 + c1 x + c2 x^2 + ... by Estrin's scheme: halves of the sum are independent, so the latency grows with
// log n.
template <int First, int Count, class S, class T, int N>
COSTATE_HD COSTATE_INLINE S polynomial_part(const T (&c)[N], S x, S x2, S x4, S x8) {
  if constexpr (Count == 1) {
    return S(c[First]);
  } else if constexpr (Count == 2) {
    return fused(S(c[First + 1]), x, S(c[First]));
  } else {
    constexpr int half = Count > 8 ? 8 : Count > 4 ? 4 : 2;
    static_assert(Count <= 16);
    const S power = half == 8 ? x8 : half == 4 ? x4 : x2;
    return fused(polynomial_part<First + half, Count - half>(c, x, x2, x4, x8), power,
                 polynomial_part<First, half>(c, x, x2, x4, x8));
  }
}
template <Real S, class... C>
COSTATE_HD COSTATE_INLINE S polynomial(S x, C... coefficients) {
  constexpr int n = sizeof...(C);
  const value_t<S> c[n] = {value_t<S>(coefficients)...};
  const S x2 = x * x;
  const S x4 = x2 * x2;
  return polynomial_part<0, n>(c, x, x2, x4, x4 * x4);
}

template <Real S>
inline constexpr value_t<S> infinity = std::numeric_limits<value_t<S>>::infinity();
template <Real S>
inline constexpr value_t<S> not_a_number = std::numeric_limits<value_t<S>>::quiet_NaN();

}  // namespace simd

// --- functions that are one or two instructions ---------------------------------------------------

// a * b + c rounded once.
template <class A, class B, class C>
requires Real<common_scalar<common_scalar<A, B>, C>> COSTATE_HD COSTATE_INLINE auto fma(A a, B b, C c) {
  using S = common_scalar<common_scalar<A, B>, C>;
  return simd::fused(S(a), S(b), S(c));
}

template <Real S>
COSTATE_HD COSTATE_INLINE S sqrt(S x) {
  return simd::square_root(x);
}

template <Real S>
COSTATE_HD COSTATE_INLINE S abs(S x) {
  return simd::from_bits<S>(simd::to_bits(x) & ~simd::format<S>::sign);
}

// The magnitude of `magnitude` with the sign bit of `sign`.
template <class A, class B>
requires Real<common_scalar<A, B>> COSTATE_HD COSTATE_INLINE auto copysign(A magnitude, B sign) {
  using S = common_scalar<A, B>;
  constexpr auto bit = simd::format<S>::sign;
  return simd::from_bits<S>((simd::to_bits(S(magnitude)) & ~bit) | (simd::to_bits(S(sign)) & bit));
}

// -1, 0 or 1; a zero or a NaN stays what it is.
template <Real S>
COSTATE_HD COSTATE_INLINE S sign(S x) {
  return select(x > S(0), S(1), select(x < S(0), S(-1), x));
}

// The smaller and the larger: the first of equal ones. A NaN on either side stays: a clamp must not hide it.
template <class A, class B>
requires Real<common_scalar<A, B>> COSTATE_HD COSTATE_INLINE auto min(A first, B second) {
  using S = common_scalar<A, B>;
  const S a(first), b(second);
  return select(b != b, b, select(b < a, b, a));
}
template <class A, class B>
requires Real<common_scalar<A, B>> COSTATE_HD COSTATE_INLINE auto max(A first, B second) {
  using S = common_scalar<A, B>;
  const S a(first), b(second);
  return select(b != b, b, select(b > a, b, a));
}

template <Real S>
COSTATE_HD COSTATE_INLINE S floor(S x) {
  return simd::round_down(x);
}

// Towards zero.
template <Real S>
COSTATE_HD COSTATE_INLINE S trunc(S x) {
  return simd::round_to_zero(x);
}

// To the nearest whole number, halves away from zero.
template <Real S>
COSTATE_HD COSTATE_INLINE S round(S x) {
  const S a = abs(x);
  const S whole = trunc(a);
  const S finite = select(a < S(simd::infinity<S>), a, S(0));
  const S fraction = finite - trunc(finite);
  return copysign(select(fraction < S(0.5), whole, whole + S(1)), x);
}

// True where x is neither infinite nor NaN. Looks at bits only: a NaN raises nothing.
template <Real S>
COSTATE_HD COSTATE_INLINE mask_t<S> is_finite(S x) {
  using F = simd::format<S>;
  // The complement of an all-ones exponent has no bit set.
  return simd::test_bits<S>(~simd::to_bits(x), F::exponent_mask);
}

}  // namespace costate

// Pack<T, N>: N worlds side by side in SIMD lanes, used as if it were one number.
//
// A kernel is written once as a template on its scalar S. With S = double it computes one world, with
// S = Pack<double, 8> it computes eight at the price of one, with S = Dual<Pack<double, 8>> it carries
// derivatives as well. What a kernel may do with an S is arithmetic, the functions of core/functions.h,
// comparison to a mask_t<S>, and select(mask, a, b). It never branches on a value: lanes differ. `any(mask)`
// is for skipping work that no lane needs.
//
// The lanes are a GCC/clang vector type, which compiles to single instructions; loops over an array of lanes
// do not.
// Tests: tests/core/pack_test.cpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "costate/core/platform.h"

#if !defined(__CUDA_ARCH__) && (defined(__AVX__) || defined(__AVX512F__))
#include <immintrin.h>
#define COSTATE_X86_SIMD 1
#endif

namespace costate {

namespace simd {

// The compiler's vector of N numbers. In a struct of its own: g++ loses the attribute of a dependent typedef
// that is used as a parameter of the class that declares it.
template <class T, int N>
struct VectorOf {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T>
using IntLike = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

}  // namespace simd

// Result of comparing packs: all bits of a lane set or clear.
template <class T, int N>
struct Mask {
  using Int = simd::IntLike<T>;
  using Vector = typename simd::VectorOf<Int, N>::type;
  Vector v;

  Mask() = default;
  COSTATE_INLINE explicit Mask(Vector bits) : v(bits) {}
  COSTATE_INLINE Mask(bool all) : v(Vector{} - Int(all)) {}
  COSTATE_INLINE bool operator[](int lane) const { return v[lane] != 0; }

  friend COSTATE_INLINE Mask operator&(Mask a, Mask b) { return Mask(a.v & b.v); }
  friend COSTATE_INLINE Mask operator|(Mask a, Mask b) { return Mask(a.v | b.v); }
  friend COSTATE_INLINE Mask operator^(Mask a, Mask b) { return Mask(a.v ^ b.v); }
  friend COSTATE_INLINE Mask operator!(Mask a) { return Mask(~a.v); }
};

template <class T, int N>
struct Pack {
  static_assert(N > 1 && (N & (N - 1)) == 0, "a pack has a power of two lanes");
  using value_type = T;
  static constexpr int lanes = N;
  using Vector = typename simd::VectorOf<T, N>::type;
  Vector v;

  Pack() = default;
  COSTATE_INLINE Pack(T all)
      : v(all - Vector{}) {}  // x - 0 is x for every x, -0 too: it compiles to a broadcast
  COSTATE_INLINE explicit Pack(Vector lanes_) : v(lanes_) {}
  COSTATE_INLINE T operator[](int lane) const { return v[lane]; }
  COSTATE_INLINE void set(int lane, T value) { v[lane] = value; }

  static COSTATE_INLINE Pack load(const T* from) {
    Pack r;
    std::memcpy(&r.v, __builtin_assume_aligned(from, sizeof(Vector)), sizeof(Vector));
    return r;
  }
  COSTATE_INLINE void store(T* to) const {
    std::memcpy(__builtin_assume_aligned(to, sizeof(Vector)), &v, sizeof(Vector));
  }
  static COSTATE_INLINE Pack load_unaligned(const T* from) {
    Pack r;
    std::memcpy(&r.v, from, sizeof(Vector));
    return r;
  }
  COSTATE_INLINE void store_unaligned(T* to) const { std::memcpy(to, &v, sizeof(Vector)); }

  friend COSTATE_INLINE Pack operator+(Pack a, Pack b) { return Pack(a.v + b.v); }
  friend COSTATE_INLINE Pack operator-(Pack a, Pack b) { return Pack(a.v - b.v); }
  friend COSTATE_INLINE Pack operator*(Pack a, Pack b) { return Pack(a.v * b.v); }
  friend COSTATE_INLINE Pack operator/(Pack a, Pack b) { return Pack(a.v / b.v); }
  friend COSTATE_INLINE Pack operator-(Pack a) { return Pack(-a.v); }
  friend COSTATE_INLINE Pack operator+(Pack a) { return a; }
  COSTATE_INLINE Pack& operator+=(Pack b) {
    v += b.v;
    return *this;
  }
  COSTATE_INLINE Pack& operator-=(Pack b) {
    v -= b.v;
    return *this;
  }
  COSTATE_INLINE Pack& operator*=(Pack b) {
    v *= b.v;
    return *this;
  }
  COSTATE_INLINE Pack& operator/=(Pack b) {
    v /= b.v;
    return *this;
  }

  friend COSTATE_INLINE Mask<T, N> operator<(Pack a, Pack b) { return Mask<T, N>(a.v < b.v); }
  friend COSTATE_INLINE Mask<T, N> operator<=(Pack a, Pack b) { return Mask<T, N>(a.v <= b.v); }
  friend COSTATE_INLINE Mask<T, N> operator>(Pack a, Pack b) { return Mask<T, N>(a.v > b.v); }
  friend COSTATE_INLINE Mask<T, N> operator>=(Pack a, Pack b) { return Mask<T, N>(a.v >= b.v); }
  friend COSTATE_INLINE Mask<T, N> operator==(Pack a, Pack b) { return Mask<T, N>(a.v == b.v); }
  friend COSTATE_INLINE Mask<T, N> operator!=(Pack a, Pack b) { return Mask<T, N>(a.v != b.v); }
};

// The pack that fills one register of this machine.
template <class T>
inline constexpr int kNativeLanes = kSimdBytes / int(sizeof(T));
template <class T>
using NativePack = Pack<T, kNativeLanes<T>>;

// --- what a kernel may ask of any scalar S: double, float, Pack, Dual (which adds its own overloads) -------

template <class S>
struct ScalarTraits {  // float, double
  using Value = S;     // the number type of one lane
  using MaskType = bool;
  static constexpr int lanes = 1;
};
template <class T, int N>
struct ScalarTraits<Pack<T, N>> {
  using Value = T;
  using MaskType = Mask<T, N>;
  static constexpr int lanes = N;
};
template <class S>
using value_t = typename ScalarTraits<S>::Value;
template <class S>
using mask_t = typename ScalarTraits<S>::MaskType;
template <class S>
inline constexpr int lanes_of = ScalarTraits<S>::lanes;

COSTATE_HD COSTATE_INLINE float select(bool m, float a, float b) { return m ? a : b; }
COSTATE_HD COSTATE_INLINE double select(bool m, double a, double b) { return m ? a : b; }
template <class T, int N>
COSTATE_INLINE Pack<T, N> select(Mask<T, N> m, Pack<T, N> a, Pack<T, N> b) {
  return Pack<T, N>(m.v ? a.v : b.v);
}
template <class T, int N>
COSTATE_INLINE Pack<T, N> select(Mask<T, N> m, Pack<T, N> a, std::type_identity_t<T> b) {
  return select(m, a, Pack<T, N>(b));
}
template <class T, int N>
COSTATE_INLINE Pack<T, N> select(Mask<T, N> m, std::type_identity_t<T> a, Pack<T, N> b) {
  return select(m, Pack<T, N>(a), b);
}

COSTATE_HD COSTATE_INLINE bool any(bool m) { return m; }
COSTATE_HD COSTATE_INLINE bool all(bool m) { return m; }
template <class T, int N>
COSTATE_INLINE bool any(Mask<T, N> m) {
#if defined(__AVX512F__) && defined(COSTATE_X86_SIMD)
  if constexpr (N * sizeof(T) == 64) return _mm512_test_epi64_mask((__m512i)m.v, (__m512i)m.v) != 0;
#endif
#if defined(COSTATE_X86_SIMD)
  if constexpr (N * sizeof(T) == 32) return _mm256_movemask_ps((__m256)m.v) != 0;
#endif
  bool r = false;
  for (int i = 0; i < N; ++i) r |= m[i];
  return r;
}
template <class T, int N>
COSTATE_INLINE bool all(Mask<T, N> m) {
  return !any(!m);
}

// One lane of S, so that host code can treat scalars and packs alike.
template <class S>
COSTATE_INLINE value_t<S> lane(const S& s, int i) {
  if constexpr (lanes_of<S> == 1)
    return s;
  else
    return s[i];
}
template <class S>
COSTATE_HD COSTATE_INLINE S load(const value_t<S>* from) {
  if constexpr (lanes_of<S> == 1)
    return *from;
  else
    return S::load(from);
}
template <class S>
COSTATE_HD COSTATE_INLINE void store(value_t<S>* to, const S& s) {
  if constexpr (lanes_of<S> == 1)
    *to = s;
  else
    s.store(to);
}

}  // namespace costate

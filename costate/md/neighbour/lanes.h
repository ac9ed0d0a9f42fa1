// Neighbours in SIMD lanes: fetching their numbers, and keeping those that a mask chooses.
//
// What is fetched for a neighbour lies together, padded to four numbers: one load per neighbour and a
// transpose in registers cost a third of three gathers.
#pragma once

#include <array>
#include <cstring>

#include "costate/core/pack.h"

namespace costate::md {

// Numbers base[index[l]] for every lane l. Masked gathers from zero: g++ 12 warns of the others, whose own
// header begins with an uninitialised register.
template <class V, class Real>
COSTATE_INLINE V gather(const Real* base, const int* index) {
  if constexpr (lanes_of<V> == 1) {
    return V(base[index[0]]);
  } else {
#if defined(__AVX512F__) && defined(COSTATE_X86_SIMD)
    if constexpr (sizeof(Real) == 4 && V::lanes == 16)
      return V((typename V::Vector)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xFFFF,
                                                            _mm512_loadu_si512(index), base, 4));
    if constexpr (sizeof(Real) == 8 && V::lanes == 8)
      return V((typename V::Vector)_mm512_mask_i32gather_pd(
          _mm512_setzero_pd(), 0xFF, _mm256_loadu_si256((const __m256i*)index), base, 8));
#endif
#if defined(__AVX2__) && defined(COSTATE_X86_SIMD)
    if constexpr (sizeof(Real) == 4 && V::lanes == 8)
      return V((typename V::Vector)_mm256_mask_i32gather_ps(_mm256_setzero_ps(), base,
                                                            _mm256_loadu_si256((const __m256i*)index),
                                                            _mm256_castsi256_ps(_mm256_set1_epi32(-1)), 4));
    if constexpr (sizeof(Real) == 8 && V::lanes == 4)
      return V((typename V::Vector)_mm256_mask_i32gather_pd(_mm256_setzero_pd(), base,
                                                            _mm_loadu_si128((const __m128i*)index),
                                                            _mm256_castsi256_pd(_mm256_set1_epi32(-1)), 8));
#endif
    V r;
    for (int l = 0; l < V::lanes; ++l) r.set(l, base[index[l]]);
    return r;
  }
}

// The first three of the four numbers base[4 index[l]] ... of every lane l.
template <class V, class Real>
COSTATE_INLINE void fetch_points(const Real* base, const int* index, V (&to)[3]) {
  if constexpr (lanes_of<V> == 1) {
    for (int k = 0; k < 3; ++k) to[k] = base[4 * index[0] + k];
  } else {
    const auto of = [&](int l) { return base + std::int64_t(4) * index[l]; };
#if defined(__AVX512DQ__) && defined(COSTATE_X86_SIMD)
    // Shuffles by their positions: in the intrinsics for 512 bits g++ sees numbers that nobody set.
    if constexpr (sizeof(Real) == 4 && V::lanes == 16) {
      typename V::Vector r[4];  // points l, l + 4, l + 8, l + 12: each put in its place as it is loaded
      for (int l = 0; l < 4; ++l) {
        __m512 four = _mm512_maskz_broadcast_f32x4(0x000F, _mm_loadu_ps(of(l)));
        four = _mm512_mask_broadcast_f32x4(four, 0x00F0, _mm_loadu_ps(of(l + 4)));
        four = _mm512_mask_broadcast_f32x4(four, 0x0F00, _mm_loadu_ps(of(l + 8)));
        r[l] = (typename V::Vector)_mm512_mask_broadcast_f32x4(four, 0xF000, _mm_loadu_ps(of(l + 12)));
      }
      const auto low = [](auto a, auto b) {
        return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
      };
      const auto high = [](auto a, auto b) {
        return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
      };
      const auto first = [](auto a, auto b) {
        return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
      };
      const auto second = [](auto a, auto b) {
        return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
      };
      to[0] = V(first(low(r[0], r[1]), low(r[2], r[3])));
      to[1] = V(second(low(r[0], r[1]), low(r[2], r[3])));
      to[2] = V(first(high(r[0], r[1]), high(r[2], r[3])));
      return;
    }
    if constexpr (sizeof(Real) == 8 && V::lanes == 8) {
      typename V::Vector r[4];  // points l, l + 4
      for (int l = 0; l < 4; ++l)
        r[l] = (typename V::Vector)_mm512_mask_broadcast_f64x4(
            _mm512_maskz_broadcast_f64x4(0x0F, _mm256_loadu_pd(of(l))), 0xF0, _mm256_loadu_pd(of(l + 4)));
      const auto low = [](auto a, auto b) {
        return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
      };
      const auto high = [](auto a, auto b) {
        return __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
      };
      const auto first = [](auto a, auto b) {
        return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      };
      const auto third = [](auto a, auto b) {
        return __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
      };
      to[0] = V(first(low(r[0], r[1]), low(r[2], r[3])));
      to[1] = V(first(high(r[0], r[1]), high(r[2], r[3])));
      to[2] = V(third(low(r[0], r[1]), low(r[2], r[3])));
      return;
    }
#endif
#if defined(__AVX__) && defined(COSTATE_X86_SIMD)
    if constexpr (sizeof(Real) == 4 && V::lanes == 8) {
      __m256 r[4];  // points l, l + 4
      for (int l = 0; l < 4; ++l)
        r[l] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(of(l))), _mm_loadu_ps(of(l + 4)), 1);
      const __m256 low = _mm256_unpacklo_ps(r[0], r[1]), low2 = _mm256_unpacklo_ps(r[2], r[3]);
      const __m256 high = _mm256_unpackhi_ps(r[0], r[1]), high2 = _mm256_unpackhi_ps(r[2], r[3]);
      to[0] = V((typename V::Vector)_mm256_shuffle_ps(low, low2, 0x44));
      to[1] = V((typename V::Vector)_mm256_shuffle_ps(low, low2, 0xEE));
      to[2] = V((typename V::Vector)_mm256_shuffle_ps(high, high2, 0x44));
      return;
    }
    if constexpr (sizeof(Real) == 8 && V::lanes == 4) {
      __m256d r[4];
      for (int l = 0; l < 4; ++l) r[l] = _mm256_loadu_pd(of(l));
      const __m256d low = _mm256_unpacklo_pd(r[0], r[1]), low2 = _mm256_unpacklo_pd(r[2], r[3]);
      const __m256d high = _mm256_unpackhi_pd(r[0], r[1]), high2 = _mm256_unpackhi_pd(r[2], r[3]);
      to[0] = V((typename V::Vector)_mm256_permute2f128_pd(low, low2, 0x20));
      to[1] = V((typename V::Vector)_mm256_permute2f128_pd(high, high2, 0x20));
      to[2] = V((typename V::Vector)_mm256_permute2f128_pd(low, low2, 0x31));
      return;
    }
#endif
    for (int k = 0; k < 3; ++k)
      for (int l = 0; l < V::lanes; ++l) to[k].set(l, of(l)[k]);
  }
}

// 0, 1, 2, ... of the lanes.
template <class V>
COSTATE_INLINE V lane_numbers() {
  V r;
  for (int l = 0; l < lanes_of<V>; ++l) {
    if constexpr (lanes_of < V >> 1) r.set(l, value_t<V>(l));
  }
  return r;
}

// The nearest whole number of a small one; ties do not matter to images.
template <class V>
COSTATE_INLINE V nearest_whole(const V& t) {
  if constexpr (lanes_of<V> == 1) {
    using costate::round;
    return round(t);
  } else {
    const V big(value_t<V>(sizeof(value_t<V>) == 4 ? 0x1.8p23 : 0x1.8p52));
    return (t + big) - big;
  }
}

// The sum of all lanes, half to half: the same tree in every call. In registers: by memory it would be a
// sixth of a force.
template <class V>
COSTATE_INLINE value_t<V> sum_lanes(const V& v) {
  if constexpr (lanes_of<V> == 1) {
    return v;
  } else if constexpr (lanes_of<V> == 2) {
    return v[0] + v[1];
  } else if constexpr (lanes_of<V> == 4) {
    const auto two = v.v + __builtin_shufflevector(v.v, v.v, 2, 3, 0, 1);
    return two[0] + two[1];
  } else if constexpr (lanes_of<V> == 8) {
    using Half = Pack<value_t<V>, 4>;
    return sum_lanes(Half(__builtin_shufflevector(v.v, v.v, 0, 1, 2, 3)) +
                     Half(__builtin_shufflevector(v.v, v.v, 4, 5, 6, 7)));
  } else {
    static_assert(lanes_of<V> == 16);
    using Half = Pack<value_t<V>, 8>;
    return sum_lanes(Half(__builtin_shufflevector(v.v, v.v, 0, 1, 2, 3, 4, 5, 6, 7)) +
                     Half(__builtin_shufflevector(v.v, v.v, 8, 9, 10, 11, 12, 13, 14, 15)));
  }
}

// Where the chosen of eight lanes come from, lane by lane, one byte each; the rest is anything.
inline constexpr auto kChosenFirst = [] {
  std::array<std::array<unsigned char, 8>, 256> order{};
  for (unsigned m = 0; m < 256; ++m) {
    std::size_t kept = 0;
    for (unsigned char l = 0; l < 8; ++l)
      if ((m >> l & 1) != 0) order[m][kept++] = l;
  }
  return order;
}();

// Puts the chosen lanes of three packs and, with kIndex, of the index behind each other; returns how many.
// May write a pack beyond.
template <class V, bool kIndex, class Real>
COSTATE_INLINE int keep(const mask_t<V>& chosen, const V (&d)[3], const int* index, Real* x, Real* y, Real* z,
                        int* to) {
#if defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(COSTATE_X86_SIMD)
  if constexpr (sizeof(Real) == 4 && lanes_of<V> == 16) {
    const __mmask16 m = _mm512_movepi32_mask((__m512i)chosen.v);
    _mm512_storeu_ps(x, _mm512_maskz_compress_ps(m, (__m512)d[0].v));
    _mm512_storeu_ps(y, _mm512_maskz_compress_ps(m, (__m512)d[1].v));
    _mm512_storeu_ps(z, _mm512_maskz_compress_ps(m, (__m512)d[2].v));
    if constexpr (kIndex) _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(m, _mm512_loadu_si512(index)));
    return __builtin_popcount(m);
  }
  if constexpr (sizeof(Real) == 8 && lanes_of<V> == 8) {
    const __mmask8 m = _mm512_movepi64_mask((__m512i)chosen.v);
    _mm512_storeu_pd(x, _mm512_maskz_compress_pd(m, (__m512d)d[0].v));
    _mm512_storeu_pd(y, _mm512_maskz_compress_pd(m, (__m512d)d[1].v));
    _mm512_storeu_pd(z, _mm512_maskz_compress_pd(m, (__m512d)d[2].v));
    if constexpr (kIndex)
      _mm256_storeu_si256((__m256i*)to,
                          _mm256_maskz_compress_epi32(m, _mm256_loadu_si256((const __m256i*)index)));
    return __builtin_popcount(m);
  }
#endif
#if defined(__AVX2__) && defined(COSTATE_X86_SIMD)
  if constexpr (sizeof(Real) == 4 && lanes_of<V> == 8) {
    const auto m = unsigned(_mm256_movemask_ps((__m256)chosen.v));
    const __m256i order = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)kChosenFirst[m].data()));
    _mm256_storeu_ps(x, _mm256_permutevar8x32_ps((__m256)d[0].v, order));
    _mm256_storeu_ps(y, _mm256_permutevar8x32_ps((__m256)d[1].v, order));
    _mm256_storeu_ps(z, _mm256_permutevar8x32_ps((__m256)d[2].v, order));
    if constexpr (kIndex)
      _mm256_storeu_si256((__m256i*)to,
                          _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i*)index), order));
    return __builtin_popcount(m);
  }
  if constexpr (sizeof(Real) == 8 && lanes_of<V> == 4) {
    // Numbers of eight bytes are two lanes of four each.
    const auto m = unsigned(_mm256_movemask_pd((__m256d)chosen.v));
    const __m256i lanes = _mm256_cvtepu8_epi64(_mm_loadl_epi64((const __m128i*)kChosenFirst[m].data()));
    const __m256i twice = _mm256_add_epi64(lanes, lanes);
    const __m256i order =
        _mm256_or_si256(twice, _mm256_slli_epi64(_mm256_add_epi64(twice, _mm256_set1_epi64x(1)), 32));
    const auto put = [&](Real* where, const V& v) {
      _mm256_storeu_pd(where,
                       _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps((__m256d)v.v), order)));
    };
    put(x, d[0]), put(y, d[1]), put(z, d[2]);
    int kept = 0;
    for (int l = 0; l < 4; ++l) {
      to[kept] = index[l];
      kept += int(m >> l & 1);
    }
    return kept;
  }
#endif
  if constexpr (lanes_of<V> == 1) {
    *x = d[0], *y = d[1], *z = d[2], *to = *index;
    return bool(chosen);
  } else {
    int kept = 0;
    for (int l = 0; l < V::lanes; ++l) {
      x[kept] = d[0][l], y[kept] = d[1][l], z[kept] = d[2][l], to[kept] = index[l];
      kept += chosen[l];
    }
    return kept;
  }
}

// The entries of an index whose lanes are chosen, behind each other; returns how many. May write a pack
// beyond.
template <class Real, int N>
COSTATE_INLINE int keep_lanes(const Mask<Real, N>& chosen, const int* index, int* to) {
#if defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(COSTATE_X86_SIMD)
  if constexpr (sizeof(Real) == 4 && N == 16) {
    const __mmask16 m = _mm512_movepi32_mask((__m512i)chosen.v);
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(m, _mm512_loadu_si512(index)));
    return __builtin_popcount(m);
  }
  if constexpr (sizeof(Real) == 8 && N == 8) {
    const __mmask8 m = _mm512_movepi64_mask((__m512i)chosen.v);
    _mm256_storeu_si256((__m256i*)to,
                        _mm256_maskz_compress_epi32(m, _mm256_loadu_si256((const __m256i*)index)));
    return __builtin_popcount(m);
  }
#endif
#if defined(__AVX2__) && defined(COSTATE_X86_SIMD)
  if constexpr (sizeof(Real) == 4 && N == 8) {
    const auto m = unsigned(_mm256_movemask_ps((__m256)chosen.v));
    const __m256i order = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)kChosenFirst[m].data()));
    _mm256_storeu_si256((__m256i*)to,
                        _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i*)index), order));
    return __builtin_popcount(m);
  }
#endif
  int kept = 0;
  for (int l = 0; l < N; ++l) {
    to[kept] = index[l];
    kept += chosen[l];
  }
  return kept;
}

}  // namespace costate::md

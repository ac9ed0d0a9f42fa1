// Neighbours in SIMD lanes: gathering their numbers, and keeping those that a mask chooses.
#pragma once

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

// Puts the chosen lanes of three packs and of the index behind each other; returns how many. May write a pack
// beyond.
template <class V, class Real>
COSTATE_INLINE int keep(const mask_t<V>& chosen, const V (&d)[3], const int* index, Real* x, Real* y, Real* z,
                        int* to) {
#if defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(COSTATE_X86_SIMD)
  if constexpr (sizeof(Real) == 4 && lanes_of<V> == 16) {
    const __mmask16 m = _mm512_movepi32_mask((__m512i)chosen.v);
    _mm512_storeu_ps(x, _mm512_maskz_compress_ps(m, (__m512)d[0].v));
    _mm512_storeu_ps(y, _mm512_maskz_compress_ps(m, (__m512)d[1].v));
    _mm512_storeu_ps(z, _mm512_maskz_compress_ps(m, (__m512)d[2].v));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(m, _mm512_loadu_si512(index)));
    return __builtin_popcount(m);
  }
  if constexpr (sizeof(Real) == 8 && lanes_of<V> == 8) {
    const __mmask8 m = _mm512_movepi64_mask((__m512i)chosen.v);
    _mm512_storeu_pd(x, _mm512_maskz_compress_pd(m, (__m512d)d[0].v));
    _mm512_storeu_pd(y, _mm512_maskz_compress_pd(m, (__m512d)d[1].v));
    _mm512_storeu_pd(z, _mm512_maskz_compress_pd(m, (__m512d)d[2].v));
    _mm256_storeu_si256((__m256i*)to,
                        _mm256_maskz_compress_epi32(m, _mm256_loadu_si256((const __m256i*)index)));
    return __builtin_popcount(m);
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

}  // namespace costate::md

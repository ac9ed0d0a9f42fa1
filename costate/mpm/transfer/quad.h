// Quads (four numbers) into and out of packs. What the compiler's own shuffles would send through memory,
// where a wide load right after narrow stores stalls, is written with intrinsics; other widths take the plain
// loops.
#pragma once

#include "costate/core/pack.h"

namespace costate::mpm {

// Quad q in every group of four lanes.
template <class Real, int L>
COSTATE_INLINE Pack<Real, L> repeat_quad(const Real* q) {
  using P = Pack<Real, L>;
#if defined(__AVX512F__) && defined(COSTATE_X86_SIMD)
  if constexpr (L == 16 && sizeof(Real) == 4)
    return P((typename P::Vector)_mm512_maskz_broadcast_f32x4(0xffff, _mm_loadu_ps((const float*)q)));
  if constexpr (L == 8 && sizeof(Real) == 8)
    return P((typename P::Vector)_mm512_maskz_broadcast_f64x4(0xff, _mm256_loadu_pd((const double*)q)));
#endif
#if defined(COSTATE_X86_SIMD)
  if constexpr (L == 8 && sizeof(Real) == 4)
    return P((typename P::Vector)_mm256_broadcast_ps((const __m128*)q));
#endif
  if constexpr (L == 4) return P::load_unaligned(q);
  P r(Real(0));
  for (int l = 0; l < L; ++l) r.v[l] = q[l & 3];
  return r;
}

// Group g of four lanes from the quad at place(g).
template <class Real, int L, class Place>
COSTATE_INLINE Pack<Real, L> join_quads(const Place& place) {
  using P = Pack<Real, L>;
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(COSTATE_X86_SIMD)
  if constexpr (L == 16 && sizeof(Real) == 4) {
    const auto two = [&](int g) {
      return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((const float*)place(g))),
                                  _mm_loadu_ps((const float*)place(g + 1)), 1);
    };
    return P((typename P::Vector)_mm512_maskz_insertf32x8(0xffff, _mm512_castps256_ps512(two(0)), two(2), 1));
  }
  if constexpr (L == 8 && sizeof(Real) == 8) {
    return P((typename P::Vector)_mm512_maskz_insertf64x4(
        0xff, _mm512_castpd256_pd512(_mm256_loadu_pd((const double*)place(0))),
        _mm256_loadu_pd((const double*)place(1)), 1));
  }
#endif
#if defined(COSTATE_X86_SIMD)
  if constexpr (L == 8 && sizeof(Real) == 4) {
    return P(
        (typename P::Vector)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((const float*)place(0))),
                                                 _mm_loadu_ps((const float*)place(1)), 1));
  }
#endif
  if constexpr (L == 4) return P::load_unaligned(place(0));
  P r(Real(0));
  for (int l = 0; l < L; ++l) r.v[l] = place(l / 4)[l & 3];
  return r;
}

// Group g of four lanes of a pack of L lanes.
template <int kGroup, class Real, int L>
COSTATE_INLINE Pack<Real, 4> quad_of(const Pack<Real, L>& p) {
  using Q = Pack<Real, 4>;
#if defined(__AVX512F__) && defined(COSTATE_X86_SIMD)
  if constexpr (L == 16 && sizeof(Real) == 4) {
    return Q((typename Q::Vector)_mm512_maskz_extractf32x4_ps(0xf, (__m512)p.v, kGroup));
  }
  if constexpr (L == 8 && sizeof(Real) == 8) {
    return Q((typename Q::Vector)_mm512_maskz_extractf64x4_pd(0xf, (__m512d)p.v, kGroup));
  }
#endif
#if defined(COSTATE_X86_SIMD)
  if constexpr (L == 8 && sizeof(Real) == 4)
    return Q((typename Q::Vector)_mm256_extractf128_ps((__m256)p.v, kGroup));
#endif
  Q r(Real(0));
  for (int l = 0; l < 4; ++l) r.v[l] = p.v[4 * kGroup + l];
  return r;
}

// The first N numbers of a quad.
template <int N, class Real>
COSTATE_INLINE void store_part(const Pack<Real, 4>& q, Real* to) {
  static_assert(N >= 1 && N <= 4);
  if constexpr (N == 4) return q.store_unaligned(to);
#if defined(__AVX512VL__) && defined(COSTATE_X86_SIMD)
  if constexpr (N == 3 && sizeof(Real) == 4) return _mm_mask_storeu_ps((float*)to, 7, (__m128)q.v);
  if constexpr (N == 3 && sizeof(Real) == 8) return _mm256_mask_storeu_pd((double*)to, 7, (__m256d)q.v);
#endif
  if constexpr (N >= 2) std::memcpy(to, &q.v, 2 * sizeof(Real));
  if constexpr (N % 2 == 1) to[N - 1] = q.v[N - 1];
}

}  // namespace costate::mpm

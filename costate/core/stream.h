// Stores that go past the caches, for long arrays that nobody reads soon: a recorded trajectory. An ordinary
// store first reads the line that it is about to overwrite, and evicts what the next step needs.
//
// Other threads see streamed data after stream_fence() of the thread that wrote it. (Intel SDM volume 1,
// 10.4.6.2.)
#pragma once

#include "costate/core/pack.h"

#if defined(__x86_64__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

namespace costate {

// `to` must be aligned to the pack.
template <class T, int N>
COSTATE_INLINE void stream(T* to, const Pack<T, N>& pack) {
#if defined(__AVX512F__) && !defined(__CUDACC__)
  if constexpr (sizeof(pack.v) == 64)
    return _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)pack.v);
#endif
#if defined(__AVX__) && !defined(__CUDACC__)
  if constexpr (sizeof(pack.v) == 32)
    return _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)pack.v);
#endif
  pack.store(to);
}

inline void stream_fence() {
#if defined(__x86_64__) && !defined(__CUDACC__)
  _mm_sfence();
#endif
}

}  // namespace costate

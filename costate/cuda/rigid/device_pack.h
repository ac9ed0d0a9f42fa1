// Pack for NVRTC, which takes this file for core/pack.h: the scalars are float and double, one world per
// thread, and the lanes are those of a warp. Never included on the host.
//
// any(mask) asks all threads of the warp: they take the same branches, and what they read lies side by side.
// A kernel written for packs makes sure that what its neighbours do cannot change the bits of a world.
#pragma once

#include "costate/core/platform.h"
#include "costate/cuda/rigid/device_standard.h"

namespace costate {

template <class T, int N>
struct Pack;
template <class T, int N>
struct Mask;
namespace simd {
template <class T, int N>
struct VectorOf;
}

template <class S>
struct ScalarTraits {
  using Value = S;
  using MaskType = bool;
  static constexpr int lanes = 1;
};
template <class S>
using value_t = typename ScalarTraits<S>::Value;
template <class S>
using mask_t = typename ScalarTraits<S>::MaskType;
template <class S>
inline constexpr int lanes_of = ScalarTraits<S>::lanes;

COSTATE_INLINE float select(bool m, float a, float b) { return m ? a : b; }
COSTATE_INLINE double select(bool m, double a, double b) { return m ? a : b; }

#if defined(COSTATE_NO_VOTES)
COSTATE_INLINE bool any(bool m) { return m; }
COSTATE_INLINE bool all(bool m) { return m; }
#else
COSTATE_INLINE bool any(bool m) { return __any_sync(0xffffffffu, m); }
COSTATE_INLINE bool all(bool m) { return __all_sync(0xffffffffu, m); }
#endif

template <class S>
COSTATE_INLINE value_t<S> lane(const S& s, int) {
  return s;
}
template <class S>
COSTATE_INLINE S load(const value_t<S>* from) {
  return *from;
}
template <class S>
COSTATE_INLINE void store(value_t<S>* to, const S& s) {
  *to = s;
}

}  // namespace costate

// Lanes in another order. g++ turns a pattern that is known at compile time into one or two instructions;
// clang has no such builtin for patterns that are values, and gets the loop.
#pragma once

#include "costate/core/pack.h"

namespace costate::mpm {

// Lane l is lane pick[l] of a.
template <class Vector, class Pick>
COSTATE_INLINE Vector shuffled(const Vector& a, const Pick& pick) {
#if defined(__clang__)
  Vector r;
  for (unsigned l = 0; l < sizeof(Vector) / sizeof(a[0]); ++l) r[l] = a[static_cast<unsigned>(pick[l])];
  return r;
#else
  return __builtin_shuffle(a, pick);
#endif
}
// Lane l is lane pick[l] of a and b side by side.
template <class Vector, class Pick>
COSTATE_INLINE Vector shuffled(const Vector& a, const Vector& b, const Pick& pick) {
#if defined(__clang__)
  constexpr unsigned kLanes = sizeof(Vector) / sizeof(a[0]);
  Vector r;
  for (unsigned l = 0; l < kLanes; ++l) {
    const auto from = static_cast<unsigned>(pick[l]);
    r[l] = from < kLanes ? a[from] : b[from - kLanes];
  }
  return r;
#else
  return __builtin_shuffle(a, b, pick);
#endif
}

}  // namespace costate::mpm

// The transpose of a square of W packs of W lanes, by log2(W) rounds of shuffles: in round s, lanes and packs
// trade the bit s of their numbers.
#pragma once

#include <utility>

#include "costate/core/pack.h"

namespace costate::fluid {

template <int s, class P, int... l>
COSTATE_INLINE void trade(P& a, P& b, std::integer_sequence<int, l...>) {
  constexpr int W = sizeof...(l);
  const auto low = __builtin_shufflevector(a.v, b.v, ((l & s) ? W + l - s : l)...);
  const auto high = __builtin_shufflevector(a.v, b.v, ((l & s) ? W + l : l + s)...);
  a.v = low, b.v = high;
}

template <class P, int s = 1>
COSTATE_INLINE void transpose_lanes(P* x) {
  constexpr int W = P::lanes;
  if constexpr (s < W) {
    for (int i = 0; i < W; ++i)
      if (!(i & s)) trade<s>(x[i], x[i + s], std::make_integer_sequence<int, W>());
    transpose_lanes<P, 2 * s>(x);
  }
}

}  // namespace costate::fluid

// Elementary functions over a strip of worlds. Each is compiled once per number type, and the one-world
// interpreter and constant folding call the same code, so that a world's bits do not depend on how many
// worlds it is run with.
#pragma once

#include <cstddef>

#include "costate/ad/op.h"

namespace costate::ad {

// A value of a strip: packs `step` numbers apart, where step is the width of a pack, or 0 if all worlds share
// one pack.
template <class T>
struct Strip {
  const T* data;
  std::ptrdiff_t step;
};

// out = op(a, b) for `packs` packs, for an op that is a function call rather than arithmetic. out may be a or
// b. Operands may lie anywhere; out lies on a cache line.
template <class T>
void function_strip(Op op, T* out, Strip<T> a, Strip<T> b, int exponent, int packs);

// The same for one number.
template <class T>
T function_value(Op op, T a, T b, int exponent);

}  // namespace costate::ad

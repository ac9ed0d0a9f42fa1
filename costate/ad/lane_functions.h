// Elementary functions of a pack, lane by lane.
#pragma once

#include <cmath>

#include "costate/core/pack.h"

namespace costate::ad::lanewise {

#define COSTATE_LANEWISE_1(name)                           \
  template <class T, int N>                                \
  inline Pack<T, N> name(Pack<T, N> a) {                   \
    Pack<T, N> r;                                          \
    for (int i = 0; i < N; ++i) r.set(i, std::name(a[i])); \
    return r;                                              \
  }
#define COSTATE_LANEWISE_2(name)                                 \
  template <class T, int N>                                      \
  inline Pack<T, N> name(Pack<T, N> a, Pack<T, N> b) {           \
    Pack<T, N> r;                                                \
    for (int i = 0; i < N; ++i) r.set(i, std::name(a[i], b[i])); \
    return r;                                                    \
  }
COSTATE_LANEWISE_1(sqrt)
COSTATE_LANEWISE_1(sin)
COSTATE_LANEWISE_1(cos)
COSTATE_LANEWISE_1(tan)
COSTATE_LANEWISE_1(exp)
COSTATE_LANEWISE_1(log)
COSTATE_LANEWISE_1(sinh)
COSTATE_LANEWISE_1(cosh)
COSTATE_LANEWISE_1(tanh)
COSTATE_LANEWISE_1(asin)
COSTATE_LANEWISE_1(acos)
COSTATE_LANEWISE_1(atan)
COSTATE_LANEWISE_1(floor)
COSTATE_LANEWISE_2(atan2)
COSTATE_LANEWISE_2(pow)
#undef COSTATE_LANEWISE_1
#undef COSTATE_LANEWISE_2

}  // namespace costate::ad::lanewise

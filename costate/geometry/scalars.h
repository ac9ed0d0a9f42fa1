// The scalars that collision is compiled for: one world, lanes of worlds, and their tangents.
#pragma once

#include "costate/ad/dual.h"

#define COSTATE_GEOMETRY_SCALARS(macro) \
  macro(double);                        \
  macro(float);                         \
  macro(NativePack<double>);            \
  macro(NativePack<float>);             \
  macro(Dual<double>);                  \
  macro(Dual<NativePack<double>>);      \
  macro(Dual<NativePack<float>>)

// Every pair of shapes is a function `name` and its transpose `name_vjp` of the same arguments as collide and
// collide_vjp.
#define COSTATE_GEOMETRY_PAIR(name)                                                                \
  template <class S>                                                                               \
  void name(const Shape<S>& first, const Shape<S>& second, const S& margin, ContactPoint<S>* out); \
  template <class S>                                                                               \
  void name##_vjp(const Shape<S>& first, const Shape<S>& second, const S& margin,                  \
                  const ContactPoint<S>* bar, ShapeBar<S>& first_bar, ShapeBar<S>& second_bar)

#define COSTATE_GEOMETRY_INSTANTIATE(name, S)                                                                \
  template void name(const Shape<S>&, const Shape<S>&, const S&, ContactPoint<S>*);                          \
  template void name##_vjp(const Shape<S>&, const Shape<S>&, const S&, const ContactPoint<S>*, ShapeBar<S>&, \
                           ShapeBar<S>&)

namespace costate::geometry {

// x with its tangents dropped: a choice that is not differentiated.
template <class S>
COSTATE_INLINE S held(const S& x) {
  if constexpr (is_dual<S>)
    return S(held(x.v));
  else
    return x;
}

}  // namespace costate::geometry

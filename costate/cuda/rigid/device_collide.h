// The pairs of shapes whose contacts a device finds: geometry/collide.cpp with fewer of them. Pairs that need
// a mesh, a heightfield or a search are refused before (rigid_model.cpp). Never included on the host.
#pragma once

#include "costate/geometry/collide.h"
#include "costate/geometry/scalars.h"

// Whoever uses a pair has it compiled; nothing is compiled for other scalars.
#undef COSTATE_GEOMETRY_SCALARS
#define COSTATE_GEOMETRY_SCALARS(macro) static_assert(true)
#include "costate/geometry/plane_round.cpp"
#undef COSTATE_INSTANTIATE
#include "costate/geometry/round_pairs.cpp"
#undef COSTATE_INSTANTIATE

namespace costate::geometry {

#define COSTATE_ON_PAIRS(F) \
  F(plane, sphere)          \
  F(plane, capsule)         \
  F(sphere, sphere)         \
  F(sphere, capsule)        \
  F(capsule, capsule)

template <class S>
void collide(ShapeType first_type, ShapeType second_type, const Shape<S>& first, const Shape<S>& second,
             const S& margin, ContactPoint<S>* out) {
#define COSTATE_CASE(one, two)                                       \
  if (first_type == ShapeType::one && second_type == ShapeType::two) \
    return one##_##two(first, second, margin, out);
  COSTATE_ON_PAIRS(COSTATE_CASE)
#undef COSTATE_CASE
}

template <class S>
void collide_vjp(ShapeType first_type, ShapeType second_type, const Shape<S>& first, const Shape<S>& second,
                 const S& margin, const ContactPoint<S>* bar, ShapeBar<S>& first_bar,
                 ShapeBar<S>& second_bar) {
#define COSTATE_CASE(one, two)                                       \
  if (first_type == ShapeType::one && second_type == ShapeType::two) \
    return one##_##two##_vjp(first, second, margin, bar, first_bar, second_bar);
  COSTATE_ON_PAIRS(COSTATE_CASE)
#undef COSTATE_CASE
}

}  // namespace costate::geometry

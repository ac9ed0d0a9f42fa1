// Where two shapes touch: contact points of every pair of shapes, and their transposes.
#pragma once

#include "costate/geometry/contact_point.h"

namespace costate::geometry {

// Slots of a pair; first <= second in the order of ShapeType. 0: this pair never touches (two planes).
int contact_slots(ShapeType first, ShapeType second);

// Fills contact_slots(...) points. A slot farther than `margin` may be left empty.
template <class S>
void collide(ShapeType first_type, ShapeType second_type, const Shape<S>& first, const Shape<S>& second,
             const S& margin, ContactPoint<S>* out);

// Adds to the cotangents of both shapes. Empty slots have no say.
template <class S>
void collide_vjp(ShapeType first_type, ShapeType second_type, const Shape<S>& first, const Shape<S>& second,
                 const S& margin, const ContactPoint<S>* bar, ShapeBar<S>& first_bar,
                 ShapeBar<S>& second_bar);

}  // namespace costate::geometry

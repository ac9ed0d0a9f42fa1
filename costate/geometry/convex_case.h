// Which features of two convex bodies touch (plain numbers), and the contact they make (any lane's scalar):
// convex_contact.h.
#pragma once

#include "costate/geometry/contact_equations.h"

namespace costate::geometry {

ConvexCase convex_case(ConvexBody& one, ConvexBody& two, int slots, double margin);

inline bool is_round(ShapeType type) { return type == ShapeType::sphere || type == ShapeType::capsule; }

// Fills the slots of the case.
template <class T>
void touch(const ConvexCase& c, ShapeType first_type, ShapeType second_type, const Shape<T>& one,
           const Shape<T>& two, ContactPoint<T>* found);
template <class T>
void touch_vjp(const ConvexCase& c, ShapeType first_type, ShapeType second_type, const Shape<T>& one,
               const Shape<T>& two, const ContactPoint<T>* b, ShapeBar<T>& one_bar, ShapeBar<T>& two_bar);

}  // namespace costate::geometry

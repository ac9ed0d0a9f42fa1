// A heightfield and a convex shape: every cell of the grid under the shape is two prisms with a triangle on
// top, and each prism that the shape touches gives one contact (convex_contact.h), in the order of rows,
// columns, and triangles of a cell.
//
// Sixteen slots: of more contacts the sixteen deepest. The heights are constants; the frame of the field is
// differentiated.
// Tests: tests/geometry/convex_test.cpp.
#pragma once

#include "costate/geometry/contact_point.h"
#include "costate/geometry/scalars.h"

namespace costate::geometry {

inline constexpr int kHeightSlots = 16;

template <class S>
void height_contact(ShapeType second_type, const Shape<S>& field, const Shape<S>& shape, const S& margin,
                    ContactPoint<S>* out);
template <class S>
void height_contact_vjp(ShapeType second_type, const Shape<S>& field, const Shape<S>& shape, const S& margin,
                        const ContactPoint<S>* bar, ShapeBar<S>& field_bar, ShapeBar<S>& shape_bar);

}  // namespace costate::geometry

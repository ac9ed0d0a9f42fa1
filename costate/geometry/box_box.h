// Two boxes: the axis of least overlap among their fifteen (faces of each, and products of an edge of each),
// then the contact it makes.
//
//   face   one box owns the face (the reference); the other's face that looks at it most is clipped by the
//          four sides of the reference [1, 5.3]. In the reference's frame each corner v of the clipped
//          polygon within the margin is a contact:
//            dist = s v_a - size_a   (a: axis of the face, s: its side),
//                point = v with v_a -> (v_a + s size_a)/2,   normal = +-R_a
//          and v is one of
//            corner    of the incident face:                 v = c + Q (+-size)
//            crossing  of its edge P Q with a side:          v = P + t (Q - P),
//                                                            t = (+-size_i - P_i) / (Q_i - P_i)
//            pillar    over a corner of the reference face:  v_x, v_y = +-size,  m.(v - f) = 0
//                                                            with m, f the incident face's normal, centre
//   edge   n = +- e1 x e2 / |e1 x e2|; the closest points p1, p2 of the two edges:
//          dist = n.(p2 - p1), point = (p1 + p2)/2
//
// Faces are preferred where an edge is hardly better: a face has several points. The rules and their
// tolerances are MuJoCo's, up to eight points; here the deepest comes first, so that the distance of a slot
// is continuous where two corners change places. Which case, and what each v is, is held; the transpose is of
// the formulas above.
//
// [1] Ericson: Real-Time Collision Detection, 2005.
// Tests: tests/geometry/box_test.cpp.
#pragma once

#include "costate/geometry/contact_point.h"
#include "costate/geometry/scalars.h"

namespace costate::geometry {

inline constexpr int kBoxBoxSlots = 8;

COSTATE_GEOMETRY_PAIR(box_box);

}  // namespace costate::geometry

// A capsule and a box: a ball where the capsule's axis is closest to the box, and another where the axis
// leaves the box's face or edge.
//
// With the axis as p + t h, |t| <= 1, in the box's frame (h: half length times direction):
//   first   t1 = +-1 for an end over a face or inside; otherwise the place on the axis closest to the nearest
//           of the twelve edges
//   second  t2 = t1 + m y, m = +-1, y the least of how far the axis goes on, and over the box:
//             rest   1 - m t1                         to the capsule's end
//             span   2 size_k / |h_k|                 across the whole box
//             edge   size_k (1 -+ e) / |h_k|          to the end of the edge, from the place e on it
//             face   m (s size_k - p_k)/h_k + 1       to the border of the face, from the end t1 = -m
//           none where the capsule points at a corner, or crosses an edge from outside to inside
// Both are spheres against the box (sphere_solid.h). The choice follows MuJoCo and is held.
// Tests: tests/geometry/box_test.cpp.
#pragma once

#include "costate/geometry/contact_point.h"
#include "costate/geometry/scalars.h"

namespace costate::geometry {

inline constexpr int kCapsuleBoxSlots = 2;

COSTATE_GEOMETRY_PAIR(capsule_box);

}  // namespace costate::geometry

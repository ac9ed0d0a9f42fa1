// The distance of two convex bodies' cores, or how deep they overlap, to about 1e-6 of their size.
//
// The points p2 - p1 of the two bodies make a convex body of their own; its distance from the origin is
// theirs. GJK [1] walks there with simplices of support points; where the origin lies inside, EPA [2] grows a
// polyhedron inside that body until its face nearest the origin is the body's. The answer starts a Newton
// iteration (convex_contact.h), which makes it exact.
//
// [1] Gilbert, Johnson, Keerthi: A fast procedure for computing the distance between complex objects in
//     three-dimensional space, 1988.
// [2] van den Bergen: Proximity queries and penetration depth computation on 3D game objects, 2001.
// Tests: tests/geometry/convex_test.cpp.
#pragma once

#include "costate/geometry/support.h"

namespace costate::geometry {

struct Closest {
  bool found = false;   // false: farther than asked for
  double dist = 0;      // of the cores; negative: overlap
  Vec3<double> n;       // unit, from the first to the second
  Vec3<double> w1, w2;  // points of the cores, w2 - w1 = dist n
};

// Another attempt starts elsewhere and looks closer: rounding can spoil one.
Closest closest_points(ConvexBody& first, ConvexBody& second, double farthest, int attempt = 0);

}  // namespace costate::geometry

// The four corners of a convex polygon that span the largest area: which of many contact points are kept.
//
//   area of (a, b, c, d) = |(c - a) x (d - b)| / 2
//
// Of few corners all quadrilaterals are tried; of many, every diagonal (a, c) with the corner farthest from
// it on either side, which gives the same in n^3 instead of n^4 steps.
// Tests: tests/geometry/face_pair_test.cpp.
#pragma once

#include "costate/core/vec3.h"

namespace costate::geometry {

// In the order of the polygon; all of four or fewer. Returns how many.
int widest_four(const Vec3<double>* v, int count, int* chosen);

}  // namespace costate::geometry

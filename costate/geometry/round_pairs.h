// Spheres and capsules: balls at the closest points of two segments.
//
// Segments c_i + x_i a_i, |x_i| <= 1, a_i = half length times axis. With d = c1 - c2 and m = a1 x a2 the
// lines are closest at
//
//   x1 = -m.(d x a2) / |m|^2,   x2 = m.(a1 x d) / |m|^2
//
// (cross products instead of the normal equations: nearly parallel axes lose half as many digits). An x
// beyond its end is clamped and the other solved again. Parallel axes (|m|^2 tiny): the two ends of the
// stretch that both capsules share, lower x1 first, or twice the nearest ends where they share none.
//
// Every case ends with each x_i clamped, or solving its own equation g_i = 0, with p_i = c_i + x_i a_i:
//
//   g1 = a1.(p1 - p2),   g2 = a2.(p2 - p1),   dg/dx = [a1.a1, -a1.a2; -a1.a2, a2.a2]
//
// so the transpose solves dg/dx^T l = x_ over the free ones and adds -l.dg (implicit function theorem).
// Tests: tests/geometry/collide_test.cpp.
#pragma once

#include "costate/geometry/ball_pair.h"

namespace costate::geometry {

COSTATE_GEOMETRY_PAIR(sphere_sphere);
COSTATE_GEOMETRY_PAIR(sphere_capsule);
COSTATE_GEOMETRY_PAIR(capsule_capsule);

}  // namespace costate::geometry

// The convex hull of points in space: quickhull [1].
//
// A tetrahedron of four extreme points grows: the point farthest above a face is joined to the edge of all
// the faces that it can see (its horizon), which disappear. Points within a tolerance of a face (1e-10 of the
// extent) are on it, so that flat sides do not shatter; a hull is a closed surface of triangles that look
// outward.
//
// [1] Barber, Dobkin, Huhdanpaa: The quickhull algorithm for convex hulls. ACM TOMS 22, 1996.
// Tests: tests/rigid/compile/compile_mesh_test.cpp.
#pragma once

#include <array>
#include <vector>

#include "costate/core/vec3.h"

namespace costate::rigid {

using Triangle = std::array<int, 3>;

// Triangles of the hull, as indices into the points, seen counterclockwise from outside. Throws Error if all
// points lie in one plane, or so nearly so that the hull has no inside.
std::vector<Triangle> convex_hull(const std::vector<Vec3<double>>& points);

}  // namespace costate::rigid

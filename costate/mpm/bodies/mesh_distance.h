// The signed distance of a closed triangle mesh, sampled on a lattice, for Shape::sampled.
//
//   |phi|   smallest distance to a triangle
//   sign    generalised winding number w(x) = 1/(4 pi) sum of the solid angles of the triangles seen from x:
//           about 1 inside, 0 outside, and in between only near holes; inside where w > 1/2 [1]
//
// Every lattice point looks at every triangle: a few seconds for 64^3 points and a thousand triangles, once,
// when the scene is made.
// [1] Jacobson, Kavan, Sorkine-Hornung: Robust inside-outside segmentation using generalized winding numbers,
//     2013; solid angle: van Oosterom, Strackee 1983.
// Tests: tests/mpm/shape_test.cpp.
#pragma once

#include <array>
#include <vector>

#include "costate/mpm/bodies/shape.h"

namespace costate::mpm {

struct TriangleMesh {
  std::vector<std::array<double, 3>> vertices;
  std::vector<std::array<int, 3>> triangles;  // counter-clockwise from outside
};

// The lattice covers the mesh and `margin` around it.
DistanceLattice mesh_distance(const TriangleMesh& mesh, double spacing, double margin);

}  // namespace costate::mpm

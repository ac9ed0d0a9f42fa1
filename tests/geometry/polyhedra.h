// Convex meshes for tests.
#pragma once

#include "costate/geometry/convex.h"

namespace costate::geometry::test {

inline ConvexMesh box_mesh(double a, double b, double c) {
  std::vector<Vec3<double>> v;
  for (int i = 0; i < 8; ++i) v.push_back({i & 1 ? a : -a, i & 2 ? b : -b, i & 4 ? c : -c});
  return convex_mesh(v, {{0, 2, 1},
                         {1, 2, 3},
                         {4, 5, 6},
                         {5, 7, 6},
                         {0, 1, 4},
                         {1, 5, 4},
                         {2, 6, 3},
                         {3, 6, 7},
                         {0, 4, 2},
                         {2, 4, 6},
                         {1, 3, 5},
                         {3, 7, 5}});
}
// An octahedron stretched along z, with no vertex at the frame's centre of symmetry.
inline const ConvexMesh& spindle() {
  static const ConvexMesh mesh = convex_mesh(
      {{0.3, 0, 0.02}, {0, 0.25, 0}, {-0.28, 0.03, 0}, {0.02, -0.31, 0.01}, {0, 0.01, 0.4}, {0.03, 0, -0.35}},
      {{0, 1, 4}, {1, 2, 4}, {2, 3, 4}, {3, 0, 4}, {1, 0, 5}, {2, 1, 5}, {3, 2, 5}, {0, 3, 5}});
  return mesh;
}
inline const ConvexMesh& brick() {
  static const ConvexMesh mesh = box_mesh(0.3, 0.2, 0.25);
  return mesh;
}

}  // namespace costate::geometry::test

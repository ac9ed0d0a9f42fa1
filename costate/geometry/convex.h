// A convex polyhedron in its own frame: what a mesh collides as.
//
// Vertices are the hull's; each knows its neighbours along edges (for walking to the farthest vertex) and its
// faces; faces are polygons (coplanar triangles joined), counterclockwise from outside, with unit outward
// normals.
// Tests: tests/geometry/convex_test.cpp.
#pragma once

#include <array>
#include <vector>

#include "costate/core/vec3.h"

namespace costate::geometry {

struct ConvexMesh {
  std::vector<Vec3<double>> vertices;
  std::vector<int> neighbour_begin,
      neighbours;  // of vertex i: neighbours[neighbour_begin[i] .. neighbour_begin[i + 1])
  std::vector<int> face_begin, face_vertices;  // of face f, in the same way
  std::vector<Vec3<double>> face_normals;
  std::vector<int> vertex_face_begin, vertex_faces;
  double bounding_radius = 0;  // about the origin of its frame

  int vertex_count() const { return int(vertices.size()); }
  int face_count() const { return int(face_normals.size()); }
};

// From a closed convex surface of outward triangles. Vertices that no triangle uses are dropped, the rest
// keep their order. Throws Error for an index out of range, or fewer than four triangles.
ConvexMesh convex_mesh(const std::vector<Vec3<double>>& points,
                       const std::vector<std::array<int, 3>>& triangles);

// The vertex farthest along `direction`; the walk starts at `start`.
int farthest_vertex(const ConvexMesh& mesh, const Vec3<double>& direction, int start = 0);

}  // namespace costate::geometry

// Polygons of a text or binary file, and their triangles: Wavefront OBJ, and PLY (Stanford; text, or bytes of
// either order).
//
//   ply / format ascii 1.0 / element vertex 8 / property float x ... / element face 6 /
//   property list uchar int vertex_indices / end_header, then the elements one after the other
//
// Read are the places of vertices and the vertices of faces; normals, texture, groups and whatever else there
// is are stepped over. Counts are checked against the size of the file before anything is allocated.
// Tests: tests/io/cell_mesh_test.cpp, tests/io/mesh_file_test.cpp, tests/fuzz/mesh_fuzz.cpp.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "costate/core/vec3.h"

namespace costate::io {

struct PolygonMesh {
  std::vector<Vec3<double>> vertices = {};
  std::vector<int> corners = {};         // of all polygons
  std::vector<std::size_t> begin = {0};  // where the corners of each begin, and where the last one's end
};

PolygonMesh parse_obj(const std::string& text, const std::string& path);
PolygonMesh parse_ply(const std::string& content, const std::string& path);

// A quadrilateral is cut along its shorter diagonal, a larger polygon into a fan.
std::vector<std::array<int, 3>> triangles_of(const PolygonMesh& mesh);

}  // namespace costate::io

// Triangles from a mesh file: STL (binary and text), Wavefront OBJ, PLY and MuJoCo's MSH.
//
// Corners that are the same point become one vertex, so that a closed surface is closed. OBJ quadrilaterals
// are cut along their shorter diagonal, larger polygons into fans. Files are treated as hostile: counts are
// checked against the size of the file before anything is allocated, indices against the vertices. Tests:
// tests/io/mesh_file_test.cpp.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "costate/core/vec3.h"

namespace costate::io {

inline constexpr std::size_t kMaxMeshSize = std::size_t{256} << 20;

struct TriangleMesh {
  std::vector<Vec3<double>> vertices;
  std::vector<std::array<int, 3>> faces;
};

// The kind of file is told by the ending of `path`. Throws Error, with the line for text files.
TriangleMesh parse_mesh(const std::string& content, const std::string& path);

}  // namespace costate::io

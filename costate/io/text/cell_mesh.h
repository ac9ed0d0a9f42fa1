// CellMesh: vertices with triangles, tetrahedra or hexahedra, from a file and to one: what soft bodies are
// made of.
//
//   .obj, .ply, .stl   triangles; larger polygons are cut
//   .msh               Gmsh (text, versions 2.2 and 4.1): triangles, tetrahedra, quadratic tetrahedra,
//                      hexahedra; or MuJoCo's
//
// Vertices keep their numbers (STL has none: corners at the same point are one vertex). Files are treated as
// hostile: counts are checked against the size of the file before anything is allocated.
// A mesh that no body can be made of is an Error that names what is wrong with it (check_cells).
// Tests: tests/io/cell_mesh_test.cpp, tests/fuzz/mesh_fuzz.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/core/vec3.h"

namespace costate::io {

struct CellMesh {
  std::vector<Vec3<double>> vertices = {};
  std::vector<int> triangles = {}, tetrahedra = {}, quadratic_tetrahedra = {},
                   hexahedra = {};  // 3, 4, 10, 8 vertices each, in the order of soft/elements/shape.cpp
};

// The kind of file is told by the ending of `path`. Throws Error, with the line for text files.
CellMesh parse_cells(const std::string& content, const std::string& path);
CellMesh read_cells(const std::string& path);

// Error for: no cells; vertices of no cell; a triangle or tetrahedron without area or volume, or with a
// vertex twice; a triangle that is there twice; an edge of more than two triangles.
void check_cells(const CellMesh& mesh, const std::string& path);

// The content of a file. Numbers have as many digits as it takes to read the same ones again (STL: bytes,
// single precision). Error where the kind of file has no place for these cells.
std::string format_cells(const CellMesh& mesh, const std::string& path);
void write_cells(const CellMesh& mesh, const std::string& path);

}  // namespace costate::io

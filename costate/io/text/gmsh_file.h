// Cells of a Gmsh file in text, versions 2.2 and 4.1 (https://gmsh.info/doc/texinfo, "MSH file format"), and
// to one of version 2.2. Elements of other kinds (points, lines, ...) are left out.
// Tests: tests/io/cell_mesh_test.cpp, tests/fuzz/mesh_fuzz.cpp.
#pragma once

#include "costate/io/text/cell_mesh.h"

namespace costate::io {

bool is_gmsh(const std::string& content);
CellMesh parse_gmsh(const std::string& content, const std::string& path);
std::string format_gmsh(const CellMesh& mesh);

}  // namespace costate::io

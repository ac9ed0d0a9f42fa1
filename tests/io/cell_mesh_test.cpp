// Meshes of cells: every kind of file is read, written and read again as the same; what is wrong is named.
#include "costate/io/text/cell_mesh.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "costate/soft/mesh/procedural.h"
#include "tests/expect_error.h"

namespace costate::io {
namespace {

using costate::test::expect_error;

std::string corpus(const std::string& name) {
  std::ifstream file(std::string(COSTATE_FUZZ_MESHES) + "/" + name, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return text.substr(text.find('\n') + 1);  // the first line is the ending
}
CellMesh of(const soft::SoftMesh& mesh, std::vector<int> CellMesh::*cells) {
  CellMesh r;
  for (std::size_t i = 0; i < mesh.vertices.size(); i += 3)
    r.vertices.push_back({mesh.vertices[i], mesh.vertices[i + 1], mesh.vertices[i + 2]});
  r.*cells = mesh.cells;
  return r;
}
void expect_same(const CellMesh& a, const CellMesh& b, double gate) {
  ASSERT_EQ(a.vertices.size(), b.vertices.size());
  for (std::size_t i = 0; i < a.vertices.size(); ++i)
    EXPECT_LE(norm(a.vertices[i] - b.vertices[i]), gate) << i;
  EXPECT_EQ(a.triangles, b.triangles);
  EXPECT_EQ(a.tetrahedra, b.tetrahedra);
  EXPECT_EQ(a.quadratic_tetrahedra, b.quadratic_tetrahedra);
  EXPECT_EQ(a.hexahedra, b.hexahedra);
}

TEST(CellMesh, WhatIsWrittenIsReadAgain) {
  const CellMesh cloth = of(soft::cloth_mesh({0.3, 0.7}, {3, 4}), &CellMesh::triangles);
  for (const char* path : {"cloth.obj", "cloth.ply", "cloth.msh"})
    expect_same(parse_cells(format_cells(cloth, path), path), cloth, 0);
  // STL has no numbers of vertices: the same triangles, in single precision.
  const CellMesh stl = parse_cells(format_cells(cloth, "cloth.stl"), "cloth.stl");
  ASSERT_EQ(stl.triangles.size(), cloth.triangles.size());
  EXPECT_EQ(stl.vertices.size(), cloth.vertices.size());
  for (std::size_t k = 0; k < stl.triangles.size(); ++k)
    EXPECT_LT(
        norm(stl.vertices[std::size_t(stl.triangles[k])] - cloth.vertices[std::size_t(cloth.triangles[k])]),
        1e-7);
  using soft::Cells;
  for (const auto& [kind, cells] : {std::pair{Cells::tetrahedra, &CellMesh::tetrahedra},
                                    {Cells::quadratic_tetrahedra, &CellMesh::quadratic_tetrahedra},
                                    {Cells::hexahedra, &CellMesh::hexahedra}}) {
    const CellMesh block = of(soft::block_mesh(kind, {1, 0.3, 0.2}, {2, 2, 1}), cells);
    check_cells(block, "block.msh");
    expect_same(parse_cells(format_cells(block, "block.msh"), "block.msh"), block, 0);
  }
}

TEST(CellMesh, EveryKindOfFileIsRead) {
  EXPECT_EQ(parse_cells(corpus("cube.obj"), "a.obj").triangles.size(), 36u);
  EXPECT_EQ(parse_cells(corpus("tetrahedron.ply"), "a.PLY").triangles,
            (std::vector<int>{0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3}));
  for (const char* name : {"bytes.ply", "other_order.ply", "text.stl", "bytes.stl"}) {
    const CellMesh m = parse_cells(corpus(name), name);
    EXPECT_EQ(m.triangles, (std::vector<int>{0, 1, 2})) << name;
    EXPECT_EQ(norm(m.vertices[1] - Vec3<double>{1, 0, 0}), 0) << name;
  }
  // Nodes keep their order, whatever their numbers; the surface that Gmsh adds is left out.
  const CellMesh two = parse_cells(corpus("two.msh"), "a.msh");
  EXPECT_EQ(two.tetrahedra, (std::vector<int>{0, 1, 2, 3, 1, 2, 3, 4}));
  EXPECT_TRUE(two.triangles.empty());
  EXPECT_EQ(parse_cells(corpus("four_one.msh"), "a.msh").triangles, (std::vector<int>{0, 1, 2, 0, 2, 3}));
  // Gmsh counts around a face, we count along the axes.
  EXPECT_EQ(parse_cells(corpus("hexahedron.msh"), "a.msh").hexahedra,
            (std::vector<int>{0, 1, 3, 2, 4, 5, 7, 6}));
}

TEST(CellMesh, WhatIsWrongIsNamed) {
  const auto check = [](const std::string& text, const std::string& path = "m.obj") {
    return [=] {
      check_cells(parse_cells(text, path), path);
      return 0;
    };
  };
  const std::string corner = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
  expect_error(check(corner + "v 2 2 2\nf 1 2 3\n"), "m.obj: vertex 3 belongs to no cell", "remove vertices");
  expect_error(check(corner + "v 2 0 0\nf 1 2 3\nf 1 2 4\n"), "triangle 1 has no area", "remove it");
  expect_error(check(corner + "f 1 2 2\n"), "triangle 0 has vertex 1 twice", "remove it");
  expect_error(check(corner + "f 1 2 3\nf 2 3 1\n"), "triangle 1 is there twice", "remove one");
  expect_error(check(corpus("branch.obj")), "the edge of vertices 0 and 1 belongs to three triangles",
               "cut the mesh");
  expect_error(check(corner), "there are no triangles, tetrahedra or hexahedra");
  expect_error(check("v 0 0 nan\n"), "m.obj:1: a vertex is not finite");
  expect_error(check(corpus("huge_counts.ply"), "m.ply"),
               "m.ply:3: a count of 1000000000: more than a file of 77 bytes can hold");
  expect_error(check("ply\nformat ascii 1.0\nelement vertex 40\nproperty float x\nend_header\n0\n", "m.ply"),
               "the header speaks of 40 times 'vertex', more than the file can hold");
  expect_error(check("ply\nformat ascii 1.0\n", "m.ply"), "there is no line 'end_header'");
  expect_error(check("$MeshFormat\n4.1 1 8\n", "m.msh"), "m.msh:2: this Gmsh file is not text", "");
  expect_error(check("$MeshFormat\n3.0 0 8\n", "m.msh"), "save it as version 2.2 or 4.1");
  expect_error(
      check(
          "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 0 0\n$EndNodes\n$Elements\n1\n1 2 0 1 2 3\n",
          "m.msh"),
      "m.msh:10: there is no node 2");
  expect_error(check("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 1 1 0\n"
                     "$EndNodes\n$Elements\n1\n1 4 0 1 2 3 4\n",
                     "m.msh"),
               "tetrahedron 0 has no volume", "move its vertices apart");
  expect_error(check("", "m.dae"), "meshes of kind '.dae' cannot be read", "OBJ, PLY, STL or MSH");
  expect_error([] { return read_cells("/nowhere/m.obj"); }, "there is no such file");
  expect_error([] { return format_cells({}, "m.obj"); }, "holds triangles, and there are none", ".msh");
  expect_error([] { return format_cells({}, "m.vtk"); }, "cannot be written", ".msh");
}

TEST(CellMesh, AFileIsWrittenAndRead) {
  const std::string path = ::testing::TempDir() + "costate_cell_mesh.msh";
  const CellMesh block =
      of(soft::block_mesh(soft::Cells::tetrahedra, {1, 1, 1}, {1, 1, 1}), &CellMesh::tetrahedra);
  write_cells(block, path);
  expect_same(read_cells(path), block, 0);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace costate::io

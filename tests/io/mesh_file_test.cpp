#include "costate/io/text/mesh_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "costate/core/error.h"
#include "costate/rigid/compile/compile_inertia.h"

namespace costate::io {
namespace {

// The tetrahedron of the origin and the unit vectors: volume 1/6.
const double kCorners[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
const int kFaces[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};

std::string binary_stl() {
  std::string s(80, 'x');
  const auto put = [&](auto value) { s.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(std::uint32_t{4});
  for (const auto& face : kFaces) {
    for (int i = 0; i < 3; ++i) put(0.0f);
    for (const int v : face)
      for (const double x : kCorners[v]) put(float(x));
    put(std::uint16_t{0});
  }
  return s;
}

std::string msh(std::uint32_t last_corner = 3) {
  std::string s;
  const auto put = [&](auto value) { s.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (const std::uint32_t count : {4u, 1u, 2u, 4u}) put(count);  // vertices, normals, texture, faces
  for (const auto& corner : kCorners)
    for (const double x : corner) put(float(x));
  for (int i = 0; i < 3 + 4; ++i) put(0.5f);
  for (const auto& face : kFaces)
    for (const int v : face) put(v == 3 ? last_corner : std::uint32_t(v));
  return s;
}

std::string text_stl() {
  std::string s = "solid t\n";
  for (const auto& face : kFaces) {
    s += " facet normal 0 0 0\n  outer loop\n";
    for (const int v : face) {
      s += "   vertex";
      for (const double x : kCorners[v]) s += " " + std::to_string(x);
      s += "\n";
    }
    s += "  endloop\n endfacet\n";
  }
  return s + "endsolid t\n";
}

std::string message(const std::string& content, const std::string& path) {
  try {
    parse_mesh(content, path);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_tetrahedron(const TriangleMesh& mesh) {
  EXPECT_EQ(mesh.vertices.size(), 4u);
  EXPECT_EQ(mesh.faces.size(), 4u);
  EXPECT_NEAR(rigid::solid_of(mesh.vertices, mesh.faces, false).mass, 1.0 / 6, 1e-15);
}

TEST(MeshFile, StlInBytesAndInTextIsTheSameSolid) {
  expect_tetrahedron(parse_mesh(binary_stl(), "t.stl"));
  expect_tetrahedron(parse_mesh(text_stl(), "T.STL"));
}

TEST(MeshFile, MshIsRead) {
  expect_tetrahedron(parse_mesh(msh(), "t.msh"));
  EXPECT_EQ(message(msh(4), "t.msh"), "t.msh: face 1: there is no vertex 4");
  EXPECT_EQ(message(msh() + "x", "t.msh"), "t.msh: the header speaks of 140 bytes, but there are 141");
  EXPECT_EQ(message("short", "t.msh"), "t.msh: the file ends within its header");
  std::string broken = msh();
  std::memset(broken.data() + 16, 0xFF, 4);  // a NaN
  EXPECT_EQ(message(broken, "t.msh"), "t.msh: vertex 0 is not finite");
  std::string many = msh();
  std::memset(many.data(), 0xFF, 16);
  EXPECT_NE(message(many, "t.msh").find("the header speaks of"), std::string::npos);
}

TEST(MeshFile, ObjCutsPolygonsAndCountsFromBothEnds) {
  expect_tetrahedron(
      parse_mesh("# a comment\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nf 1 3 2\nf 1//1 2//1 4//1\n"
                 "f -4 -1 -2\nf 2/1 3/1 4/1\n",
                 "t.obj"));
  // Two squares and four sides that are squares: a cube.
  const TriangleMesh cube = parse_mesh(
      "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
      "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n",
      "cube.obj");
  EXPECT_EQ(cube.faces.size(), 12u);
  EXPECT_NEAR(rigid::solid_of(cube.vertices, cube.faces, false).mass, 1, 1e-15);
}

TEST(MeshFile, MistakesNameFileAndLine) {
  EXPECT_EQ(message("v 0 0\n", "m.obj"), "m.obj:1: a vertex needs three numbers");
  EXPECT_EQ(message("v 0 0 0\nv 1 0 0\nf 1 2 3\n", "m.obj"), "m.obj:3: there is no vertex 3");
  EXPECT_EQ(message("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2.5 3\n", "m.obj"), "m.obj:4: there is no vertex 2.5");
  EXPECT_EQ(message("v 0 0 x\n", "m.obj"), "m.obj:1: 'x' is not a number");
  EXPECT_EQ(message("v 0 0 1e300\n", "m.obj"), "m.obj:1: a vertex is not finite");
  EXPECT_EQ(message("v 0 0 0\n", "m.obj"), "m.obj: there are no triangles in the file");
  EXPECT_EQ(message("solid\nfacet\nvertex 0 0 0\nendfacet\n", "m.stl"),
            "m.stl:4: a facet has 1 vertices instead of 3");
  EXPECT_EQ(message("hello\n", "m.stl"), "m.stl:1: 'hello' is not part of an STL file");
  EXPECT_EQ(message("", "m.dae"),
            "m.dae: meshes of kind '.dae' cannot be read\n  convert it to STL, OBJ or PLY");
  std::string cut = binary_stl();
  cut.pop_back();
  EXPECT_NE(message(cut, "m.stl").find("m.stl"), std::string::npos);
  std::string broken = binary_stl();
  std::memset(broken.data() + 84 + 12, 0xFF, 4);  // a NaN
  EXPECT_EQ(message(broken, "m.stl"), "m.stl: vertex of facet 0 is not finite");
}

}  // namespace
}  // namespace costate::io

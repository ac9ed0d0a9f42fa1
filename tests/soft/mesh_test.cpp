// Meshes from numbers that are more than a grid: the shirt and bodies of cubes.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "costate/core/mat3.h"
#include "costate/soft/mesh/surface.h"
#include "costate/soft/mesh/voxels.h"
#include "costate/soft/soft_system.h"
#include "tests/expect_error.h"

namespace costate::soft {
namespace {

// Edges of a mesh of triangles by how many triangles they have.
std::map<int, int> edges_by_triangles(const std::vector<int>& triangles) {
  std::map<std::pair<int, int>, int> edges;
  std::map<std::pair<int, int>, int> directed;
  for (std::size_t t = 0; t < triangles.size(); t += 3)
    for (std::size_t k = 0; k < 3; ++k) {
      const int a = triangles[t + k], b = triangles[t + (k + 1) % 3];
      ++edges[std::minmax(a, b)];
      EXPECT_EQ(++directed[std::pair(a, b)], 1) << "two triangles are turned against each other";
    }
  std::map<int, int> count;
  for (const auto& [edge, many] : edges) ++count[many];
  return count;
}

TEST(SoftMeshTest, AShirtIsSewnAndOpenAtHemCuffsAndNeck) {
  const SoftMesh shirt = shirt_mesh(0.5, 4, 0.07);
  EXPECT_EQ(shirt.vertices.size(), 3U * 1390);
  EXPECT_EQ(shirt.cells.size(), 3U * 2688);
  auto edges = edges_by_triangles(shirt.cells);
  // Open: two hems of 20 edges, four cuffs of 8, two necks of 8 + 2 + 2.
  EXPECT_EQ(edges[1], 2 * (20 + 2 * 8 + 12));
  EXPECT_EQ(edges.size(), 2U);
  // It can be worn: a model with contact is one, so nothing of it is too close to itself.
  SoftModel m{.materials = {{.name = "m", .law = "stvk", .density = .2}},
              .contact = {.self = true, .distance = .005}};
  add_part(m, "shirt", Cells::triangles, shirt_mesh(0.5, 2, 0.07), 0);
  EXPECT_NO_THROW(soft_bodies<double>(m));
}

TEST(SoftMeshTest, CubesShareTheirCorners) {
  const SoftMesh corner = voxel_mesh(0.1, {{0, 0, 0}, {1, 0, 0}, {1, 0, 1}});
  EXPECT_EQ(corner.vertices.size(), 3U * (8 + 4 + 4));
  const Part part{.cells = Cells::hexahedra, .vertices = corner.cells};
  const std::vector<int> surface = surface_of(part);
  EXPECT_EQ(surface.size(), 3U * 2 * 14);  // three cubes of six faces, two of which are inside
  auto edges = edges_by_triangles(surface);
  EXPECT_EQ(edges.size(), 1U);  // closed
}

// Of a cone frustum of many cells: area and volume. Closed ends and bends leave no holes.
TEST(SoftMeshTest, ATubeIsRoundAndClosedWhereItsRadiusIsZero) {
  const SoftMesh skirt = tube_mesh({0, 0, 1, 0, 0, 0}, {.3, .7}, {200, 20});
  double area = 0;
  const auto at = [&](int i) {
    const double* x = skirt.vertices.data() + 3 * i;
    return Vec3<double>{x[0], x[1], x[2]};
  };
  for (std::size_t t = 0; t < skirt.cells.size(); t += 3) {
    const auto a = at(skirt.cells[t]);
    const auto n = cross(at(skirt.cells[t + 1]) - a, at(skirt.cells[t + 2]) - a);
    area += .5 * norm(n);
    EXPECT_GT(dot(n, Vec3<double>{a.x, a.y, 0}), 0);  // outwards
  }
  EXPECT_NEAR(area, std::acos(-1.0) * (.3 + .7) * std::hypot(1, .4), 2e-4 * area);
  EXPECT_EQ(edges_by_triangles(skirt.cells)[1], 400);

  const SoftMesh sock =
      tube_mesh({0, 0, .3, 0, 0, .1, .03, 0, .03, .1, 0, 0, .25, 0, 0}, {.04, .04, .04, .04, 0}, {12, 20});
  auto edges = edges_by_triangles(sock.cells);
  EXPECT_EQ(edges[1], 12);  // open at the top only
  EXPECT_EQ(sock.vertices.size(), 3U * (12 * 20 + 1));
  SoftModel m{.materials = {{.name = "m", .law = "stvk", .density = .2}},
              .contact = {.self = true, .distance = .002}};
  add_part(m, "sock", Cells::triangles, sock, 0);
  EXPECT_NO_THROW(soft_bodies<double>(m));
}

TEST(SoftMeshTest, ABallOfCubesIsThatOfDiffPd) {
  const SoftMesh ball = ball_of_cubes(.05, 10);
  EXPECT_EQ(ball.cells.size(), 8U * 552);
  EXPECT_EQ(ball.vertices.size(), 2469U);
}

TEST(SoftMeshTest, ARingIsClosedAndTheRightWayRound) {
  const SoftMesh ring = ring_of_hexahedra(.1, .04, {12, 2});
  EXPECT_EQ(ring.vertices.size(), 3U * 12 * 9);
  EXPECT_EQ(ring.cells.size(), 8U * 12 * 4);
  SoftModel m{.materials = {{.name = "m", .law = "arap"}}};
  add_part(m, "ring", Cells::hexahedra, ring, 0);
  EXPECT_NO_THROW(soft_bodies<double>(m));  // all volumes are positive
  const auto edges = edges_by_triangles(surface_of(m.parts[0]));
  ASSERT_EQ(edges.size(), 1U);  // every edge of its surface has two triangles
  EXPECT_EQ(edges.begin()->first, 2);
}

TEST(SoftMeshTest, BadNumbersAreErrors) {
  test::expect_error([] { return ring_of_hexahedra(.1, .2, {8, 2}).cells; }, "half its thickness", "");
  test::expect_error(
      [] {
        return ring_of_hexahedra(.1, .04, {2, 2}).cells;
      },
      "a ring of 2 cells around", "3 or more around");
  test::expect_error([] { return ball_of_cubes(0, 4).cells; }, "a positive radius", "");
  test::expect_error(
      [] {
        return tube_mesh({0, 0, 0, 0, 0, 1}, {1}, {8, 4}).cells;
      },
      "6 coordinates and 1 radii", "a radius for each point");
  test::expect_error(
      [] {
        return tube_mesh({0, 0, 0, 0, 0, 1}, {1, -1}, {8, 4}).cells;
      },
      "radius 1 of a tube is -1", "0 at an end closes it");
  test::expect_error([] { return tube_mesh({0, 0, 0, 0, 0, 0}, {1, 1}, {8, 4}).cells; }, "are one", "");
  test::expect_error(
      [] {
        return tube_mesh({0, 0, 0, 0, 0, 1, 0, 0, 0}, {1, 1, 1}, {8, 4}).cells;
      },
      "turns back", "");
  test::expect_error(
      [] {
        return tube_mesh({0, 0, 0, 0, 0, 1}, {1, 1}, {2, 4}).cells;
      },
      "a tube of 2 cells around", "3 or more around");
  test::expect_error([] { return shirt_mesh(0.5, 0, 0.1).cells; }, "a shirt of 0 squares",
                     "4 makes 1390 vertices");
  test::expect_error([] { return shirt_mesh(0.5, 2, 0).cells; }, "positive width and depth");
  test::expect_error([] { return voxel_mesh(0.1, {}).cells; }, "one or more");
  test::expect_error([] { return voxel_mesh(0.1, {{0, 1, 2}, {0, 1, 2}}).cells; }, "0, 1, 2 is there twice");
}

}  // namespace
}  // namespace costate::soft

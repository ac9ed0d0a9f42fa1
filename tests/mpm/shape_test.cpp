#include "costate/mpm/bodies/shape.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/mpm/bodies/mesh_distance.h"
#include "costate/mpm/bodies/reach.h"
#include "costate/mpm/bodies/ridges.h"
#include "costate/mpm/model.h"
#include "tests/expect_error.h"

namespace costate::mpm {
namespace {

using costate::test::expect_error;

TEST(Shape, DistancesAreThoseOfGeometry) {
  const auto phi = [](const Shape& s, double x, double y, double z) { return signed_distance(s, {x, y, z}); };
  EXPECT_DOUBLE_EQ(phi(Shape::sphere(2), 3, 4, 0), 3);
  EXPECT_DOUBLE_EQ(phi(Shape::sphere(2), 0, 0, 0), -2);
  EXPECT_DOUBLE_EQ(phi(Shape::box(1, 2, 3), 4, 6, 3), 5);
  EXPECT_DOUBLE_EQ(phi(Shape::box(1, 2, 3), 0.5, 0, 0), -0.5);
  EXPECT_DOUBLE_EQ(phi(Shape::capsule(0.5, 1), 3, 5, 0), 4.5);
  EXPECT_DOUBLE_EQ(phi(Shape::capsule(0.5, 1), 0.2, 0.7, 0), -0.3);
  EXPECT_DOUBLE_EQ(phi(Shape::cylinder(1, 2), 3, 0, 4), 4);
  EXPECT_DOUBLE_EQ(phi(Shape::cylinder(1, 2), 0, 2.5, 0), 0.5);
  EXPECT_DOUBLE_EQ(phi(Shape::half_space(), 7, -0.3, 1), -0.3);
  // A cup: free inside, solid in wall and bottom, open above.
  const Shape cup = Shape::cup(1, 2, 0.2);
  EXPECT_DOUBLE_EQ(phi(cup, 0, 1.5, 0), 0.9);
  EXPECT_DOUBLE_EQ(phi(cup, 0, 0, 1), -0.1);
  EXPECT_DOUBLE_EQ(phi(cup, 0.6, 1, 0.8), -0.1);
  EXPECT_DOUBLE_EQ(phi(cup, 0, -0.5, 0), 0.4);
  EXPECT_DOUBLE_EQ(phi(cup, 1, 2.5, 0), 0.4);
}

TEST(Shape, WrongSizesAreRefused) {
  expect_error([&] { return check(Shape::sphere(0)); }, "a shape needs a positive radius");
  expect_error([&] { return check(Shape::box(1, -1)); }, "a shape needs a positive half extent");
  expect_error([&] { return check(Shape::capsule(1, 0)); }, "a shape needs a positive half length");
  expect_error([&] { return check(Shape::shell({{0, 0}}, 0.1)); }, "needs a profile of two points or more");
  expect_error(
      [&] {
        return check(Shape::shell({{-1, 0}, {1, 0}}, 0.1));
      },
      "a profile consists of finite points");
  expect_error(
      [&] {
        return check(Shape::sampled({.points = {2, 2, 2}, .phi = {1}}));
      },
      "a lattice of 8 points has 1 distances");
}

TEST(Shape, FillingGivesEveryParticleItsShareOfVolume) {
  Model m;
  m.materials = {{.name = "a"}};
  EXPECT_EQ(fill(m, Shape::box(0.1, 0.2, 0.05), {0.5, 0.5, 0.5}, 0.025, 0), 8 * 16 * 4);
  double volume = 0;
  for (double v : m.particles.volume) volume += v;
  EXPECT_NEAR(volume, 0.2 * 0.4 * 0.1, 1e-12);
  const auto before = particle_count(m);
  const auto added = fill(m, Shape::sphere(0.2), {0.5, 0.5, 0.5}, 0.02, 0, {1, 2, 3});
  EXPECT_EQ(particle_count(m), before + added);
  EXPECT_NEAR(double(added) * 8e-6, 4.0 / 3 * 3.14159265 * 0.008, 0.03 * 0.0335);
  EXPECT_EQ(m.particles.v.back(), 3);
  expect_error(
      [&] {
        return fill(m, Shape::half_space(), {0, 0, 0}, 0.1, 0);
      },
      "a half space has no end: fill a box");
}

// A cube of twelve triangles has the distance of a box, up to the lattice's interpolation near edges.
TEST(MeshDistance, CubeHasTheDistanceOfABox) {
  TriangleMesh cube;
  for (int i = 0; i < 8; ++i)
    cube.vertices.push_back({i & 1 ? 0.5 : -0.5, i & 2 ? 0.5 : -0.5, i & 4 ? 0.5 : -0.5});
  const int quads[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                           {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
  for (const auto& q : quads) {
    cube.triangles.push_back({q[0], q[1], q[2]});
    cube.triangles.push_back({q[0], q[2], q[3]});
  }
  const DistanceLattice lattice = mesh_distance(cube, 0.1, 0.3);
  const Shape exact = Shape::box(0.5, 0.5, 0.5), sampled = Shape::sampled(lattice);
  std::size_t at = 0;
  for (int i = 0; i < lattice.points[0]; ++i) {
    for (int j = 0; j < lattice.points[1]; ++j) {
      for (int k = 0; k < lattice.points[2]; ++k) {
        const std::array<double, 3> x = {-0.8 + 0.1 * i, -0.8 + 0.1 * j, -0.8 + 0.1 * k};
        EXPECT_NEAR(lattice.phi[at], signed_distance(exact, x), 1e-12);
        EXPECT_NEAR(signed_distance(sampled, x), lattice.phi[at++], 1e-12);
      }
    }
  }
  EXPECT_NEAR(signed_distance(sampled, {0.63, 0.11, 0.05}), 0.13, 1e-12);
  EXPECT_NEAR(signed_distance(sampled, {0, 0, 2}), 1.5, 1e-12);  // beyond the lattice
  expect_error([&] { return mesh_distance({}, 0.1, 0.1); }, "a mesh needs triangles");
  expect_error(
      [&] {
        return mesh_distance({.vertices = {{0, 0, 0}}, .triangles = {{0, 1, 2}}}, 0.1, 0.1);
      },
      "a triangle refers to vertex 1, but there are 1");
}

// The diagonals of a box that lies on nodes, and none of one that lies beside them.
TEST(Ridges, NodesOnTheDiagonalOfABoxAreCounted) {
  Model m;
  m.dimension = 2;
  m.nodes = {32, 32, 1};
  m.dx = 0.125;
  m.colliders = {{.name = "box", .shape = Shape::box(0.25, 0.25), .position = {2, 2, 0}}};
  EXPECT_EQ(nodes_on_ridges(m, m.colliders[0]), 9);  // 4 diagonals of 2 nodes, and the centre
  m.origin = {0.03, 0.05, 0};
  EXPECT_EQ(nodes_on_ridges(m, m.colliders[0]), 0);
}

TEST(Reach, AShapeOutsideTheGridMeetsNoNode) {
  Model m;
  m.dimension = 2;
  m.nodes = {32, 32, 1};
  m.dx = 0.125;  // nodes from 0 to 3.875
  const Shape box = Shape::box(0.5, 0.1);
  EXPECT_TRUE(meets_grid(m, box, {2, 2, 0}, {0, 0, 0}, 1));
  EXPECT_TRUE(meets_grid(m, box, {4.4, 2, 0}, {0, 0, 0}, 1));  // its band
  EXPECT_FALSE(meets_grid(m, box, {4.4, 2, 0}, {0, 0, 0}, 0));
  EXPECT_FALSE(meets_grid(m, box, {4.4, 2, 0}, {0, 0, 1.5707963267948966}, 1));  // upright
}

}  // namespace
}  // namespace costate::mpm

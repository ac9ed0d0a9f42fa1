// Convex pairs found by searching: ellipsoids, cylinders and meshes, with each other and with spheres,
// capsules and boxes.
#include "costate/geometry/convex_case.h"
#include "costate/geometry/heightfield.h"
#include "tests/expect_error.h"
#include "tests/geometry/polyhedra.h"
#include "tests/geometry/shapes.h"

namespace costate::geometry::test {
namespace {

using costate::test::expect_error;
using enum ShapeType;

struct Pair {
  ShapeType first, second;
  double extent;
};

class ConvexPair : public testing::TestWithParam<Pair> {};

Sampler sampler(const Pair& pair) {
  return [=](std::mt19937& rng) {
    Scene s = near_each_other(pair.first, pair.second, pair.extent)(rng);
    for (Shape<double>& shape : s.shapes) shape.mesh = &spindle();
    return s;
  };
}

std::string pair_name(const testing::TestParamInfo<Pair>& pair) {
  const char* names[] = {"Plane", "Heightfield", "Sphere", "Capsule", "Ellipsoid", "Cylinder", "Box", "Mesh"};
  return std::string(names[int(pair.param.first)]) + names[int(pair.param.second)];
}

TEST_P(ConvexPair, TransposeIsExact) { expect_pair(sampler(GetParam()), 150); }
TEST_P(ConvexPair, LanesAreIndependent) {
  expect_lanes<double>(sampler(GetParam()), 1e-9);
  expect_lanes<float>(sampler(GetParam()), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(, ConvexPair,
                         testing::Values(Pair{sphere, ellipsoid, 0.4}, Pair{sphere, mesh, 0.3},
                                         Pair{capsule, ellipsoid, 0.4}, Pair{capsule, cylinder, 0.4},
                                         Pair{capsule, mesh, 0.3}, Pair{ellipsoid, ellipsoid, 0.4},
                                         Pair{ellipsoid, cylinder, 0.4}, Pair{ellipsoid, box, 0.4},
                                         Pair{ellipsoid, mesh, 0.3}, Pair{cylinder, cylinder, 0.4},
                                         Pair{cylinder, box, 0.4}, Pair{cylinder, mesh, 0.3},
                                         Pair{box, mesh, 0.3}, Pair{mesh, mesh, 0.3}),
                         pair_name);

HeightGrid hills() {
  HeightGrid h;
  h.rows = 9;
  h.columns = 11;
  h.size_x = 0.8;
  h.size_y = 0.7;
  h.height = 0.3;
  h.base = 0.2;
  for (int i = 0; i < h.rows * h.columns; ++i)
    h.heights.push_back(0.5 + 0.4 * std::sin(1.3 * i) * std::cos(0.7 * i));
  return h;
}

class HeightfieldPair : public testing::TestWithParam<Pair> {};

Sampler over_hills(const Pair& pair) {
  return [=](std::mt19937& rng) {
    static const HeightGrid grid = hills();
    Scene s = near_each_other(pair.first, pair.second, 0.3)(rng);
    s.shapes[0].heights = &grid;
    s.shapes[1].mesh = &spindle();
    s.shapes[1].x =
        s.shapes[0].x + s.shapes[0].R * Vec3<double>{uniform(rng, -0.3, 0.3), uniform(rng, -0.3, 0.3),
                                                     uniform(rng, 0.3, 0.5)};
    for (double& size : s.shapes[1].size) size *= 0.4;
    return s;
  };
}

TEST_P(HeightfieldPair, TransposeIsExact) { expect_pair(over_hills(GetParam()), 30, {.skipped = 0.3}); }
TEST_P(HeightfieldPair, LanesAreIndependent) { expect_lanes<double>(over_hills(GetParam()), 1e-9); }

INSTANTIATE_TEST_SUITE_P(, HeightfieldPair,
                         testing::Values(Pair{heightfield, sphere, 0}, Pair{heightfield, capsule, 0},
                                         Pair{heightfield, ellipsoid, 0}, Pair{heightfield, cylinder, 0},
                                         Pair{heightfield, box, 0}, Pair{heightfield, mesh, 0}),
                         pair_name);

// No direction n has the shapes overlap by less than the contact says: the support functions' own word.
void expect_least_overlap(ShapeType first, ShapeType second) {
  std::mt19937 rng(21);
  int overlapping = 0;
  for (int n = 0; n < 60; ++n) {
    Scene s = near_each_other(first, second, 0.25)(rng);
    for (Shape<double>& shape : s.shapes) shape.mesh = &spindle();
    ConvexBody one{first, s.shapes[0]}, two{second, s.shapes[1]};
    const ConvexCase c = convex_case(one, two, 1, 0);
    if (c.kind == ConvexCase::apart || c.z.d > 0) continue;
    ++overlapping;
    double least = 1e300;
    for (int k = 0; k < 20000; ++k) {
      const Vec3<double> d = random_direction(rng);
      least = std::min(least, dot(d, one.support(d) - two.support(-d)));
    }
    EXPECT_LE(-c.z.d, least + 1e-12);
    EXPECT_GE(-c.z.d, least - 0.02);
  }
  EXPECT_GT(overlapping, 20);
}
TEST(ConvexDepth, IsTheLeastOverAllNormals) {
  expect_least_overlap(ellipsoid, ellipsoid);
  expect_least_overlap(cylinder, box);
  expect_least_overlap(box, mesh);
  expect_least_overlap(mesh, mesh);
}

TEST(ConvexMesh, JoinsCoplanarTriangles) {
  const ConvexMesh& m = brick();
  EXPECT_EQ(m.vertex_count(), 8);
  EXPECT_EQ(m.face_count(), 6);
  for (int f = 0; f < 6; ++f) EXPECT_EQ(m.face_begin[std::size_t(f) + 1] - m.face_begin[std::size_t(f)], 4);
  EXPECT_EQ(spindle().face_count(), 8);
}
TEST(ConvexMesh, WalksToTheFarthestVertex) {
  std::mt19937 rng(4);
  for (int n = 0; n < 200; ++n) {
    const Vec3<double> d = random_direction(rng);
    const int found = farthest_vertex(spindle(), d, n % 6);
    for (const auto& v : spindle().vertices)
      EXPECT_GE(dot(d, spindle().vertices[std::size_t(found)]), dot(d, v));
  }
}
TEST(ConvexMesh, RefusesAnOpenSurface) {
  expect_error(
      [&] {
        return convex_mesh({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}});
      },
      "a convex mesh needs at least four triangles");
  expect_error(
      [&] {
        return convex_mesh({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                           {{0, 1, 2}, {0, 1, 3}, {1, 2, 3}, {2, 0, 9}});
      },
      "a triangle of a convex mesh names a vertex that is not there");
}

}  // namespace
}  // namespace costate::geometry::test

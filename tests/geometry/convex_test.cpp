// Convex pairs found by searching: ellipsoids, cylinders and meshes, with each other and with spheres, capsules and boxes.
#include "tests/geometry/polyhedra.h"
#include "tests/geometry/shapes.h"

namespace costate::geometry::test {
namespace {

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

TEST_P(ConvexPair, TransposeIsExact) {
  expect_pair(sampler(GetParam()), 150, {.dual = 1e-10, .dot = 1e-11, .stencil = 1e-7, .second = 1e-5});
}
TEST_P(ConvexPair, LanesAreIndependent) { expect_lanes<double>(sampler(GetParam()), 1e-9); }

INSTANTIATE_TEST_SUITE_P(, ConvexPair,
                         testing::Values(Pair{sphere, ellipsoid, 0.4}, Pair{sphere, mesh, 0.3},
                                         Pair{capsule, ellipsoid, 0.4}, Pair{capsule, cylinder, 0.4},
                                         Pair{capsule, mesh, 0.3}, Pair{ellipsoid, ellipsoid, 0.4},
                                         Pair{ellipsoid, cylinder, 0.4}, Pair{ellipsoid, box, 0.4},
                                         Pair{ellipsoid, mesh, 0.3}, Pair{cylinder, cylinder, 0.4},
                                         Pair{cylinder, box, 0.4}, Pair{cylinder, mesh, 0.3},
                                         Pair{box, mesh, 0.3}, Pair{mesh, mesh, 0.3}),
                         pair_name);

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
  EXPECT_THROW(convex_mesh({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}}), Error);
  EXPECT_THROW(
      convex_mesh({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {{0, 1, 2}, {0, 1, 3}, {1, 2, 3}, {2, 0, 9}}),
      Error);
}

}  // namespace
}  // namespace costate::geometry::test

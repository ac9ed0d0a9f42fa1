// Planes under solids, and spheres against boxes and cylinders.
#include "tests/geometry/polyhedra.h"
#include "tests/geometry/shapes.h"

namespace costate::geometry::test {
namespace {

using enum ShapeType;

Shape<double> upright(Vec3<double> x, double a, double b = 0, double c = 0) {
  return {x, Mat3<double>::identity(), {a, b, c}};
}
std::vector<ContactPoint<double>> touch(ShapeType first, const Shape<double>& a, ShapeType second,
                                        const Shape<double>& b, double margin = 0.1) {
  return contacts(Scene{{first, second}, {a, b}, margin}, a, b);
}
Sampler with_mesh(const Sampler& sample, const ConvexMesh& mesh) {
  return [=, &mesh](std::mt19937& rng) {
    Scene s = sample(rng);
    s.shapes[1].mesh = &mesh;
    return s;
  };
}

TEST(PlaneBox, RestsOnFourCornersInOrder) {
  const auto c = touch(plane, upright({0, 0, 0}, 1), box, upright({0, 0, 0.29}, 0.1, 0.2, 0.3));
  ASSERT_EQ(c.size(), 4u);
  for (const auto& p : c) EXPECT_NEAR(p.dist, -0.01, 1e-15);
  EXPECT_NEAR(c[0].point.x, -0.1, 1e-15);
  EXPECT_NEAR(c[1].point.x, 0.1, 1e-15);
  EXPECT_NEAR(c[1].point.y, -0.2, 1e-15);
  EXPECT_NEAR(c[2].point.y, 0.2, 1e-15);
}
TEST(PlaneBox, TransposeIsExact) { expect_pair(near_each_other(plane, box)); }
TEST(PlaneBox, LanesAreIndependent) {
  expect_lanes<double>(near_each_other(plane, box), 1e-13);
  expect_lanes<float>(near_each_other(plane, box), 1e-5);
}

TEST(PlaneEllipsoid, TransposeIsExact) { expect_pair(near_each_other(plane, ellipsoid)); }
TEST(PlaneEllipsoid, LanesAreIndependent) {
  expect_lanes<double>(near_each_other(plane, ellipsoid), 1e-13);
  expect_lanes<float>(near_each_other(plane, ellipsoid), 1e-5);
}

TEST(PlaneCylinder, StandsOnThreePoints) {
  const auto c = touch(plane, upright({0, 0, 0}, 1), cylinder, upright({0, 0, 0.29}, 0.2, 0.3));
  ASSERT_EQ(c.size(), 4u);
  EXPECT_NEAR(c[0].dist, -0.01, 1e-15);
  EXPECT_NEAR(c[0].point.x, 0.2, 1e-15);
  EXPECT_GT(c[1].dist, 0.1);
  EXPECT_NEAR(c[2].point.x, -0.1, 1e-15);
  EXPECT_NEAR(std::abs(c[2].point.y), 0.2 * std::sqrt(0.75), 1e-15);
}
TEST(PlaneCylinder, TransposeIsExact) { expect_pair(near_each_other(plane, cylinder)); }
TEST(PlaneCylinder, TransposeIsFiniteStandingUpright) {
  const Scene scene{{plane, cylinder}, {upright({0, 0, 0}, 1), upright({0, 0, 0.29}, 0.2, 0.3)}, 0.1};
  std::vector<ContactPoint<double>> bar(4, {1, {1, 2, 3}, {3, 2, 1}, {1, 1, 1}});
  for (double tilt : {0.0, 1e-16, 1e-12, 1e-6}) {
    Scene tilted = scene;
    tilted.shapes[1].R = rotation({tilt, 0, 0});
    Transposed t = transpose_of(tilted, bar);
    for (int i = 0; i < kShapeNumbers; ++i) EXPECT_LT(std::abs(number(t.bar[1], i)), 100);
  }
}
TEST(PlaneCylinder, LanesAreIndependent) {
  expect_lanes<double>(near_each_other(plane, cylinder), 1e-12);
  expect_lanes<float>(near_each_other(plane, cylinder), 1e-4);
}

TEST(PlaneMesh, LowestVertexAndThoseOfItsFace) {
  Shape<double> body = upright({0, 0, 0.24}, 0);
  body.mesh = &brick();
  const auto c = touch(plane, upright({0, 0, 0}, 1), mesh, body);
  ASSERT_EQ(c.size(), 4u);
  for (const auto& p : c) EXPECT_NEAR(p.dist, -0.01, 1e-15);
}
// So that the height of a slot is continuous.
TEST(PlaneMesh, LowerVerticesComeFirstHoweverHighTheyAre) {
  Shape<double> body = upright({0, 0, 0.5}, 0);
  body.mesh = &brick();
  body.R = rotation({0.1, 0.05, 0});
  const auto c = touch(plane, upright({0, 0, 0}, 1), mesh, body, 0.01);
  ASSERT_EQ(c.size(), 4u);
  for (std::size_t k = 1; k < 4; ++k) EXPECT_LT(c[k - 1].dist, c[k].dist);
  EXPECT_LT(c[3].dist, 0.5);
  EXPECT_GT(c[0].dist, 0.01);
}
TEST(PlaneMesh, TransposeIsExact) { expect_pair(with_mesh(near_each_other(plane, mesh), spindle())); }
TEST(PlaneMesh, LanesAreIndependent) {
  expect_lanes<double>(with_mesh(near_each_other(plane, mesh), spindle()), 1e-13);
  expect_lanes<float>(with_mesh(near_each_other(plane, mesh), spindle()), 1e-5);
}

TEST(SphereBox, TransposeIsExact) { expect_pair(near_each_other(sphere, box, 0.5), 300); }
TEST(SphereBox, TransposeIsExactFromInside) { expect_pair(near_each_other(sphere, box, 0.1), 300); }
TEST(SphereBox, LanesAreIndependent) {
  expect_lanes<double>(near_each_other(sphere, box), 1e-12);
  expect_lanes<float>(near_each_other(sphere, box), 1e-4);
}
TEST(SphereBox, FromInsideTheNearestFacePushes) {
  const auto c = touch(sphere, upright({0.08, 0, 0}, 0.05), box, upright({0, 0, 0}, 0.1, 0.2, 0.3));
  EXPECT_NEAR(c[0].dist, -0.07, 1e-15);
  EXPECT_EQ(c[0].normal.x, -1);
  EXPECT_NEAR(c[0].point.x, 0.065, 1e-15);
}

TEST(SphereCylinder, TransposeIsExact) { expect_pair(near_each_other(sphere, cylinder, 0.5), 300); }
TEST(SphereCylinder, TransposeIsExactFromInside) { expect_pair(near_each_other(sphere, cylinder, 0.1), 300); }
TEST(SphereCylinder, LanesAreIndependent) {
  expect_lanes<double>(near_each_other(sphere, cylinder), 1e-12);
  expect_lanes<float>(near_each_other(sphere, cylinder), 1e-4);
}

}  // namespace
}  // namespace costate::geometry::test

// Contacts of spheres, capsules and planes: values in closed form, transposes, and inputs where the formulas
// have no direction.
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

// Contacts and transposes of a degenerate scene: finite, and no trap raised on the way.
void expect_finite(ShapeType first, const Shape<double>& a, ShapeType second, const Shape<double>& b) {
  const Scene scene{{first, second}, {a, b}, 0.1};
  const auto found = contacts(scene, a, b);
  std::vector<ContactPoint<double>> bar(found.size(), {1, {1, 2, 3}, {3, 2, 1}, {1, 1, 1}});
  Transposed t = transpose_of(scene, bar);
  for (const auto& c : found) {
    EXPECT_TRUE(std::isfinite(c.dist));
    EXPECT_NEAR(squared_norm(c.normal), 1, 1e-12);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isfinite(c.point[i]));
  }
  for (int s = 0; s < 2; ++s)
    for (int i = 0; i < kShapeNumbers; ++i) EXPECT_TRUE(std::isfinite(number(t.bar[s], i)));
  const auto dual = contacts(scene, lifted<Dual<double>>(a), lifted<Dual<double>>(b));
  for (const auto& c : dual) EXPECT_TRUE(std::isfinite(c.dist.d[0]));
}

TEST(PlaneSphere, TouchesBelowTheCentre) {
  const auto c = touch(plane, upright({0, 0, 0.1}, 1), sphere, upright({1, 2, 0.5}, 0.45));
  ASSERT_EQ(c.size(), 1u);
  EXPECT_NEAR(c[0].dist, -0.05, 1e-15);
  EXPECT_NEAR(c[0].point.z, 0.075, 1e-15);
  EXPECT_EQ(c[0].normal.z, 1);
}
TEST(PlaneSphere, TransposeIsExact) { expect_pair(near_each_other(plane, sphere)); }
TEST(PlaneSphere, LanesAreIndependent) {
  expect_lanes<double>(near_each_other(plane, sphere), 1e-14);
  expect_lanes<float>(near_each_other(plane, sphere), 1e-5);
}

TEST(PlaneCapsule, TouchesWithBothEndsAndPrefersItsAxis) {
  Shape<double> capsule = upright({0, 0, 0.2}, 0.1, 0.5);
  capsule.R = rotation({0, 1.5707963267948966, 0});  // axis along x
  const auto c = touch(plane, upright({0, 0, 0}, 1), ShapeType::capsule, capsule);
  ASSERT_EQ(c.size(), 2u);
  EXPECT_NEAR(c[0].point.x, 0.5, 1e-15);
  EXPECT_NEAR(c[1].point.x, -0.5, 1e-15);
  EXPECT_NEAR(c[0].dist, 0.1, 1e-15);
  EXPECT_NEAR(c[1].tangent.x, 1, 1e-15);
}
TEST(PlaneCapsule, TransposeIsExact) { expect_pair(near_each_other(plane, capsule)); }
TEST(PlaneCapsule, LanesAreIndependent) {
  expect_lanes<double>(near_each_other(plane, capsule), 1e-14);
  expect_lanes<float>(near_each_other(plane, capsule), 1e-5);
}

TEST(SphereSphere, PointIsMidwayBetweenTheSurfaces) {
  const auto c = touch(sphere, upright({0, 0, 0}, 1), sphere, upright({0, 4, 0}, 2), 2);
  EXPECT_NEAR(c[0].dist, 1, 1e-15);
  EXPECT_NEAR(c[0].point.y, 1.5, 1e-15);
  EXPECT_NEAR(c[0].normal.y, 1, 1e-15);
}
TEST(SphereSphere, TransposeIsExact) { expect_pair(near_each_other(sphere, sphere)); }
TEST(SphereSphere, LanesAreIndependent) {
  expect_lanes<double>(near_each_other(sphere, sphere), 1e-14);
  expect_lanes<float>(near_each_other(sphere, sphere), 1e-5);
}
TEST(SphereSphere, CoincidentCentresAreFinite) {
  expect_finite(sphere, upright({1, 1, 1}, 0.5), sphere, upright({1, 1, 1}, 0.25));
}

TEST(SphereCapsule, TransposeIsExact) { expect_pair(near_each_other(sphere, capsule, 0.4)); }
TEST(SphereCapsule, LanesAreIndependent) {
  expect_lanes<double>(near_each_other(sphere, capsule), 1e-13);
  expect_lanes<float>(near_each_other(sphere, capsule), 1e-5);
}
TEST(SphereCapsule, CentreOnTheAxisAndNoLengthAreFinite) {
  expect_finite(sphere, upright({0, 0, 0.1}, 0.5), capsule, upright({0, 0, 0}, 0.25, 0.3));
  expect_finite(sphere, upright({0, 0, 0.1}, 0.5), capsule, upright({0, 0, 0}, 0.25, 0));
}

TEST(CapsuleCapsule, TransposeIsExact) { expect_pair(near_each_other(capsule, capsule, 0.5), 300); }
TEST(CapsuleCapsule, LanesAreIndependent) {
  expect_lanes<double>(near_each_other(capsule, capsule), 1e-12);
  expect_lanes<float>(near_each_other(capsule, capsule), 2e-4);
}
TEST(CapsuleCapsule, ParallelOnesTouchTwice) {
  const auto c =
      touch(capsule, upright({0, 0, 0}, 0.1, 0.5), capsule, upright({0.19, 0, 0.2}, 0.1, 0.5), 0.05);
  ASSERT_EQ(c.size(), 2u);
  EXPECT_NEAR(c[0].dist, -0.01, 1e-15);
  EXPECT_NEAR(c[1].dist, -0.01, 1e-15);
  EXPECT_NEAR(c[0].point.z, -0.3, 1e-15);  // the second's lower end
  EXPECT_NEAR(c[1].point.z, 0.5, 1e-15);   // the first's upper end
}
TEST(CapsuleCapsule, TransposeIsExactForParallelAxes) {
  // Held parallel; only what keeps them so is compared with Dual.
  std::mt19937 rng(3);
  for (int n = 0; n < 100; ++n) {
    Scene scene = near_each_other(capsule, capsule, 0.3)(rng);
    scene.shapes[1].R = scene.shapes[0].R;
    const auto at = contacts(scene, scene.shapes[0], scene.shapes[1]);
    std::vector<ContactPoint<double>> bar(2, ContactPoint<double>::zero());
    std::vector<bool> filled(2);
    for (std::size_t k = 0; k < 2; ++k) {
      filled[k] = present(at[k], scene.margin);
      if (filled[k])
        bar[k] = {0.3, {uniform(rng, -1, 1), 0.2, 0.7}, {0.1, uniform(rng, -1, 1), 0.4}, {0, 0, 0}};
    }
    Transposed hand = transpose_of(scene, bar);
    for (int i = 0; i < 3; ++i) {
      auto a = lifted<Dual<double>>(scene.shapes[0]), b = lifted<Dual<double>>(scene.shapes[1]);
      b.x[i].d[0] = 1;
      a.size[i].d[0] = 0.5;
      const double found = weighted(contacts(scene, a, b), bar, filled).d[0];
      EXPECT_NEAR(found, hand.bar[1].x[i] + 0.5 * hand.bar[0].size[i], 1e-12 * (1 + std::abs(found)));
    }
  }
}
TEST(CapsuleCapsule, DegenerateOnesAreFinite) {
  expect_finite(capsule, upright({0, 0, 0}, 0.1, 0.5), capsule, upright({0, 0, 0}, 0.1, 0.5));
  expect_finite(capsule, upright({0, 0, 0}, 0.1, 0), capsule, upright({0, 0, 0.1}, 0.1, 0));
  expect_finite(capsule, upright({0, 0, 0}, 0.1, 0.5), capsule, upright({0.05, 0, 2}, 0.1, 0));
  Shape<double> crossing = upright({0, 0, 0}, 0.1, 0.5);
  crossing.R = rotation({1.2, 0, 0});
  expect_finite(capsule, upright({0, 0, 0}, 0.1, 0.5), capsule, crossing);
}

}  // namespace
}  // namespace costate::geometry::test

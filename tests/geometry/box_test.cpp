// Boxes against boxes and capsules.
#include "tests/geometry/shapes.h"

namespace costate::geometry::test {
namespace {

using enum ShapeType;

TEST(BoxBox, StackedBoxesTouchAtFourCorners) {
  const Shape<double> lower = {{0, 0, 0}, Mat3<double>::identity(), {0.5, 0.5, 0.5}},
                      upper = {{0.1, 0, 0.99}, Mat3<double>::identity(), {0.5, 0.5, 0.5}};
  const auto c = contacts(Scene{{box, box}, {lower, upper}, 0}, lower, upper);
  int count = 0;
  for (const auto& p : c)
    if (p.dist < 0) {
      ++count;
      EXPECT_NEAR(p.dist, -0.01, 1e-15);
      EXPECT_NEAR(p.point.z, 0.495, 1e-15);
      EXPECT_EQ(p.normal.z, 1);
    }
  EXPECT_EQ(count, 4);
}
// So that the distance of a slot is continuous, and zero where a corner touches.
TEST(BoxBox, TheDeepestCornersComeFirst) {
  const Shape<double> floor = {{0, 0, -0.5}, Mat3<double>::identity(), {2, 2, 0.5}};
  for (const double height : {0.3, 0.6}) {
    const Shape<double> die = {{0, 0, height}, rotation({0.2, 0.1, 0}), {0.3, 0.3, 0.3}};
    const auto c = contacts(Scene{{box, box}, {floor, die}, 1e7}, floor, die);
    for (std::size_t k = 1; k < 4; ++k) EXPECT_LT(c[k - 1].dist, c[k].dist);
    double lowest = 1e300;
    for (int i = 0; i < 8; ++i) {
      const Vec3<double> corner = {i & 1 ? 0.3 : -0.3, i & 2 ? 0.3 : -0.3, i & 4 ? 0.3 : -0.3};
      lowest = std::min(lowest, (die.x + die.R * corner).z);
    }
    EXPECT_NEAR(c[0].dist, lowest, 1e-15);
  }
}
TEST(BoxBox, TransposeIsExact) { expect_pair(near_each_other(box, box, 0.35), 400); }
TEST(BoxBox, TransposeIsExactForAFewDegreesApart) {
  expect_pair(
      [](std::mt19937& rng) {
        Scene s = near_each_other(box, box, 0.1)(rng);
        s.shapes[1].R = rotation(0.2 * random_direction(rng)) * s.shapes[0].R;
        s.shapes[1].x =
            s.shapes[0].x +
            s.shapes[0].R * Vec3<double>{0.03, 0.04, s.shapes[0].size[2] + s.shapes[1].size[2] - 0.05};
        return s;
      },
      200);
}
TEST(BoxBox, LanesAreIndependent) {
  expect_lanes<double>(near_each_other(box, box), 1e-12);
  expect_lanes<float>(near_each_other(box, box), 1e-4);
}

TEST(CapsuleBox, LyingOnAFaceTouchesTwice) {
  const Shape<double> pill = {{0, 0, 0.59}, rotation({0, 1.5707963267948966, 0}), {0.1, 0.3, 0}},
                      cube = {{0, 0, 0}, Mat3<double>::identity(), {0.5, 0.5, 0.5}};
  const auto c = contacts(Scene{{capsule, box}, {pill, cube}, 0}, pill, cube);
  ASSERT_EQ(c.size(), 2u);
  for (const auto& p : c) {
    EXPECT_NEAR(p.dist, -0.01, 1e-14);
    EXPECT_NEAR(std::abs(p.point.x), 0.3, 1e-14);
    EXPECT_NEAR(p.normal.z, -1, 1e-14);
  }
}
TEST(CapsuleBox, TransposeIsExact) { expect_pair(near_each_other(capsule, box, 0.6), 500); }
TEST(CapsuleBox, LanesAreIndependent) {
  expect_lanes<double>(near_each_other(capsule, box), 1e-12);
  expect_lanes<float>(near_each_other(capsule, box), 1e-3);
}

}  // namespace
}  // namespace costate::geometry::test

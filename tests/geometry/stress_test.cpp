// Placements where formulas lose their direction: same centres, aligned axes, right angles, touching faces,
// no size. Contacts and transposes are finite, and nothing on the way raises a floating-point trap.
#include "costate/geometry/contact_frame.h"
#include "costate/geometry/heightfield.h"
#include "tests/geometry/polyhedra.h"
#include "tests/geometry/shapes.h"

namespace costate::geometry::test {
namespace {

using enum ShapeType;

const ShapeType kAll[] = {plane, heightfield, sphere, capsule, ellipsoid, cylinder, box, mesh};

const HeightGrid& flat_ground() {
  static const HeightGrid grid{5, 5, 1, 1, 0.2, 0.1, std::vector<double>(25, 0.5)};
  return grid;
}

void expect_finite(const Scene& scene) {
  const auto found = contacts(scene, scene.shapes[0], scene.shapes[1]);
  std::vector<ContactPoint<double>> bar(found.size(), ContactPoint<double>::zero());
  for (std::size_t k = 0; k < found.size(); ++k) {
    const auto& c = found[k];
    ASSERT_TRUE(std::isfinite(c.dist));
    if (c.dist > scene.margin) continue;
    bar[k] = {1, {0.3, 0.2, 0.1}, {0.1, 0.2, 0.3}, {0.2, 0.2, 0.2}};
    ASSERT_NEAR(squared_norm(c.normal), 1, 1e-9);
    const Mat3<double> frame = contact_frame(c.normal, c.tangent);
    ASSERT_NEAR(determinant(frame), 1, 1e-9);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(std::isfinite(c.point[i]));
  }
  Transposed t = transpose_of(scene, bar);
  for (int s = 0; s < 2; ++s)
    for (int i = 0; i < kShapeNumbers; ++i) ASSERT_TRUE(std::isfinite(number(t.bar[s], i)));
  // Tangents too.
  auto a = lifted<Dual<double>>(scene.shapes[0]), b = lifted<Dual<double>>(scene.shapes[1]);
  a.x.x.d[0] = b.x.y.d[0] = b.R.e[1][2].d[0] = 1;
  for (const auto& c : contacts(scene, a, b)) {
    ASSERT_TRUE(std::isfinite(c.dist.d[0]));
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(std::isfinite(c.point[i].d[0]) && std::isfinite(c.normal[i].d[0]));
  }
}

TEST(ContactStress, AlignedShapesAreFinite) {
  const double right = 1.5707963267948966;
  const Vec3<double> turns[] = {{0, 0, 0},     {right, 0, 0},     {0, right, 0},
                                {0, 0, right}, {0, 0, right / 2}, {right / 2, 0, 0}};
  const Vec3<double> offsets[] = {{0, 0, 0},     {0.2, 0, 0},    {0, 0, 0.2},   {0.1, 0.1, 0},
                                  {0.4, 0, 0},   {0, 0, 0.4},    {0, 0, 0.39},  {0.2, 0.2, 0.2},
                                  {0.4, 0.4, 0}, {0.05, 0, 0.4}, {0.4, 0, 0.05}};
  for (ShapeType first : kAll)
    for (ShapeType second : kAll) {
      if (first > second || contact_slots(first, second) == 0) continue;
      for (const auto& turn1 : {turns[0], turns[2]})
        for (const auto& turn2 : turns)
          for (const auto& offset : offsets) {
            Scene s{{first, second}, {}, 0.02};
            for (Shape<double>& shape : s.shapes) {
              shape.x = {0.5, 0.25, -1};
              for (double& size : shape.size) size = 0.2;
              shape.mesh = &brick();
              shape.heights = &flat_ground();
            }
            s.shapes[0].R = rotation(turn1);
            s.shapes[1].R = rotation(turn2);
            s.shapes[1].x += offset;
            SCOPED_TRACE("pair " + std::to_string(int(first)) + " " + std::to_string(int(second)));
            expect_finite(s);
            if (HasFatalFailure()) return;
          }
    }
}

TEST(ContactStress, RandomOverlapsAreFinite) {
  std::mt19937 rng(17);
  for (ShapeType first : kAll)
    for (ShapeType second : kAll) {
      if (first > second || contact_slots(first, second) == 0) continue;
      for (int n = 0; n < 200; ++n) {
        Scene s = near_each_other(first, second, n % 2 ? 0.3 : 1e-6)(rng);
        if (n % 5 == 0) s.shapes[1].R = rotation(1e-9 * random_direction(rng)) * s.shapes[0].R;
        for (Shape<double>& shape : s.shapes) {
          shape.mesh = n % 3 ? &spindle() : &brick();
          shape.heights = &flat_ground();
        }
        SCOPED_TRACE("pair " + std::to_string(int(first)) + " " + std::to_string(int(second)));
        expect_finite(s);
        if (HasFatalFailure()) return;
      }
    }
}

}  // namespace
}  // namespace costate::geometry::test

#include "costate/geometry/broad_phase.h"

#include <set>

#include "tests/allocation_guard.h"
#include "tests/geometry/polyhedra.h"
#include "tests/geometry/shapes.h"

namespace costate::geometry::test {
namespace {

using enum ShapeType;

TEST(BroadPhase, NeverHidesAContact) {
  std::mt19937 rng(5);
  for (ShapeType first : {plane, sphere, capsule, ellipsoid, cylinder, box, mesh})
    for (ShapeType second : {sphere, capsule, ellipsoid, cylinder, box, mesh}) {
      if (first > second || contact_slots(first, second) == 0) continue;
      int near = 0, far = 0;
      for (int n = 0; n < 300; ++n) {
        Scene s = near_each_other(first, second, 1.2)(rng);
        for (Shape<double>& shape : s.shapes) shape.mesh = &spindle();
        bool touches = false;
        for (const auto& c : contacts(s, s.shapes[0], s.shapes[1])) touches |= c.dist <= s.margin;
        const bool may = may_touch(first, second, s.shapes[0], s.shapes[1], s.margin);
        EXPECT_LE(touches, may);
        (may ? near : far) += 1;
      }
      EXPECT_GT(near, 10);
      EXPECT_GT(far, 10);
    }
}

TEST(BroadPhase, LanesAreAskedEachForItself) {
  using S = NativePack<double>;
  const Shape<double> unit = {{0, 0, 0}, Mat3<double>::identity(), {1, 1, 1}};
  Shape<S> a = lifted<S>(unit), b = lifted<S>(unit);
  b.x.x = S(5);
  b.x.x.set(1, 1.5);
  const auto may = may_touch(sphere, sphere, a, b, S(0));
  for (int l = 0; l < lanes_of<S>; ++l) EXPECT_EQ(may[l], l == 1);
}

TEST(SweepAndPrune, FindsWhatComparingAllPairsFinds) {
  std::mt19937 rng(9);
  constexpr int n = 60;
  SweepAndPrune sweep(n);
  std::vector<Shape<double>> shapes;
  for (int i = 0; i < n; ++i) {
    shapes.push_back(random_shape(rng, 2));
    for (double& s : shapes.back().size) s *= 0.8;
  }
  const ShapeType types[] = {sphere, capsule, box};
  for (int step = 0; step < 20; ++step) {
    std::vector<Bounds> bounds;
    for (int i = 0; i < n; ++i) {
      Shape<double>& s = shapes[std::size_t(i)];
      s.x += 0.1 * random_direction(rng);
      bounds.push_back(bounds_of(i == 0 ? plane : types[i % 3], s, 0.02));
    }
    std::set<std::pair<int, int>> found, expected;
    int visits = 0;
    sweep.each_overlap(bounds.data(), [&](int i, int j) {
      ++visits;
      found.insert({i, j});
    });
    for (int i = 0; i < n; ++i)
      for (int j = i + 1; j < n; ++j) {
        bool overlap = true;
        const Bounds &a = bounds[std::size_t(i)], &b = bounds[std::size_t(j)];
        for (int k = 0; k < 3; ++k) overlap &= a.low[k] <= b.high[k] && b.low[k] <= a.high[k];
        if (overlap) expected.insert({i, j});
      }
    EXPECT_EQ(found, expected);
    const costate::test::AllocationGuard guard;
    int again = 0;
    sweep.each_overlap(bounds.data(), [&](int, int) { ++again; });
    EXPECT_EQ(guard.count(), 0);
    EXPECT_EQ(again, visits);
    EXPECT_EQ(visits, int(found.size()));
  }
}

}  // namespace
}  // namespace costate::geometry::test

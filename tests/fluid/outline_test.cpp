// Depths inside outlines, splines, meshes and terrain: closed forms, and their transposes against stencils.
#include "costate/fluid/obstacles/outline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "tests/expect_error.h"

namespace costate::fluid {
namespace {

using costate::test::expect_error;

std::vector<Place> scattered(int count, double size) {
  std::vector<Place> places;
  for (int i = 0; i < count; ++i)
    places.push_back({size * std::sin(1.0 + 12.9898 * i), size * std::sin(2.0 + 78.233 * i),
                      size * std::sin(3.0 + 37.719 * i)});
  return places;
}
std::vector<double> some(std::size_t count) {
  std::vector<double> bar;
  for (std::size_t i = 0; i < count; ++i) bar.push_back(std::cos(0.7 * double(i)));
  return bar;
}
// The derivative of <bar, f(x)> by differences, one number at a time.
void expect_transpose(const std::function<std::vector<double>(const std::vector<double>&)>& f,
                      std::vector<double> x, const std::vector<double>& bar,
                      const std::vector<double>& found) {
  const auto value = [&] {
    const std::vector<double> y = f(x);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += bar[i] * y[i];
    return sum;
  };
  ASSERT_EQ(found.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double kept = x[i], h = 1e-6;
    x[i] = kept + h;
    const double up = value();
    x[i] = kept - h;
    const double down = value();
    x[i] = kept;
    EXPECT_NEAR(found[i], (up - down) / (2 * h), 1e-7) << i;
  }
}

TEST(Outline, OfARectangleIsTheDistanceToItsSides) {
  const std::vector<double> corners = {-2, -1, 2, -1, 2, 1, -2, 1};
  const auto depths = outline_depths({{0, 0.2, 0}, {1.7, 0.1, 0}, {3, 0, 0}, {5, 5, 0}, {0, 1, 0}}, corners);
  const double wanted[] = {0.8, 0.3, -1, -5, 0};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(depths[i], wanted[i], 1e-14);
  // A place on a side: the side moves outwards, and the place is as deep as it moved.
  const auto bar = outline_depths_vjp({{0, 1, 0}}, corners, {1.0});
  EXPECT_NEAR(bar[5], 0.5, 1e-14);
  EXPECT_NEAR(bar[7], 0.5, 1e-14);
}
TEST(Outline, TransposeIsItsDerivative) {
  std::vector<double> corners;
  for (int i = 0; i < 11; ++i) {
    const double t = 2 * std::numbers::pi * i / 11, r = 1 + 0.3 * std::sin(3 * t);
    corners.push_back(r * std::cos(t)), corners.push_back(r * std::sin(t));
  }
  const auto places = scattered(60, 1.4);
  expect_transpose([&](const auto& c) { return outline_depths(places, c); }, corners, some(60),
                   outline_depths_vjp(places, corners, some(60)));
}
TEST(Spline, AroundARegularPolygonIsNearlyACircle) {
  std::vector<double> control;
  for (int i = 0; i < 16; ++i)
    control.push_back(std::cos(std::numbers::pi * i / 8)),
        control.push_back(std::sin(std::numbers::pi * i / 8));
  const auto corners = spline_corners(control, 8);
  ASSERT_EQ(corners.size(), 16u * 8 * 2);
  const double radius = (2 + std::cos(std::numbers::pi / 8)) / 3;  // at the control points
  for (std::size_t i = 0; i < corners.size(); i += 2)
    EXPECT_NEAR(std::hypot(corners[i], corners[i + 1]), radius, 1e-4);
  expect_transpose([](const auto& c) { return spline_corners(c, 3); }, control, some(96),
                   spline_corners_vjp(32, 3, some(96)));
}
TEST(Mesh, OfAnOctahedronIsTheDistanceToItsFaces) {
  const std::vector<double> vertices = {1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1};
  const std::vector<std::uint32_t> triangles = {0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4,
                                                2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5};
  const auto depths = mesh_depths({{0.1, 0.1, 0.1}, {1, 1, 1}, {3, 0, 0}}, vertices, triangles);
  EXPECT_NEAR(depths[0], 0.7 / std::sqrt(3), 1e-14);
  EXPECT_NEAR(depths[1], -2 / std::sqrt(3), 1e-14);
  EXPECT_NEAR(depths[2], -2, 1e-14);
  const auto places = scattered(40, 1.1);
  expect_transpose([&](const auto& v) { return mesh_depths(places, v, triangles); }, vertices, some(40),
                   mesh_depths_vjp(places, vertices, triangles, some(40)));
}
TEST(Ground, OnAPlaneIsTheDistanceToIt) {
  Terrain t{.nx = 4, .ny = 3, .dx = 0.5, .dy = 0.4};
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 4; ++i) t.heights.push_back(0.3 + 0.5 * (0.5 * i) - 0.25 * (0.4 * j));
  const auto plane = [](const Place& x) {
    return (0.3 + 0.5 * x[0] - 0.25 * x[1] - x[2]) / std::sqrt(1 + 0.25 + 0.0625);
  };
  std::vector<Place> places = {{0.1, 0.1, 0.2}, {1.2, 0.7, -0.3}, {0.77, 0.31, 1.4}};
  const auto depths = terrain_depths(places, t);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(depths[i], plane(places[i]), 1e-14);
  t.heights[5] += 0.2, t.heights[2] -= 0.1;
  expect_transpose(
      [&](const auto& h) {
        Terrain moved = t;
        moved.heights = h;
        return terrain_depths(places, moved);
      },
      t.heights, some(3), terrain_depths_vjp(places, t, some(3)));
  const Terrain line{.nx = 3, .ny = 1, .dx = 1, .heights = {0, 1, 1}};
  const auto below = terrain_depths({{0.5, 0, 0}, {1.5, 0.25, 0}}, line);
  EXPECT_NEAR(below[0], 0.5 / std::sqrt(2), 1e-14);
  EXPECT_NEAR(below[1], 0.75, 1e-14);
  expect_transpose(
      [&](const auto& h) { return terrain_depths(places, {.nx = 3, .ny = 1, .dx = 1, .heights = h}); },
      line.heights, some(3), terrain_depths_vjp(places, line, some(3)));
}
TEST(Outline, SaysWhatIsWrong) {
  expect_error([] { outline_depths({}, {0, 0, 1, 1}); }, "4 numbers", "at least three corners");
  expect_error([] { spline_corners({0, 0, 1, 1}, 3); }, "a spline of 4 numbers", "three control points");
  expect_error([] { mesh_depths({}, {0, 0, 0}, {0, 1, 2}); }, "names vertex 1");
  expect_error([] { terrain_depths({{0, 0, 0}}, {.nx = 3, .heights = {1}}); }, "has 1 heights", "one height");
}

}  // namespace
}  // namespace costate::fluid

#include "costate/rigid/compile/compile_inertia.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "costate/rigid/compile/compile_hull.h"

namespace costate::rigid {
namespace {

using Point = Vec3<double>;

// A surface of many small triangles: what the closed forms must agree with. `shape` maps the unit sphere.
template <class Shape>
MassProperties sampled(const Shape& shape, int n) {
  std::vector<Point> points;
  for (int i = 0; i <= n; ++i) {
    const double polar = std::numbers::pi * i / n;
    for (int j = 0; j < 2 * n; ++j) {
      const double around = std::numbers::pi * j / n;
      points.push_back(shape(
          Point{std::sin(polar) * std::cos(around), std::sin(polar) * std::sin(around), std::cos(polar)}));
    }
  }
  std::vector<Triangle> faces;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < 2 * n; ++j) {
      const int a = i * 2 * n + j, b = i * 2 * n + (j + 1) % (2 * n), c = a + 2 * n, d = b + 2 * n;
      faces.push_back({a, c, b});
      faces.push_back({b, c, d});
    }
  }
  return solid_of(points, faces, false);
}

void expect_agree(const MassProperties& exact, const MassProperties& sum, double tolerance) {
  EXPECT_NEAR(sum.mass, exact.mass, tolerance * exact.mass);
  const double scale = trace(exact.inertia);
  EXPECT_NEAR(sum.inertia.xx, exact.inertia.xx, tolerance * scale);
  EXPECT_NEAR(sum.inertia.yy, exact.inertia.yy, tolerance * scale);
  EXPECT_NEAR(sum.inertia.zz, exact.inertia.zz, tolerance * scale);
  EXPECT_NEAR(sum.inertia.xy, 0, tolerance * scale);
}

MassProperties exact(GeomType type, const std::array<double, 3>& size) {
  return primitive_of(type, size, volume_of(type, size));
}

TEST(Inertia, EllipsoidAgreesWithItsTriangles) {
  expect_agree(exact(GeomType::ellipsoid, {0.3, 0.5, 0.9}),
               sampled(
                   [](const Point& p) {
                     return Point{0.3 * p.x, 0.5 * p.y, 0.9 * p.z};
                   },
                   200),
               2e-4);
  expect_agree(exact(GeomType::sphere, {0.4, 0, 0}), sampled([](const Point& p) { return 0.4 * p; }, 200),
               2e-4);
}

TEST(Inertia, CapsuleAgreesWithItsTriangles) {
  const auto shape = [](const Point& p) { return 0.2 * p + Point{0, 0, p.z >= -1e-12 ? 0.7 : -0.7}; };
  expect_agree(exact(GeomType::capsule, {0.2, 0.7, 0}), sampled(shape, 201), 2e-4);
}

TEST(Inertia, CylinderAgreesWithItsTriangles) {
  const auto shape = [](const Point& p) {
    const double r = std::hypot(p.x, p.y), reach = std::max(r, std::abs(p.z));  // the sphere onto a can
    return Point{0.2 * p.x / reach, 0.2 * p.y / reach, 0.7 * p.z / reach};
  };
  expect_agree(exact(GeomType::cylinder, {0.2, 0.7, 0}), sampled(shape, 400), 2e-4);
}

const std::vector<Point> kCube = {{-1, -2, -3}, {1, -2, -3}, {-1, 2, -3}, {1, 2, -3},
                                  {-1, -2, 3},  {1, -2, 3},  {-1, 2, 3},  {1, 2, 3}};

TEST(Inertia, BoxIsTheHullOfItsCorners) {
  const MassProperties box = exact(GeomType::box, {1, 2, 3});
  const MassProperties hull = solid_of(kCube, convex_hull(kCube), false);
  EXPECT_NEAR(hull.mass, 48, 1e-12);
  EXPECT_NEAR(hull.inertia.xx, box.inertia.xx, 1e-11);
  EXPECT_NEAR(hull.inertia.yy, box.inertia.yy, 1e-11);
  EXPECT_NEAR(hull.inertia.zz, box.inertia.zz, 1e-11);
}

TEST(Inertia, AShellIsTheDifferenceOfTwoSolids) {
  // A box grown by e on all sides, less the box, over e, as e goes to 0: d/de of 8 a b c (b^2 + c^2) / 3 and
  // so on.
  const auto side = [](double a, double b, double c) {
    return 8.0 / 3 * ((b * c + a * c + a * b) * (b * b + c * c) + a * b * c * 2 * (b + c));
  };
  const MassProperties shell = shell_of(kCube, convex_hull(kCube));
  EXPECT_NEAR(shell.mass, 88, 1e-12);
  EXPECT_NEAR(shell.inertia.xx, side(1, 2, 3), 1e-11);
  EXPECT_NEAR(shell.inertia.yy, side(2, 3, 1), 1e-11);
  EXPECT_NEAR(shell.inertia.zz, side(3, 1, 2), 1e-11);
}

TEST(Inertia, PartsOfABoxMakeTheBox) {
  // Two halves of a box, side by side and turned: the parallel-axis theorem in every term.
  const Quat<double> turn{0.5, 0.5, -0.5, 0.5};
  const Point at{0.1, -0.2, 0.3};
  const MassProperties half = primitive_of(GeomType::box, {0.5, 2, 3}, 24);
  const MassProperties whole = moved(primitive_of(GeomType::box, {1, 2, 3}, 48), at, turn);
  const MassProperties sum = combined({moved(moved(half, {-0.5, 0, 0}, {1, 0, 0, 0}), at, turn),
                                       moved(moved(half, {0.5, 0, 0}, {1, 0, 0, 0}), at, turn)});
  EXPECT_NEAR(sum.mass, whole.mass, 1e-13);
  EXPECT_NEAR(norm(sum.center - whole.center), 0, 1e-14);
  EXPECT_NEAR(sum.inertia.xx, whole.inertia.xx, 1e-12);
  EXPECT_NEAR(sum.inertia.yy, whole.inertia.yy, 1e-12);
  EXPECT_NEAR(sum.inertia.zz, whole.inertia.zz, 1e-12);
  EXPECT_NEAR(sum.inertia.xy, whole.inertia.xy, 1e-12);
  EXPECT_NEAR(sum.inertia.xz, whole.inertia.xz, 1e-12);
  EXPECT_NEAR(sum.inertia.yz, whole.inertia.yz, 1e-12);
}

TEST(Inertia, PrincipalAxesGiveTheTensorBack) {
  const Sym3<double> tensor =
      moved(primitive_of(GeomType::box, {1, 2, 3}, 2), {0, 0, 0}, {0.8, 0, 0.6, 0}).inertia;
  const PrincipalInertia p = principal_inertia(tensor);
  const Sym3<double> again =
      congruence(p.axes, Sym3<double>::diagonal(p.moments[0], p.moments[1], p.moments[2]));
  EXPECT_NEAR(again.xx, tensor.xx, 1e-13);
  EXPECT_NEAR(again.xz, tensor.xz, 1e-13);
  EXPECT_LE(p.moments[0], p.moments[1]);
}

}  // namespace
}  // namespace costate::rigid

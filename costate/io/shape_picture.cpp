// Shapes of the physics as shapes of a recording. The physics turns its shapes about y, a recording about z.
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/quat.h"
#include "costate/io/shape_picture.h"

namespace costate::io {
namespace {

using Point = std::array<double, 2>;

// Both sides of a polyline, half a thickness apart from it, as one closed outline around the end away from
// the axis.
std::vector<float> outline(const std::vector<Point>& line, double thickness) {
  const std::size_t n = line.size();
  const auto normal =
      [&](std::size_t i) -> Point {  // of piece i, to the right of its direction: outwards for a cup
    const double dx = line[i + 1][0] - line[i][0], dy = line[i + 1][1] - line[i][1],
                 size = std::hypot(dx, dy);
    return size > 0 ? Point{dy / size, -dx / size} : Point{0, 0};
  };
  const auto side = [&](std::size_t i, double offset) -> Point {
    const Point a = normal(i > 0 ? i - 1 : 0), b = normal(i + 1 < n ? i : n - 2);
    const double mx = a[0] + b[0], my = a[1] + b[1];
    const double stretch = 1 + a[0] * b[0] + a[1] * b[1];  // mitre: |m|^2 / 2
    const double scale = offset / std::max(stretch, 0.3);
    return {std::max(0.0, line[i][0] + scale * mx), line[i][1] + scale * my};
  };
  std::vector<float> profile;
  const auto put = [&](const Point& p) { profile.insert(profile.end(), {float(p[0]), float(p[1])}); };
  for (std::size_t i = 0; i < n; ++i) put(side(i, thickness / 2));
  const Point end = normal(n - 2);
  for (int k = 1; k < 8; ++k) {  // the rim, rounded
    const double a = 3.14159265358979 * k / 8, c = std::cos(a) * thickness / 2,
                 s = std::sin(a) * thickness / 2;
    put({line[n - 1][0] + c * end[0] - s * end[1], line[n - 1][1] + c * end[1] + s * end[0]});
  }
  for (std::size_t i = n; i-- > 0;) put(side(i, -thickness / 2));
  return profile;
}

bool stands_along_y(Shape::Kind kind) {
  return kind == Shape::Kind::revolution || kind == Shape::Kind::cylinder || kind == Shape::Kind::capsule ||
         kind == Shape::Kind::plane;
}

}  // namespace

Shape picture_of(const mpm::Shape& shape) {
  using Kind = Shape::Kind;
  if (shape.kind == Kind::plane) return {.kind = Kind::plane, .size = {1, 1}};
  if (shape.kind == Kind::revolution)
    return {.kind = Kind::revolution, .profile = outline(shape.profile, shape.size[0])};
  if (shape.kind == Kind::sampled) {  // its lattice, as a box
    Shape picture{.kind = Kind::box};
    for (const int n : shape.lattice->points)
      picture.size.push_back(float(0.5 * shape.lattice->spacing * std::max(1, n - 1)));
    return picture;
  }
  Shape picture{.kind = shape.kind};
  picture.size.assign(shape.size.begin(), shape.size.begin() + geometry::traits(shape.kind).sizes);
  return picture;
}

Pose picture_pose(const mpm::Shape& shape, const std::array<double, 3>& position,
                  const std::array<double, 3>& rotation) {
  Quat<double> q = exp_map(Vec3<double>{rotation[0], rotation[1], rotation[2]});
  const double h = std::sqrt(0.5);
  if (stands_along_y(shape.kind)) q = q * Quat<double>{h, -h, 0, 0};  // z to y
  return {float(position[0]), float(position[1]), float(position[2]), float(q.w),
          float(q.x),         float(q.y),         float(q.z)};
}

}  // namespace costate::io

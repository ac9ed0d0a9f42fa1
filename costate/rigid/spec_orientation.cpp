#include "costate/rigid/spec_orientation.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"

namespace costate::rigid {
namespace {

Vec3<double> direction(const Vec3<double>& v, const char* what) {
  const double length = std::hypot(v.x, v.y, v.z);
  if (!(length > 1e-14) || !std::isfinite(length))
    throw Error(std::string(what) + " is too short to be a direction");
  return {v.x / length, v.y / length, v.z / length};
}

}  // namespace

Quat<double> from_axis_angle(Vec3<double> axis, double angle) {
  axis = direction(axis, "the axis");
  const double s = std::sin(angle / 2);
  return {std::cos(angle / 2), s * axis.x, s * axis.y, s * axis.z};
}

Quat<double> from_euler(const Vec3<double>& angles, std::string_view sequence) {
  if (sequence.size() != 3 || sequence.find_first_not_of("xyzXYZ") != std::string_view::npos)
    throw Error(
        {"'" + std::string(sequence) + "' is not a sequence of rotations", {}, "write three of x y z X Y Z"});
  Quat<double> q = Quat<double>::identity();
  for (int i = 0; i < 3; ++i) {
    const char letter = sequence[i];
    const int axis = (letter | 0x20) - 'x';
    const Quat<double> turn =
        from_axis_angle({axis == 0 ? 1.0 : 0.0, axis == 1 ? 1.0 : 0.0, axis == 2 ? 1.0 : 0.0}, angles[i]);
    q = letter >= 'a' ? q * turn : turn * q;
  }
  return normalized(q);
}

Quat<double> from_xy_axes(Vec3<double> x, Vec3<double> y) {
  x = direction(x, "the x axis");
  y = direction(y - dot(x, y) * x, "the y axis, without its part along x,");
  const Vec3<double> z = cross(x, y);
  return from_matrix({{{x.x, y.x, z.x}, {x.y, y.y, z.y}, {x.z, y.z, z.z}}});
}

Quat<double> from_z_axis(Vec3<double> z) {
  z = direction(z, "the z axis");
  const Vec3<double> axis = {-z.y, z.x, 0};  // (0, 0, 1) x z
  const double s = std::hypot(axis.x, axis.y);
  // Opposite directions have no smallest rotation: turn about x.
  if (s < 1e-10) return z.z > 0 ? Quat<double>::identity() : Quat<double>{0, 1, 0, 0};
  return from_axis_angle(axis, std::atan2(s, z.z));
}

Quat<double> from_matrix(const Mat3<double>& r) {
  // Four ways to the same quaternion; the largest component first loses no digits [Shepperd 1978].
  const double t = trace(r);
  Quat<double> q;
  if (t > 0) {
    q = {1 + t, r(2, 1) - r(1, 2), r(0, 2) - r(2, 0), r(1, 0) - r(0, 1)};
  } else if (r(0, 0) >= r(1, 1) && r(0, 0) >= r(2, 2)) {
    q = {r(2, 1) - r(1, 2), 1 + r(0, 0) - r(1, 1) - r(2, 2), r(0, 1) + r(1, 0), r(0, 2) + r(2, 0)};
  } else if (r(1, 1) >= r(2, 2)) {
    q = {r(0, 2) - r(2, 0), r(0, 1) + r(1, 0), 1 - r(0, 0) + r(1, 1) - r(2, 2), r(1, 2) + r(2, 1)};
  } else {
    q = {r(1, 0) - r(0, 1), r(0, 2) + r(2, 0), r(1, 2) + r(2, 1), 1 - r(0, 0) - r(1, 1) + r(2, 2)};
  }
  return normalized(q);
}

}  // namespace costate::rigid

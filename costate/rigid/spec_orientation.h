// The ways people write an orientation, as quaternions. Meaning as in MJCF ("XML reference", frame
// orientations).
// Tests: tests/rigid/compile/spec_test.cpp.
#pragma once

#include <string_view>

#include "costate/core/quat.h"

namespace costate::rigid {

// Rotation by `angle` radians about `axis`, which need not have length 1 but must not vanish.
Quat<double> from_axis_angle(Vec3<double> axis, double angle);

// Three rotations one after the other. A letter of `sequence` names the axis: lower case moves with the
// frame, upper case stays. "xyz" is MJCF's own order, "XYZ" URDF's roll-pitch-yaw.
Quat<double> from_euler(const Vec3<double>& angles, std::string_view sequence = "xyz");

// The frame with this x axis and with y as near as a right angle allows.
Quat<double> from_xy_axes(Vec3<double> x, Vec3<double> y);

// The smallest rotation that takes (0, 0, 1) to the direction of z.
Quat<double> from_z_axis(Vec3<double> z);

// The quaternion of a rotation matrix.
Quat<double> from_matrix(const Mat3<double>& r);

}  // namespace costate::rigid

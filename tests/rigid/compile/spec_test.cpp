#include "costate/rigid/spec.h"

#include <gtest/gtest.h>

#include <numbers>

#include "costate/core/error.h"
#include "costate/rigid/compile/compile.h"
#include "tests/expect_error.h"

namespace costate::rigid {
namespace {

using costate::test::expect_error;

constexpr double kPi = std::numbers::pi;

void expect_same_rotation(const Rotation& a, const Rotation& b) {
  EXPECT_NEAR(std::abs(dot(a, b)), 1, 1e-14) << a.w << ' ' << a.x << ' ' << a.y << ' ' << a.z;
}

TEST(Orientation, EulerAnglesInSequenceMoveWithTheFrame) {
  const Rotation x = from_axis_angle({1, 0, 0}, 0.3), y = from_axis_angle({0, 1, 0}, -0.8),
                 z = from_axis_angle({0, 0, 1}, 1.7);
  expect_same_rotation(from_euler({0.3, -0.8, 1.7}), x * y * z);
  expect_same_rotation(from_euler({0.3, -0.8, 1.7}, "XYZ"), z * y * x);
  expect_same_rotation(from_euler({1.7, 0.3, -0.8}, "zXy"), x * z * y);
  expect_error(
      [&] {
        return from_euler({0, 0, 0}, "xyw");
      },
      "'xyw' is not a sequence of rotations", "write three of x y z X Y Z");
}

TEST(Orientation, ZAxisIsReachedByTheSmallestRotation) {
  const Vector z = normalized(Vector{0.3, -0.4, 0.2});
  const Rotation q = from_z_axis({0.3, -0.4, 0.2});
  const Vector reached = rotate(q, Vector{0, 0, 1});
  EXPECT_NEAR(norm(reached - z), 0, 1e-15);
  EXPECT_NEAR(q.z, 0, 1e-16);  // the axis of rotation is at right angles to both
  expect_same_rotation(from_z_axis({0, 0, 5}), {1, 0, 0, 0});
  expect_same_rotation(from_z_axis({0, 0, -5}), {0, 1, 0, 0});
  expect_error([&] { return from_z_axis({0, 0, 0}); }, "is too short to be a direction");
}

TEST(Orientation, XyAxesAreMadeOrthogonal) {
  const Rotation q = from_xy_axes({0, 2, 0}, {-1, 5, 0});
  expect_same_rotation(q, from_axis_angle({0, 0, 1}, kPi / 2));
  expect_error([&] { return from_xy_axes({1, 0, 0}, {2, 0, 0}); }, "is too short to be a direction");
}

TEST(Orientation, MatrixAndQuaternionAgreeInEveryBranch) {
  for (const Vector axis : {Vector{1, 0, 0}, Vector{0, 1, 0}, Vector{0, 0, 1}, Vector{1, 2, -3}}) {
    for (const double angle : {0.1, 1.5, 3.1, -2.9}) {
      const Rotation q = from_axis_angle(axis, angle);
      expect_same_rotation(from_matrix(to_matrix(q)), q);
    }
  }
}

TEST(Spec, BodiesChainIntoATree) {
  // [double-pendulum]
  rigid::Spec spec("double pendulum");
  spec.world.body("upper", {0, 0, 2})
      .hinge("shoulder", {0, 1, 0})
      .capsule("upper_arm", {0, 0, 0}, {0, 0, -0.5}, 0.03)
      .body("lower", {0, 0, -0.5})
      .hinge("elbow", {0, 1, 0})
      .capsule("lower_arm", {0, 0, 0}, {0, 0, -0.5}, 0.03);
  spec.joint("elbow").damping = 0.5;
  spec.add(rigid::ActuatorSpec::motor("torque", "elbow").limit_ctrl(-1, 1));
  const rigid::Model model = rigid::compile(spec);
  // [/double-pendulum]
  EXPECT_EQ(spec.body("lower").joints.size(), 1u);
  EXPECT_EQ(spec.body("upper").children.front().name, "lower");
  EXPECT_EQ(spec.body("lower").last_joint().damping, 0.5);
  EXPECT_EQ(spec.geom("lower_arm").size[0], 0.03);
  EXPECT_EQ(model.nv, 2);
  EXPECT_EQ(model.joints[1].damping, 0.5);
}

TEST(Spec, AWrongNameBringsTheNearestOne) {
  Spec spec;
  spec.world.body("forearm").hinge("elbow", {0, 1, 0});
  try {
    spec.joint("elbo");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "there is no joint 'elbo'\n  did you mean 'elbow'?");
  }
  expect_error([&] { return spec.world.last_joint(); }, "has no joint yet");
}

}  // namespace
}  // namespace costate::rigid

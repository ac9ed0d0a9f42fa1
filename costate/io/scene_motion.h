// Motion: how a collider moves, as cubic B-splines of time, and the transpose of that.
//
//   p(t) = sum_i P_i B_i(t),   theta(t) = sum_i a_i B_i(t),   0 <= t <= T       clamped: p(0) = P_0, p(T) = P_n-1
//
// p is the path of a pivot (a point c fixed to the shape: the lip of a jug), theta the angle about a fixed axis n. With
// R = exp([theta n]x) and c_t = R c, the origin of the shape has
//
//   position          x = p - c_t                    x_theta = -n x c_t
//   rotation          phi = theta n
//   velocity          v = p' - theta' n x c_t         v_theta = -theta' n x (n x c_t),  v_theta' = -n x c_t
//   angular velocity  omega = theta' n
//
// so the velocities are the derivatives of the pose, which the physics does not enforce. In two dimensions n is the z axis.
//
// Regularisers, with their gradients: jerk = 1/T int |q'''|^2 dt T^6 (dimension of q^2: it does not depend on the unit of time), exact,
// since q''' is constant between knots; excess = mean over samples of max(0, q - limit)^2.
// Tests: tests/io/scene_motion_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace costate::io {

// Weights of the (up to) four control points that a clamped cubic B-spline sees at one time.
struct SplineWeights {
  int first = 0;
  std::array<double, 4> w = {};
};
// Derivative 0 to 3 with respect to t; `points` >= 4 control points over [0, duration].
SplineWeights spline_weights(int points, double duration, double t, int derivative);

// One component of a path: control points, and what they mean.
struct Path {
  std::vector<double> points;

  double at(double duration, double t, int derivative = 0) const;
  void add_transpose(double duration, double t, int derivative, double value_bar,
                     std::vector<double>& points_bar) const;
};

double jerk(const Path& path);
void jerk_vjp(const Path& path, double bar, std::vector<double>& points_bar);
double excess(const Path& path, double limit);
void excess_vjp(const Path& path, double limit, double bar, std::vector<double>& points_bar);

struct Motion {
  std::string collider;
  std::array<Path, 3> position;
  Path angle;
  std::array<double, 3> axis = {0, 0, 1}, pivot = {0, 0, 0};
};

// Of the shape's origin.
struct BodyState {
  std::array<double, 3> position = {}, rotation = {}, velocity = {}, angular_velocity = {};
};
BodyState motion_at(const Motion& motion, double duration, double t);
// Adds to the points of motion_bar, whose paths have the lengths of the motion's.
void motion_at_vjp(const Motion& motion, double duration, double t, const BodyState& bar, Motion& motion_bar);
// Same shape, all points zero.
Motion zeros_like(const Motion& motion);

}  // namespace costate::io

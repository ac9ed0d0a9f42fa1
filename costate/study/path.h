// Path: one number as a function of time, given by a few points. Controls of actuators, motions of colliders
// and controls of equations are paths; what an optimiser changes about them are their points.
//
//   u(t) = sum_i w_i(t) P_i,   0 <= t <= T
//
//   hold      u = P_i for i <= n t/T < i + 1                       n equal parts
//   linear    straight lines between n equally spaced points
//   spline    clamped cubic B-spline: u(0) = P_0, u(T) = P_n-1; n >= 4
//   steps     P_k in step k: a formula of time, sampled; its points are not for optimisers
//
// u is linear in its points, so the transpose of every value and of every derivative is the same weights:
// add_transpose().
//
// Prices on a path, with their gradients: jerk = T^5 int |u'''|^2 dt (dimension of u^2: it does not depend on
// the unit of time), exact, since u''' of a spline is constant between knots; excess = mean over samples of
// max(0, u - limit)^2.
// Tests: tests/study/path_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace costate::study {

// The (up to) four points that a path sees at one time, and their weights.
struct PathWeights {
  std::size_t first = 0, count = 1;
  std::array<double, 4> w = {1, 0, 0, 0};
};

struct Path {
  enum class Shape { hold, linear, spline, steps };
  Shape shape = Shape::spline;
  std::vector<double> points = {};

  // At a time of the duration T; derivatives with respect to time, which only a spline has.
  PathWeights weights(double t, double duration = 1, int derivative = 0) const;
  // In step k of `steps`.
  PathWeights weights_in_step(std::int64_t k, std::int64_t steps) const;

  double at(double t, double duration = 1, int derivative = 0) const {
    return apply(weights(t, duration, derivative));
  }
  double in_step(std::int64_t k, std::int64_t steps) const { return apply(weights_in_step(k, steps)); }
  double apply(const PathWeights& weights) const;
  // Least number of points that a shape needs.
  static std::size_t least_points(Shape shape);
};

// Adds the transpose of apply().
void add_transpose(const PathWeights& weights, double value_bar, std::vector<double>& points_bar);

double jerk(const Path& path);
void jerk_vjp(const Path& path, double bar, std::vector<double>& points_bar);
double excess(const Path& path, double limit);
void excess_vjp(const Path& path, double limit, double bar, std::vector<double>& points_bar);

}  // namespace costate::study

#include "costate/io/scene_motion.h"

#include <algorithm>
#include <cmath>

#include "costate/core/quat.h"

namespace costate::io {
namespace {

constexpr int kDegree = 3;
constexpr int kExcessSamples = 101;

// Knot i of the clamped, otherwise uniform knot vector over [0, spans].
double knot(int points, int i) { return std::clamp(i - kDegree, 0, points - kDegree); }

// Cox and de Boor's recursion for basis function i of degree p, differentiated `derivative` times. 0/0 counts as 0.
double basis(int points, int i, int p, double u, int derivative) {
  if (p == 0) {
    const double low = knot(points, i), high = knot(points, i + 1), end = points - kDegree;
    return u >= low && (u < high || (u == end && high == end)) && high > low ? 1 : 0;
  }
  const double left = knot(points, i + p) - knot(points, i),
               right = knot(points, i + p + 1) - knot(points, i + 1);
  if (derivative > 0) {
    return p * ((left > 0 ? basis(points, i, p - 1, u, derivative - 1) / left : 0) -
                (right > 0 ? basis(points, i + 1, p - 1, u, derivative - 1) / right : 0));
  }
  return (left > 0 ? (u - knot(points, i)) / left * basis(points, i, p - 1, u, 0) : 0) +
         (right > 0 ? (knot(points, i + p + 1) - u) / right * basis(points, i + 1, p - 1, u, 0) : 0);
}

double excess_time(int sample) { return double(sample) / (kExcessSamples - 1); }

using Vec = Vec3<double>;
Vec vec(const std::array<double, 3>& a) { return {a[0], a[1], a[2]}; }

}  // namespace

SplineWeights spline_weights(int points, double duration, double t, int derivative) {
  const int spans = points - kDegree;
  const double scale = spans / duration, u = std::clamp(t * scale, 0.0, double(spans));
  SplineWeights r;
  r.first = std::min(int(u), spans - 1);
  for (int k = 0; k < 4; ++k)
    r.w[std::size_t(k)] = std::pow(scale, derivative) * basis(points, r.first + k, kDegree, u, derivative);
  return r;
}

double Path::at(double duration, double t, int derivative) const {
  const SplineWeights s = spline_weights(int(points.size()), duration, t, derivative);
  double sum = 0;
  for (std::size_t k = 0; k < 4; ++k) sum += s.w[k] * points[std::size_t(s.first) + k];
  return sum;
}

void Path::add_transpose(double duration, double t, int derivative, double value_bar,
                         std::vector<double>& points_bar) const {
  const SplineWeights s = spline_weights(int(points.size()), duration, t, derivative);
  for (std::size_t k = 0; k < 4; ++k) points_bar[std::size_t(s.first) + k] += s.w[k] * value_bar;
}

double jerk(const Path& path) {
  const int spans = int(path.points.size()) - kDegree;
  double sum = 0;
  for (int s = 0; s < spans; ++s) {
    const double third = path.at(1, (s + 0.5) / spans, 3);
    sum += third * third / spans;
  }
  return sum;
}

void jerk_vjp(const Path& path, double bar, std::vector<double>& points_bar) {
  const int spans = int(path.points.size()) - kDegree;
  for (int s = 0; s < spans; ++s) {
    const double t = (s + 0.5) / spans;
    path.add_transpose(1, t, 3, bar * 2 * path.at(1, t, 3) / spans, points_bar);
  }
}

double excess(const Path& path, double limit) {
  double sum = 0;
  for (int i = 0; i < kExcessSamples; ++i) {
    const double over = std::max(0.0, path.at(1, excess_time(i)) - limit);
    sum += over * over / kExcessSamples;
  }
  return sum;
}

void excess_vjp(const Path& path, double limit, double bar, std::vector<double>& points_bar) {
  for (int i = 0; i < kExcessSamples; ++i) {
    const double over = std::max(0.0, path.at(1, excess_time(i)) - limit);
    path.add_transpose(1, excess_time(i), 0, bar * 2 * over / kExcessSamples, points_bar);
  }
}

BodyState motion_at(const Motion& motion, double duration, double t) {
  const double angle = motion.angle.at(duration, t), rate = motion.angle.at(duration, t, 1);
  const Vec n = vec(motion.axis), arm = rotate(exp_map(angle * n), vec(motion.pivot)), swing = cross(n, arm);
  BodyState s;
  for (int i = 0; i < 3; ++i) {
    const std::size_t k = std::size_t(i);
    s.position[k] = motion.position[k].at(duration, t) - arm[i];
    s.velocity[k] = motion.position[k].at(duration, t, 1) - rate * swing[i];
    s.rotation[k] = angle * n[i];
    s.angular_velocity[k] = rate * n[i];
  }
  return s;
}

void motion_at_vjp(const Motion& motion, double duration, double t, const BodyState& bar,
                   Motion& motion_bar) {
  const double angle = motion.angle.at(duration, t), rate = motion.angle.at(duration, t, 1);
  const Vec n = vec(motion.axis), arm = rotate(exp_map(angle * n), vec(motion.pivot)), swing = cross(n, arm);
  for (std::size_t k = 0; k < 3; ++k) {
    motion.position[k].add_transpose(duration, t, 0, bar.position[k], motion_bar.position[k].points);
    motion.position[k].add_transpose(duration, t, 1, bar.velocity[k], motion_bar.position[k].points);
  }
  const double angle_bar = dot(n, vec(bar.rotation)) - dot(swing, vec(bar.position)) -
                           rate * dot(cross(n, swing), vec(bar.velocity));
  const double rate_bar = dot(n, vec(bar.angular_velocity)) - dot(swing, vec(bar.velocity));
  motion.angle.add_transpose(duration, t, 0, angle_bar, motion_bar.angle.points);
  motion.angle.add_transpose(duration, t, 1, rate_bar, motion_bar.angle.points);
}

Motion zeros_like(const Motion& motion) {
  Motion zero = motion;
  for (Path& path : zero.position) std::fill(path.points.begin(), path.points.end(), 0.0);
  std::fill(zero.angle.points.begin(), zero.angle.points.end(), 0.0);
  return zero;
}

}  // namespace costate::io

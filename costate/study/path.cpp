#include "costate/study/path.h"

#include <algorithm>
#include <cmath>

namespace costate::study {
namespace {

constexpr int kDegree = 3;
constexpr int kExcessSamples = 101;

// Knot i of the clamped, otherwise uniform knot vector over [0, spans].
double knot(int points, int i) { return std::clamp(i - kDegree, 0, points - kDegree); }

// Cox and de Boor's recursion for basis function i of degree p, differentiated `derivative` times. 0/0 counts
// as 0.
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

PathWeights spline_weights(int points, double t, double duration, int derivative) {
  const int spans = points - kDegree;
  const double scale = spans / duration, u = std::clamp(t * scale, 0.0, double(spans));
  const int first = std::min(int(u), spans - 1);
  PathWeights r{.first = std::size_t(first), .count = 4};
  for (int k = 0; k < 4; ++k)
    r.w[k] = std::pow(scale, derivative) * basis(points, first + k, kDegree, u, derivative);
  return r;
}

double excess_time(int sample) { return double(sample) / (kExcessSamples - 1); }

}  // namespace

std::size_t Path::least_points(Shape shape) {
  return shape == Shape::spline ? 4 : shape == Shape::linear ? 2 : 1;
}

PathWeights Path::weights(double t, double duration, int derivative) const {
  const std::size_t n = points.size();
  const double s = t / duration;
  PathWeights r;
  switch (shape) {
    case Shape::hold:
    case Shape::steps:
      r.first = std::min(std::size_t(double(n) * s * (1 + 1e-14)), n - 1);
      break;
    case Shape::linear: {
      const double u = s * double(n - 1);
      r.first = std::min(std::size_t(u), n - 2);
      r.count = 2;
      r.w[1] = u - double(r.first);
      r.w[0] = 1 - r.w[1];
      break;
    }
    case Shape::spline:
      return spline_weights(int(n), t, duration, derivative);
  }
  return r;
}

PathWeights Path::weights_in_step(std::int64_t k, std::int64_t steps) const {
  if (shape == Shape::steps) return {.first = std::size_t(k)};
  return weights(double(k) / double(steps));
}

double Path::apply(const PathWeights& weights) const {
  double sum = 0;
  for (std::size_t i = 0; i < weights.count; ++i) sum += weights.w[i] * points[weights.first + i];
  return sum;
}

void add_transpose(const PathWeights& weights, double value_bar, std::vector<double>& points_bar) {
  for (std::size_t i = 0; i < weights.count; ++i) points_bar[weights.first + i] += weights.w[i] * value_bar;
}

double jerk(const Path& path) {
  const int spans = int(path.points.size()) - kDegree;
  double sum = 0;
  for (int s = 0; s < spans; ++s) {
    const double third = path.at((s + 0.5) / spans, 1, 3);
    sum += third * third / spans;
  }
  return sum;
}

void jerk_vjp(const Path& path, double bar, std::vector<double>& points_bar) {
  const int spans = int(path.points.size()) - kDegree;
  for (int s = 0; s < spans; ++s) {
    const PathWeights third = path.weights((s + 0.5) / spans, 1, 3);
    add_transpose(third, bar * 2 * path.apply(third) / spans, points_bar);
  }
}

double excess(const Path& path, double limit) {
  double sum = 0;
  for (int i = 0; i < kExcessSamples; ++i) {
    const double over = std::max(0.0, path.at(excess_time(i)) - limit);
    sum += over * over / kExcessSamples;
  }
  return sum;
}

void excess_vjp(const Path& path, double limit, double bar, std::vector<double>& points_bar) {
  for (int i = 0; i < kExcessSamples; ++i) {
    const PathWeights at = path.weights(excess_time(i));
    const double over = std::max(0.0, path.apply(at) - limit);
    add_transpose(at, bar * 2 * over / kExcessSamples, points_bar);
  }
}

}  // namespace costate::study

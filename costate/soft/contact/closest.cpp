#include "costate/soft/contact/closest.h"

#include <limits>

namespace costate::soft {
namespace {

using V = Vec3<double>;

double squared_distance(Closest kind, const V (&x)[4]) {
  double w[4];
  closest_weights(kind, x, w);
  const V c = w[0] * x[0] + w[1] * x[1] + w[2] * x[2] + w[3] * x[3];
  return dot(c, c);
}

// An end of one edge against the other edge: the case of its clamped foot.
Closest end_case(double t, Closest at_0, Closest at_1, Closest between) {
  return t <= 0 ? at_0 : t >= 1 ? at_1 : between;
}

}  // namespace

Closest closest_point_triangle(const V (&x)[4]) {
  const V &p = x[0], &a = x[1], &b = x[2], &c = x[3];
  const V ab = b - a, ac = c - a, ap = p - a, bp = p - b, cp = p - c;
  const double d1 = dot(ab, ap), d2 = dot(ac, ap), d3 = dot(ab, bp), d4 = dot(ac, bp), d5 = dot(ab, cp),
               d6 = dot(ac, cp);
  if (d1 <= 0 && d2 <= 0) return Closest::corner_0;
  if (d3 >= 0 && d4 <= d3) return Closest::corner_1;
  if (d6 >= 0 && d5 <= d6) return Closest::corner_2;
  if (d1 * d4 - d3 * d2 <= 0 && d1 >= 0 && d3 <= 0) return Closest::edge_01;
  if (d5 * d2 - d1 * d6 <= 0 && d2 >= 0 && d6 <= 0) return Closest::edge_20;
  if (d3 * d6 - d5 * d4 <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) return Closest::edge_12;
  return Closest::face;
}

Closest closest_edges(const V (&x)[4]) {
  // The closest points are inside of both, or an end is closest: the best of four ends against the other
  // edge.
  const V a = x[1] - x[0], b = x[3] - x[2];
  const V n = cross(a, b);
  if (dot(n, n) > 1e-20 * dot(a, a) * dot(b, b)) {
    double w[4];
    closest_weights(Closest::edges, x, w);
    if (w[0] > 0 && w[1] > 0 && w[2] < 0 && w[3] < 0) return Closest::edges;
  }
  const Closest four[4] = {
      end_case(foot(x[0], x[2], x[3]), Closest::ends_00, Closest::ends_01, Closest::end_0_edge),
      end_case(foot(x[1], x[2], x[3]), Closest::ends_10, Closest::ends_11, Closest::end_1_edge),
      end_case(foot(x[2], x[0], x[1]), Closest::ends_00, Closest::ends_10, Closest::edge_end_0),
      end_case(foot(x[3], x[0], x[1]), Closest::ends_01, Closest::ends_11, Closest::edge_end_1)};
  Closest best = four[0];
  double least = std::numeric_limits<double>::infinity();
  for (const Closest kind : four) {
    const double square = squared_distance(kind, x);
    if (square < least) least = square, best = kind;
  }
  return best;
}

}  // namespace costate::soft

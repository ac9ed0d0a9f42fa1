#include "costate/soft/contact/contact_areas.h"

#include <algorithm>

#include "costate/core/vec3.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;
V point(const double* y, int v) { return {y[3 * v], y[3 * v + 1], y[3 * v + 2]}; }
void add(const V& v, double* y, int vertex) {
  for (int d = 0; d < 3; ++d) y[3 * vertex + d] += v[d];
}

}  // namespace

ContactAreas::ContactAreas(int vertices, std::span<const int> triangles, std::span<const int> segments)
    : vertices_(vertices),
      triangles_(triangles.begin(), triangles.end()),
      segments_(segments.begin(), segments.end()),
      on_triangle_(std::size_t(vertices), 0) {
  for (std::size_t t = 0; t < triangles_.size(); t += 3)
    for (std::size_t k = 0; k < 3; ++k) {
      on_triangle_[std::size_t(triangles_[t + k])] = 1;
      edges_.push_back(std::minmax(triangles_[t + k], triangles_[t + (k + 1) % 3]));
    }
  for (std::size_t e = 0; e < segments_.size(); e += 2)
    edges_.push_back(std::minmax(segments_[e], segments_[e + 1]));
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
}

std::int64_t ContactAreas::edge(int a, int b) const {
  const Edge wanted = std::minmax(a, b);
  return vertices_ + (std::lower_bound(edges_.begin(), edges_.end(), wanted) - edges_.begin());
}

// triangle(vertices, places of the six areas that have a third of it),
// segment(vertices, place, share): what an area has of its length.
template <class Triangle, class Segment>
void ContactAreas::visit(const Triangle& triangle, const Segment& segment) const {
  for (std::size_t t = 0; t < triangles_.size(); t += 3) {
    const int* v = triangles_.data() + t;
    const std::int64_t places[6] = {v[0], v[1], v[2], edge(v[0], v[1]), edge(v[1], v[2]), edge(v[2], v[0])};
    triangle(v, places);
  }
  for (std::size_t e = 0; e < segments_.size(); e += 2) {
    const int* v = segments_.data() + e;
    segment(v, edge(v[0], v[1]), 1.0);
    for (int k = 0; k < 2; ++k)
      if (!on_triangle_[std::size_t(v[k])]) segment(v, v[k], 0.5);
  }
}

void ContactAreas::of(const double* rest, double* areas) const {
  std::fill(areas, areas + count(), 0.0);
  visit(
      [&](const int* v, const std::int64_t(&places)[6]) {
        const V a = point(rest, v[0]), n = cross(point(rest, v[1]) - a, point(rest, v[2]) - a);
        for (const std::int64_t at : places) areas[at] += norm(n) / 6;
      },
      [&](const int* v, std::int64_t at, double share) {
        areas[at] += share * norm(point(rest, v[1]) - point(rest, v[0]));
      });
}

void ContactAreas::of_jvp(const double* rest, const double* rest_dot, double* areas_dot) const {
  std::fill(areas_dot, areas_dot + count(), 0.0);
  visit(
      [&](const int* v, const std::int64_t(&places)[6]) {
        const V a = point(rest, v[0]), e = point(rest, v[1]) - a, f = point(rest, v[2]) - a;
        const V a_dot = point(rest_dot, v[0]), e_dot = point(rest_dot, v[1]) - a_dot,
                f_dot = point(rest_dot, v[2]) - a_dot;
        const V n = cross(e, f);
        const double rate = dot(n, cross(e_dot, f) + cross(e, f_dot)) / norm(n);
        for (const std::int64_t at : places) areas_dot[at] += rate / 6;
      },
      [&](const int* v, std::int64_t at, double share) {
        const V e = point(rest, v[1]) - point(rest, v[0]);
        areas_dot[at] += share * dot(e, point(rest_dot, v[1]) - point(rest_dot, v[0])) / norm(e);
      });
}

void ContactAreas::of_vjp(const double* rest, const double* areas_bar, double* rest_bar) const {
  visit(
      [&](const int* v, const std::int64_t(&places)[6]) {
        const V a = point(rest, v[0]), e = point(rest, v[1]) - a, f = point(rest, v[2]) - a;
        double bar = 0;
        for (const std::int64_t at : places) bar += areas_bar[at] / 6;
        const V n = cross(e, f), n_bar = (bar / norm(n)) * n;
        const V e_bar = cross(f, n_bar), f_bar = cross(n_bar, e);
        add(e_bar, rest_bar, v[1]), add(f_bar, rest_bar, v[2]), add(-(e_bar + f_bar), rest_bar, v[0]);
      },
      [&](const int* v, std::int64_t at, double share) {
        const V e = point(rest, v[1]) - point(rest, v[0]);
        const V e_bar = (share * areas_bar[at] / norm(e)) * e;
        add(e_bar, rest_bar, v[1]), add(-e_bar, rest_bar, v[0]);
      });
}

}  // namespace costate::soft

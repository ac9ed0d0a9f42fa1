#include "costate/fluid/obstacles/outline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "costate/core/error.h"
#include "costate/core/parallel.h"

namespace costate::fluid {
namespace {

// The nearest point of a surface: which corners it lies between, with which weights, and how far away.
struct Nearest {
  std::array<std::size_t, 3> corner = {};
  std::array<double, 3> weight = {};
  Place normal = {};  // towards outside
  double depth = 0;
};

double dot(const Place& a, const Place& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Place minus(const Place& a, const Place& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
Place cross(const Place& a, const Place& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

// The sign is in `inside`; `facing` is the normal of the side, for a place that lies on it.
void finish(Nearest& at, const Place& x, const Place& point, double squared, bool inside, Place facing) {
  const double distance = std::sqrt(squared);
  at.depth = inside ? distance : -distance;
  const double scale = distance > 1e-14 ? 1 / at.depth : 0;
  for (std::size_t k = 0; k < 3; ++k)
    at.normal[k] = scale != 0 ? (point[k] - x[k]) * scale : facing[k] / std::sqrt(dot(facing, facing));
}

Place corner(const std::vector<double>& corners, std::size_t i) {
  return {corners[2 * i], corners[2 * i + 1], 0};
}
Nearest nearest_of_outline(const Place& at, const std::vector<double>& corners) {
  const std::size_t n = corners.size() / 2;
  const Place x{at[0], at[1], 0};
  Nearest best;
  Place point{}, facing{};
  double least = std::numeric_limits<double>::infinity(), area = 0;
  bool inside = false;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t j = (i + 1) % n;
    const Place p = corner(corners, i), q = corner(corners, j), along = minus(q, p), from = minus(x, p);
    area += p[0] * q[1] - p[1] * q[0];
    const double length = dot(along, along),
                 t = length > 0 ? std::clamp(dot(along, from) / length, 0.0, 1.0) : 0;
    const Place here{p[0] + t * along[0], p[1] + t * along[1], 0}, away = minus(x, here);
    if (dot(away, away) < least) {
      least = dot(away, away);
      best.corner = {i, j, i}, best.weight = {1 - t, t, 0};
      point = here, facing = {along[1], -along[0], 0};
    }
    if ((p[1] > x[1]) != (q[1] > x[1]) && x[0] < p[0] + (x[1] - p[1]) / (q[1] - p[1]) * (q[0] - p[0]))
      inside = !inside;
  }
  if (area < 0) facing = {-facing[0], -facing[1], 0};
  finish(best, x, point, least, inside, facing);
  return best;
}

// Weights of the nearest point of a triangle (Ericson, Real-Time Collision Detection, 2005, section 5.1.5).
std::array<double, 3> nearest_of_triangle(const Place& x, const Place& a, const Place& b, const Place& c) {
  const Place ab = minus(b, a), ac = minus(c, a), ax = minus(x, a), bx = minus(x, b), cx = minus(x, c);
  const double d1 = dot(ab, ax), d2 = dot(ac, ax), d3 = dot(ab, bx), d4 = dot(ac, bx), d5 = dot(ab, cx),
               d6 = dot(ac, cx);
  if (d1 <= 0 && d2 <= 0) return {1, 0, 0};
  if (d3 >= 0 && d4 <= d3) return {0, 1, 0};
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) return {1 - d1 / (d1 - d3), d1 / (d1 - d3), 0};
  if (d6 >= 0 && d5 <= d6) return {0, 0, 1};
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) return {1 - d2 / (d2 - d6), 0, d2 / (d2 - d6)};
  const double va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 >= d3 && d5 >= d6) {
    const double t = (d4 - d3) / ((d4 - d3) + (d5 - d6));
    return {0, 1 - t, t};
  }
  const double sum = va + vb + vc;
  return {va / sum, vb / sum, vc / sum};
}
// Of the triangle as it is seen from x (Van Oosterom, Strackee, IEEE Trans. Biomed. Eng. 30, 1983).
double solid_angle(const Place& x, const Place& a, const Place& b, const Place& c) {
  const Place p = minus(a, x), q = minus(b, x), r = minus(c, x);
  const double lp = std::sqrt(dot(p, p)), lq = std::sqrt(dot(q, q)), lr = std::sqrt(dot(r, r));
  return 2 * std::atan2(dot(p, cross(q, r)), lp * lq * lr + dot(p, q) * lr + dot(q, r) * lp + dot(r, p) * lq);
}
Nearest nearest_of_mesh(const Place& x, const std::vector<double>& vertices,
                        const std::vector<std::uint32_t>& triangles) {
  const auto vertex = [&](std::size_t i) {
    return Place{vertices[3 * i], vertices[3 * i + 1], vertices[3 * i + 2]};
  };
  Nearest best;
  Place point{}, facing{};
  double least = std::numeric_limits<double>::infinity(), seen = 0;
  for (std::size_t t = 0; t + 2 < triangles.size(); t += 3) {
    const std::array<std::size_t, 3> which = {triangles[t], triangles[t + 1], triangles[t + 2]};
    const Place a = vertex(which[0]), b = vertex(which[1]), c = vertex(which[2]);
    seen += solid_angle(x, a, b, c);
    const auto w = nearest_of_triangle(x, a, b, c);
    Place here;
    for (std::size_t k = 0; k < 3; ++k) here[k] = w[0] * a[k] + w[1] * b[k] + w[2] * c[k];
    const Place away = minus(x, here);
    if (dot(away, away) >= least) continue;
    least = dot(away, away);
    best.corner = which, best.weight = w;
    point = here, facing = cross(minus(b, a), minus(c, a));
  }
  finish(best, x, point, least, std::abs(seen) > 2 * std::numbers::pi, facing);
  return best;
}

template <class Find>
std::vector<double> depths_of(const std::vector<Place>& places, const Find& find) {
  std::vector<double> depths(places.size());
  parallel_for(std::int64_t(places.size()), 256, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) depths[i] = find(places[i]).depth;
  });
  return depths;
}
// corners_bar, of `dim` numbers per corner.
template <class Find>
std::vector<double> depths_of_vjp(const std::vector<Place>& places, const Find& find,
                                  const std::vector<double>& bar, std::size_t numbers, std::size_t dim) {
  if (bar.size() != places.size())
    throw Error("there are " + std::to_string(bar.size()) + " cotangents of " +
                std::to_string(places.size()) + " depths");
  std::vector<double> corners_bar(numbers, 0.0);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (bar[i] == 0) continue;
    const Nearest at = find(places[i]);
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t k = 0; k < dim; ++k)
        corners_bar[dim * at.corner[c] + k] += at.weight[c] * at.normal[k] * bar[i];
  }
  return corners_bar;
}
auto outline_finder(const std::vector<double>& corners) {
  if (corners.size() < 6 || corners.size() % 2 != 0)
    throw Error({"an outline has " + std::to_string(corners.size()) + " numbers",
                 {},
                 "give x and y of at least three corners"});
  return [&corners](const Place& x) { return nearest_of_outline(x, corners); };
}
auto mesh_finder(const std::vector<double>& vertices, const std::vector<std::uint32_t>& triangles) {
  if (triangles.empty() || triangles.size() % 3 != 0 || vertices.size() % 3 != 0)
    throw Error({"a mesh has " + std::to_string(vertices.size()) + " numbers of vertices and " +
                     std::to_string(triangles.size()) + " of triangles",
                 {},
                 "give x, y and z of every vertex, and three vertices per triangle"});
  for (const std::uint32_t v : triangles)
    if (3 * std::size_t(v) >= vertices.size())
      throw Error("a triangle of a mesh names vertex " + std::to_string(v) + ", and there are " +
                  std::to_string(vertices.size() / 3));
  return [&](const Place& x) { return nearest_of_mesh(x, vertices, triangles); };
}

// Weights of the four control points around a part of a uniform cubic B-spline.
std::array<double, 4> spline_weights(double t) {
  const double s = 1 - t;
  return {s * s * s / 6, (3 * t * t * t - 6 * t * t + 4) / 6, (3 * s * s * s - 6 * s * s + 4) / 6,
          t * t * t / 6};
}
// f(number of the corner, number of the control point, weight)
template <class F>
void each_weight(std::size_t control_numbers, int per, const F& f) {
  const std::size_t n = control_numbers / 2;
  if (n < 3 || control_numbers % 2 != 0 || per < 1)
    throw Error({"a spline of " + std::to_string(control_numbers) + " numbers with " + std::to_string(per) +
                     " corners per point",
                 {},
                 "give x and y of at least three control points, and at least one corner per point"});
  for (std::size_t i = 0; i < n; ++i) {
    for (int k = 0; k < per; ++k) {
      const auto w = spline_weights(double(k) / per);
      for (std::size_t m = 0; m < 4; ++m) f(i * std::size_t(per) + std::size_t(k), (i + m + n - 1) % n, w[m]);
    }
  }
}

// The height above a place, its slopes, and the weights of the four points around.
struct Ground {
  std::array<std::size_t, 4> point;
  std::array<double, 4> weight, by_x, by_y;
  double above, root;  // height - z, sqrt(1 + |slope|^2)
  double slope_x, slope_y;
};
Ground ground_at(const Place& x, const Terrain& t) {
  if (t.nx < 2 || t.ny < 1 || std::int64_t(t.heights.size()) != t.nx * t.ny || !(t.dx > 0) || !(t.dy > 0))
    throw Error({"a terrain of " + std::to_string(t.nx) + " x " + std::to_string(t.ny) + " points has " +
                     std::to_string(t.heights.size()) + " heights",
                 {},
                 "give one height per point, at least two along x, and positive distances"});
  const bool flat = t.ny == 1;
  const auto part = [](double at, std::int64_t n, std::int64_t& i) {
    i = std::clamp(std::int64_t(std::floor(at)), std::int64_t(0), std::max<std::int64_t>(0, n - 2));
    return std::clamp(at - double(i), 0.0, 1.0);
  };
  std::int64_t i = 0, j = 0;
  const double s = part(x[0] / t.dx, t.nx, i), r = flat ? 0 : part(x[1] / t.dy, t.ny, j);
  const auto at = std::size_t(j * t.nx + i), up = flat ? at : at + std::size_t(t.nx);
  Ground g{{at, at + 1, up, up + 1},
           {(1 - s) * (1 - r), s * (1 - r), (1 - s) * r, s * r},
           {-(1 - r) / t.dx, (1 - r) / t.dx, -r / t.dx, r / t.dx},
           {-(1 - s) / t.dy, -s / t.dy, (1 - s) / t.dy, s / t.dy},
           -x[flat ? 1 : 2],
           1,
           0,
           0};
  for (std::size_t k = 0; k < 4; ++k) {
    const double h = t.heights[g.point[k]];
    g.above += g.weight[k] * h, g.slope_x += g.by_x[k] * h;
    if (!flat) g.slope_y += g.by_y[k] * h;
  }
  g.root = std::sqrt(1 + g.slope_x * g.slope_x + g.slope_y * g.slope_y);
  return g;
}

}  // namespace

std::vector<double> outline_depths(const std::vector<Place>& places, const std::vector<double>& corners) {
  return depths_of(places, outline_finder(corners));
}
std::vector<double> outline_depths_vjp(const std::vector<Place>& places, const std::vector<double>& corners,
                                       const std::vector<double>& depths_bar) {
  return depths_of_vjp(places, outline_finder(corners), depths_bar, corners.size(), 2);
}

std::vector<double> spline_corners(const std::vector<double>& control, int per) {
  std::vector<double> corners(control.size() * std::size_t(std::max(per, 0)), 0.0);
  each_weight(control.size(), per, [&](std::size_t to, std::size_t from, double w) {
    for (std::size_t k = 0; k < 2; ++k) corners[2 * to + k] += w * control[2 * from + k];
  });
  return corners;
}
std::vector<double> spline_corners_vjp(std::size_t control_numbers, int per,
                                       const std::vector<double>& corners_bar) {
  std::vector<double> control_bar(control_numbers, 0.0);
  each_weight(control_numbers, per, [&](std::size_t to, std::size_t from, double w) {
    for (std::size_t k = 0; k < 2; ++k) control_bar[2 * from + k] += w * corners_bar.at(2 * to + k);
  });
  return control_bar;
}

std::vector<double> mesh_depths(const std::vector<Place>& places, const std::vector<double>& vertices,
                                const std::vector<std::uint32_t>& triangles) {
  return depths_of(places, mesh_finder(vertices, triangles));
}
std::vector<double> mesh_depths_vjp(const std::vector<Place>& places, const std::vector<double>& vertices,
                                    const std::vector<std::uint32_t>& triangles,
                                    const std::vector<double>& depths_bar) {
  return depths_of_vjp(places, mesh_finder(vertices, triangles), depths_bar, vertices.size(), 3);
}

std::vector<double> terrain_depths(const std::vector<Place>& places, const Terrain& terrain) {
  std::vector<double> depths;
  for (const Place& x : places) {
    const Ground g = ground_at(x, terrain);
    depths.push_back(g.above / g.root);
  }
  return depths;
}
// depth = above / root:  above_bar = bar / root,  slope_bar = -above slope / root^3 bar
std::vector<double> terrain_depths_vjp(const std::vector<Place>& places, const Terrain& terrain,
                                       const std::vector<double>& depths_bar) {
  std::vector<double> heights_bar(terrain.heights.size(), 0.0);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Ground g = ground_at(places[i], terrain);
    const double by_slope = -g.above / (g.root * g.root * g.root) * depths_bar.at(i);
    for (std::size_t k = 0; k < 4; ++k)
      heights_bar[g.point[k]] +=
          g.weight[k] * depths_bar[i] / g.root + by_slope * (g.slope_x * g.by_x[k] + g.slope_y * g.by_y[k]);
  }
  return heights_bar;
}

}  // namespace costate::fluid

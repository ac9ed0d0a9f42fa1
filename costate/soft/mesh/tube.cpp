#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/mat3.h"
#include "costate/soft/mesh/procedural.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;

// A line of points with a radius at each: where it is, how wide, and where it goes, by the way along it.
struct Line {
  std::vector<V> points;
  std::vector<double> radii, way = {0};

  struct Place {
    V at, tangent;
    double radius;
  };
  Place at(double s) const {
    std::size_t k = 1;
    while (k + 1 < way.size() && way[k] < s) ++k;
    const double t = std::clamp((s - way[k - 1]) / (way[k] - way[k - 1]), 0.0, 1.0);
    // At a point the tangent lies between those of both sides, so that rings there are not cut by a bend.
    V tangent = direction(k);
    if (t == 1 && k + 1 < way.size()) tangent = normalized(tangent + direction(k + 1));
    return {points[k - 1] + t * (points[k] - points[k - 1]), tangent,
            radii[k - 1] + t * (radii[k] - radii[k - 1])};
  }
  V direction(std::size_t k) const { return normalized(points[k] - points[k - 1]); }
};

Line line_of(const std::vector<double>& points, const std::vector<double>& radii) {
  Line line{{}, radii};
  const std::size_t n = points.size() / 3;
  if (points.size() % 3 != 0 || n < 2 || radii.size() != n)
    throw Error({"a tube of " + std::to_string(points.size()) + " coordinates and " +
                     std::to_string(radii.size()) + " radii",
                 {},
                 "a tube has two points or more, of three numbers each, and a radius for each point"});
  for (std::size_t i = 0; i < n; ++i) {
    line.points.push_back({points[3 * i], points[3 * i + 1], points[3 * i + 2]});
    const bool end = i == 0 || i + 1 == n;
    if (!(radii[i] > 0) && !(end && radii[i] == 0))
      throw Error({"radius " + std::to_string(i) + " of a tube is " + std::to_string(radii[i]),
                   {},
                   "radii are positive; 0 at an end closes it"});
    if (i == 0) continue;
    const double length = norm(line.points[i] - line.points[i - 1]);
    if (!(length > 0))
      throw Error("points " + std::to_string(i - 1) + " and " + std::to_string(i) + " of a tube are one");
    line.way.push_back(line.way.back() + length);
    if (i > 1 && dot(line.direction(i - 1), line.direction(i)) < -0.9)
      throw Error({"a tube turns back at point " + std::to_string(i - 1), {}, "bend it over more points"});
  }
  return line;
}

}  // namespace

SoftMesh tube_mesh(const std::vector<double>& points, const std::vector<double>& radii,
                   std::array<int, 2> count) {
  const Line line = line_of(points, radii);
  const auto [around, along] = count;
  if (around < 3 || along < 1 || (around + 1LL) * (along + 1LL) > 10'000'000)
    throw Error(
        {"a tube of " + std::to_string(around) + " cells around and " + std::to_string(along) + " along",
         {},
         "use 3 or more around, 1 or more along, and fewer than ten million in all"});
  SoftMesh mesh;
  std::vector<int> first;  // vertex of each ring
  V before = line.at(0).tangent, m = std::abs(before.z) < 0.9 ? V{0, 0, 1} : V{1, 0, 0};
  for (int j = 0; j <= along; ++j) {
    const auto place = line.at(line.way.back() * j / along);
    const V& t = place.tangent;
    m -= (dot(t, m) / (1 + dot(before, t))) * (before + t);  // without a twist
    m = normalized(m - dot(m, t) * t);
    before = t;
    const V b = cross(t, m);
    first.push_back(int(mesh.vertices.size() / 3));
    const bool apex = place.radius == 0;
    for (int i = 0; i < (apex ? 1 : around); ++i) {
      const double angle = 2 * std::acos(-1.0) * i / around;
      const V x = place.at + place.radius * (std::cos(angle) * m + std::sin(angle) * b);
      mesh.vertices.insert(mesh.vertices.end(), {x.x, x.y, x.z});
    }
  }
  first.push_back(int(mesh.vertices.size() / 3));
  for (int j = 0; j < along; ++j) {
    const auto vertex = [&](int ring, int i) {
      const auto r = std::size_t(ring);
      return first[r + 1] - first[r] == 1 ? first[r] : first[r] + i % around;
    };
    for (int i = 0; i < around; ++i) {
      const int p = vertex(j, i), q = vertex(j, i + 1), r = vertex(j + 1, i + 1), s = vertex(j + 1, i);
      if (p != q) mesh.cells.insert(mesh.cells.end(), {p, q, r});
      if (r != s) mesh.cells.insert(mesh.cells.end(), {p, r, s});
    }
  }
  return mesh;
}

}  // namespace costate::soft

#include "costate/mpm/bodies/mesh_distance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/core/vec3.h"

namespace costate::mpm {

namespace {

using V = Vec3<double>;
V vertex(const TriangleMesh& mesh, int i) {
  const auto& v = mesh.vertices[i];
  return {v[0], v[1], v[2]};
}

double squared_distance_to_segment(const V& x, const V& a, const V& b) {
  const V e = b - a, d = x - a;
  const double square = dot(e, e), t = square > 0 ? std::clamp(dot(d, e) / square, 0.0, 1.0) : 0.0;
  return squared_norm(d - t * e);
}

// To the triangle's inside where x lies above it, else to the nearest edge.
double squared_distance(const V& x, const V& a, const V& b, const V& c) {
  const V n = cross(b - a, c - a);
  const double square = squared_norm(n);
  const auto beside = [&](const V& p, const V& q) { return dot(cross(q - p, x - p), n) < 0; };
  if (square > 0 && !beside(a, b) && !beside(b, c) && !beside(c, a)) {
    const double height = dot(x - a, n);
    return height * height / square;
  }
  return std::min({squared_distance_to_segment(x, a, b), squared_distance_to_segment(x, b, c),
                   squared_distance_to_segment(x, c, a)});
}

double solid_angle(const V& x, V a, V b, V c) {
  a -= x, b -= x, c -= x;
  const double la = norm(a), lb = norm(b), lc = norm(c);
  const double above = dot(a, cross(b, c)),
               below = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb;
  return above == 0 && below == 0 ? 0 : 2 * std::atan2(above, below);
}

}  // namespace

DistanceLattice mesh_distance(const TriangleMesh& mesh, double spacing, double margin) {
  if (mesh.triangles.empty()) throw Error("a mesh needs triangles");
  if (!(spacing > 0) || !(margin >= 0)) throw Error("sampling a mesh needs spacing > 0 and margin >= 0");
  for (const auto& t : mesh.triangles)
    for (int i : t)
      if (i < 0 || static_cast<std::size_t>(i) >= mesh.vertices.size())
        throw Error("a triangle refers to vertex " + std::to_string(i) + ", but there are " +
                    std::to_string(mesh.vertices.size()));
  std::array<double, 3> low = mesh.vertices[0], high = low;
  for (const auto& v : mesh.vertices) {
    for (std::size_t a = 0; a < 3; ++a) {
      if (!std::isfinite(v[a])) throw Error("a vertex of the mesh is not finite");
      low[a] = std::min(low[a], v[a]), high[a] = std::max(high[a], v[a]);
    }
  }
  DistanceLattice lattice;
  lattice.spacing = spacing;
  std::int64_t count = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    lattice.origin[a] = low[a] - margin;
    const double points = std::ceil((high[a] - low[a] + 2 * margin) / spacing) + 1;
    if (points * double(count) > 1e8)
      throw Error("sampling the mesh at this spacing takes more than 1e8 points: choose a larger one");
    lattice.points[a] = std::max(2, static_cast<int>(points));
    count *= lattice.points[a];
  }
  lattice.phi.resize(count);
  const std::int64_t ny = lattice.points[1], nz = lattice.points[2];
  parallel_for(count, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const V x{lattice.origin[0] + spacing * double(i / (ny * nz)),
                lattice.origin[1] + spacing * double(i / nz % ny),
                lattice.origin[2] + spacing * double(i % nz)};
      double nearest = std::numeric_limits<double>::infinity(), angle = 0;
      for (const auto& t : mesh.triangles) {
        const V a = vertex(mesh, t[0]), b = vertex(mesh, t[1]), c = vertex(mesh, t[2]);
        nearest = std::min(nearest, squared_distance(x, a, b, c));
        angle += solid_angle(x, a, b, c);
      }
      const bool inside = angle > 2 * std::numbers::pi;
      lattice.phi[i] = (inside ? -1 : 1) * std::sqrt(nearest);
    }
  });
  return lattice;
}

}  // namespace costate::mpm

#include "costate/soft/mesh/procedural.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/mat3.h"

namespace costate::soft {
namespace {

constexpr std::int64_t kMost = 4'000'000;  // vertices

void check(std::int64_t vertices, const int* cells, int count) {
  for (int d = 0; d < count; ++d)
    if (cells[d] < 1)
      throw Error({"a mesh of " + std::to_string(cells[d]) + " cells", {}, "use one cell or more"});
  if (vertices > kMost) throw Error("a mesh of more than " + std::to_string(kMost) + " vertices");
}

// Six tetrahedra around the diagonal of a box with corners v[i + 2j + 4k].
constexpr int kSix[6][4] = {{0, 1, 3, 7}, {0, 3, 2, 7}, {0, 2, 6, 7},
                            {0, 6, 4, 7}, {0, 4, 5, 7}, {0, 5, 1, 7}};

void add_middles(SoftMesh& mesh) {
  constexpr int kEdges[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
  std::map<std::pair<int, int>, int> middle;
  std::vector<int> cells;
  for (std::size_t t = 0; t < mesh.cells.size(); t += 4) {
    const int* v = mesh.cells.data() + t;
    cells.insert(cells.end(), v, v + 4);
    for (const auto& e : kEdges) {
      const auto [at, fresh] =
          middle.try_emplace(std::minmax(v[e[0]], v[e[1]]), int(mesh.vertices.size() / 3));
      if (fresh)
        for (int d = 0; d < 3; ++d)
          mesh.vertices.push_back(0.5 * (mesh.vertices[std::size_t(3 * v[e[0]] + d)] +
                                         mesh.vertices[std::size_t(3 * v[e[1]] + d)]));
      cells.push_back(at->second);
    }
  }
  mesh.cells = std::move(cells);
}

}  // namespace

SoftMesh cloth_mesh(std::array<double, 2> size, std::array<int, 2> cells) {
  const int nx = cells[0], ny = cells[1];
  check((nx + 1LL) * (ny + 1LL), cells.data(), 2);
  SoftMesh mesh;
  for (int j = 0; j <= ny; ++j)
    for (int i = 0; i <= nx; ++i)
      mesh.vertices.insert(mesh.vertices.end(), {size[0] * i / nx, size[1] * j / ny, 0.0});
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const int k = (nx + 1) * j + i;
      mesh.cells.insert(mesh.cells.end(), {k, k + 1, k + nx + 2, k, k + nx + 2, k + nx + 1});
    }
  return mesh;
}

SoftMesh block_mesh(Cells kind, std::array<double, 3> size, std::array<int, 3> cells) {
  if (kind == Cells::triangles || kind == Cells::rods)
    throw Error({std::string("a block of ") + kCellNames[int(kind)],
                 {},
                 kind == Cells::rods ? "use rod_mesh for rods" : "use cloth_mesh for triangles"});
  const auto [nx, ny, nz] = cells;
  check((nx + 1LL) * (ny + 1LL) * (nz + 1LL), cells.data(), 3);
  SoftMesh mesh;
  for (int k = 0; k <= nz; ++k)
    for (int j = 0; j <= ny; ++j)
      for (int i = 0; i <= nx; ++i)
        mesh.vertices.insert(mesh.vertices.end(), {size[0] * i / nx, size[1] * j / ny, size[2] * k / nz});
  for (int k = 0; k < nz; ++k)
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        int v[8];
        for (int c = 0; c < 8; ++c)
          v[c] = (nx + 1) * ((ny + 1) * (k + (c >> 2)) + j + (c >> 1 & 1)) + i + (c & 1);
        if (kind == Cells::hexahedra)
          mesh.cells.insert(mesh.cells.end(), v, v + 8);
        else
          for (const auto& t : kSix)
            for (const int c : t) mesh.cells.push_back(v[c]);
      }
  if (kind == Cells::quadratic_tetrahedra) add_middles(mesh);
  return mesh;
}

SoftMesh ball_mesh(double radius, int n) {
  if (!(radius > 0)) throw Error("a ball has a positive radius, not " + std::to_string(radius));
  check(4LL * n * n + 2, &n, 1);
  SoftMesh mesh;
  std::map<std::array<int, 3>, int> number;  // of the point (i, j, k) of the octahedron |i| + |j| + |k| = n
  const auto vertex = [&](int i, int j, int k) {
    const auto [at, fresh] = number.try_emplace({i, j, k}, int(mesh.vertices.size() / 3));
    if (fresh) {
      const double scale = radius / std::sqrt(double(i) * i + double(j) * j + double(k) * k);
      mesh.vertices.insert(mesh.vertices.end(), {scale * i, scale * j, scale * k});
    }
    return at->second;
  };
  for (int octant = 0; octant < 8; ++octant) {
    const int x = octant & 1 ? -1 : 1, y = octant & 2 ? -1 : 1, z = octant & 4 ? -1 : 1;
    const auto at = [&](int a, int b) { return vertex(x * a, y * b, z * (n - a - b)); };
    const auto triangle = [&](int p, int q, int r) {
      mesh.cells.insert(mesh.cells.end(), {p, x * y * z > 0 ? q : r, x * y * z > 0 ? r : q});
    };
    for (int a = 0; a < n; ++a)
      for (int b = 0; a + b < n; ++b) {
        // Vertices are numbered as they are met: in this order, whatever order a compiler gives to arguments.
        const int third = at(a, b + 1), second = at(a + 1, b), first = at(a, b);
        triangle(first, second, third);
        if (a + b + 1 < n) triangle(second, at(a + 1, b + 1), third);
      }
  }
  return mesh;
}

double first_segment(const std::vector<double>& points) {
  double square = 0;
  for (std::size_t d = 0; d < 3 && points.size() >= 6; ++d)
    square += (points[3 + d] - points[d]) * (points[3 + d] - points[d]);
  return square > 0 ? std::sqrt(square) : 1;
}

SoftMesh rod_mesh(const std::vector<double>& points, std::array<double, 3> towards, double beside,
                  bool closed) {
  using V = Vec3<double>;
  const int count = int(points.size() / 3), segments = closed ? count : count - 1;
  if (points.size() % 3 != 0 || count < (closed ? 3 : 2))
    throw Error({"a rod of " + std::to_string(points.size()) + " coordinates",
                 {},
                 closed ? "a closed rod has three points or more, of three numbers each"
                        : "a rod has two points or more, of three numbers each"});
  if (!(beside > 0))
    throw Error({"a frame point " + std::to_string(beside) + " beside its rod",
                 {},
                 "use a positive distance, such as half a segment"});
  SoftMesh mesh{points, {}};
  const auto point = [&](int i) {
    const auto k = std::size_t(3 * (i % count));
    return V{points[k], points[k + 1], points[k + 2]};
  };
  V m{towards[0], towards[1], towards[2]}, before = V::zero();
  for (int i = 0; i < segments; ++i) {
    const V e = point(i + 1) - point(i);
    const double length = norm(e);
    if (!(length > 0)) throw Error("points " + std::to_string(i) + " and the next one of a rod are one");
    const V t = (1 / length) * e;
    if (i > 0) m -= (dot(t, m) / (1 + dot(before, t))) * (before + t);
    m -= dot(m, t) * t;
    if (!(norm(m) > 1e-9))
      throw Error({"the frame of a rod has no direction at segment " + std::to_string(i),
                   {},
                   "use a direction that is not along the rod, and points that do not turn back"});
    m = (1 / norm(m)) * m;
    const V g = point(i) + .5 * e + beside * m;
    mesh.vertices.insert(mesh.vertices.end(), {g.x, g.y, g.z});
    mesh.cells.insert(mesh.cells.end(), {i, (i + 1) % count, count + i});
    before = t;
  }
  return mesh;
}

int add_part(SoftModel& model, const std::string& name, Cells kind, const SoftMesh& mesh, int material,
             std::array<double, 3> origin) {
  const int first = model.vertices();
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i)
    model.rest.push_back(mesh.vertices[i] + origin[i % 3]);
  Part part{name, kind, mesh.cells, material};
  for (int& v : part.vertices) v += first;
  model.parts.push_back(std::move(part));
  return first;
}

}  // namespace costate::soft

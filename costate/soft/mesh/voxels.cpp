#include "costate/soft/mesh/voxels.h"

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "costate/core/error.h"

namespace costate::soft {

SoftMesh voxel_mesh(double size, const std::vector<std::array<int, 3>>& cubes) {
  if (!(size > 0) || cubes.empty()) throw Error("a body of cubes has one or more, of a positive size");
  SoftMesh mesh;
  std::map<std::array<int, 3>, int> number;
  std::set<std::array<int, 3>> seen;
  for (const auto& [i, j, k] : cubes) {
    if (!seen.insert({i, j, k}).second)
      throw Error("the cube at " + std::to_string(i) + ", " + std::to_string(j) + ", " + std::to_string(k) +
                  " is there twice");
    for (int c = 0; c < 8; ++c) {
      const std::array<int, 3> at = {i + (c & 1), j + (c >> 1 & 1), k + (c >> 2)};
      const auto [vertex, fresh] = number.try_emplace(at, int(mesh.vertices.size() / 3));
      if (fresh)
        for (const int x : at) mesh.vertices.push_back(size * x);
      mesh.cells.push_back(vertex->second);
    }
  }
  return mesh;
}

SoftMesh ball_of_cubes(double radius, int across) {
  if (!(radius > 0)) throw Error("a ball has a positive radius, not " + std::to_string(radius));
  std::vector<std::array<int, 3>> cubes;
  const auto inside = [&](int i) { return i + 0.5 - 0.5 * across; };
  for (int k = 0; k < across; ++k)
    for (int j = 0; j < across; ++j)
      for (int i = 0; i < across; ++i)
        if (std::hypot(inside(i), inside(j), inside(k)) <= 0.5 * across) cubes.push_back({i, j, k});
  SoftMesh mesh = voxel_mesh(2 * radius / across, cubes);
  for (double& x : mesh.vertices) x -= radius;
  return mesh;
}

SoftMesh ring_of_hexahedra(double radius, double thickness, std::array<int, 2> count) {
  const auto [around, across] = count;
  if (!(thickness > 0) || !(2 * radius > thickness))
    throw Error("a ring has a radius of more than half its thickness, which is positive");
  if (around < 3 || across < 1)
    throw Error(
        {"a ring of " + std::to_string(around) + " cells around and " + std::to_string(across) + " across",
         {},
         "use 3 or more around, and 1 or more across"});
  SoftMesh mesh;
  const int side = across + 1;
  for (int k = 0; k < around; ++k) {
    const double angle = 2 * std::acos(-1.0) * k / around;
    for (int j = 0; j < side; ++j)
      for (int i = 0; i < side; ++i) {
        const double r = radius + thickness * (double(i) / across - 0.5);
        mesh.vertices.insert(
            mesh.vertices.end(),
            {r * std::cos(angle), thickness * (double(j) / across - 0.5), r * std::sin(angle)});
      }
  }
  for (int k = 0; k < around; ++k)
    for (int j = 0; j < across; ++j)
      for (int i = 0; i < across; ++i)
        for (int c = 0; c < 8; ++c)
          mesh.cells.push_back(side * (side * ((k + (c >> 2)) % around) + j + (c >> 1 & 1)) + i + (c & 1));
  return mesh;
}

}  // namespace costate::soft

#include "costate/io/scene/sections/soft_shapes.h"

#include <cmath>
#include <set>
#include <span>

#include "costate/io/scene/sections/soft_values.h"
#include "costate/io/text/cell_mesh.h"
#include "costate/soft/mesh/voxels.h"

namespace costate::io {
namespace {

constexpr std::int64_t kMostCells = 1000;  // along a side
constexpr double kMostCubes = 1e6;         // of a box

// The axes that the sides of a cloth lie along: "xy", "xz", ...
std::array<int, 2> plane_of(const SceneFile& file, const TomlValue& part) {
  const TomlValue* value = part.find("plane");
  if (!value) return {0, 1};
  const std::string word = file.string(*value, "plane");
  if (word.size() == 2 && word[0] != word[1] && word.find_first_not_of("xyz") == std::string::npos)
    return {word[0] - 'x', word[1] - 'x'};
  file.fail(value->place, "plane = \"" + word + "\"", "name two axes, such as \"xz\"");
}

CellMesh cells_of(const SceneFile& file, const TomlValue& path) {
  try {
    return read_cells(file.beside(file.string(path, "file")));
  } catch (const Error& error) {
    const Error::Message& m = error.message();
    file.fail(path.place, m.where.empty() ? m.what : m.where + ": " + m.what, m.advice);
  }
}
// The cells of a file beside the scene, scaled.
soft::SoftMesh from_file(const SceneFile& file, const TomlValue& part, soft::Cells& kind) {
  const TomlValue& given = file.required(part, "file", "this part", "add file = \"shirt.obj\"");
  const CellMesh found = cells_of(file, given);
  const double scale = file.positive_or(part, "scale", 1);
  soft::SoftMesh mesh;
  for (const auto& p : found.vertices)
    mesh.vertices.insert(mesh.vertices.end(), {scale * p.x, scale * p.y, scale * p.z});
  const std::vector<int>* all[] = {&found.tetrahedra, &found.quadratic_tetrahedra, &found.hexahedra,
                                   &found.triangles};
  int kinds = 0;
  for (int k = 0; k < 4; ++k)
    if (!all[k]->empty()) kind = soft::Cells(k), mesh.cells = *all[k], ++kinds;
  if (kinds > 1) file.fail(given.place, "this file has cells of several kinds", "give each kind a file");
  return mesh;
}

// A sphere of triangles, or a ball of cubes, `count` of them across.
soft::SoftMesh ball(const SceneFile& file, const TomlValue& p, soft::Cells& kind) {
  const TomlValue& radius = file.required(p, "radius", "this part", "add radius = 0.1");
  const TomlValue& count = file.required(p, "count", "this part", "add count = 8: cells along an edge");
  const double r = file.number(radius, "radius");
  if (p.find("cells")) {
    constexpr const char* kCells[] = {"triangles", "hexahedra"};
    if (choice(file, p, "cells", kCells, 0) == 1) {
      kind = soft::Cells::hexahedra;
      const int across = int(file.count(count, "count", 200));
      return file.told_at(p.place, [&] { return soft::ball_of_cubes(r, across); });
    }
  }
  const int n = int(file.count(count, "count", kMostCells));
  return file.told_at(p.place, [&] { return soft::ball_mesh(r, n); });
}

soft::SoftMesh shirt(const SceneFile& file, const TomlValue& p) {
  const TomlValue& size = file.required(p, "size", "this shirt", "add size = 0.5: its width");
  const TomlValue& count =
      file.required(p, "count", "this shirt", "add count = 4: squares per fifth of its width");
  const double width = file.number(size, "size"), depth = file.positive_or(p, "depth", 0.2 * width);
  const int n = int(file.count(count, "count", kMostCells));
  return file.told_at(p.place, [&] { return soft::shirt_mesh(width, n, depth); });
}

// Cubes of a grid: those in any of the boxes [first i, j, k, and the ones after the last].
soft::SoftMesh voxels(const SceneFile& file, const TomlValue& p) {
  const TomlValue& size = file.required(p, "size", "these voxels", "add size = 0.02: the side of a cube");
  const TomlValue& boxes = file.required(p, "boxes", "these voxels", "add boxes = [[0, 0, 0, 2, 2, 8]]");
  if (!boxes.is(TomlValue::Kind::array)) file.fail(boxes.place, "boxes is a list of boxes");
  const double side = file.number(size, "size");
  std::set<std::array<int, 3>> cubes;  // of several boxes once, and in one order
  for (const TomlValue& box : boxes.items) {
    const std::vector<double> given = file.one_or_more(box, "boxes");
    if (given.size() != 6)
      file.fail(box.place, "a box is six numbers: its first cube, and one after its last");
    std::array<int, 6> b;
    for (std::size_t d = 0; d < 6; ++d) {
      if (given[d] != std::floor(given[d]) || std::abs(given[d]) > double(kMostCells))
        file.fail(box.place, "cubes are numbered by whole numbers, not " + number(given[d]));
      b[d] = int(given[d]);
    }
    if (double(b[3] - b[0]) * double(b[4] - b[1]) * double(b[5] - b[2]) > kMostCubes)
      file.fail(box.place, "this box has more than " + number(kMostCubes) + " cubes", "use larger cubes");
    for (int k = b[2]; k < b[5]; ++k)
      for (int j = b[1]; j < b[4]; ++j)
        for (int i = b[0]; i < b[3]; ++i) cubes.insert({i, j, k});
  }
  return file.told_at(p.place, [&] { return soft::voxel_mesh(side, {cubes.begin(), cubes.end()}); });
}

// {cells around, cells across}, or of a tube {around, along}.
std::array<int, 2> two_counts(const SceneFile& file, const TomlValue& p, const char* what,
                              const char* second) {
  const TomlValue& count = file.required(p, "count", std::string("this ") + what,
                                         std::string("add count = [16, 4]: around, ") + second);
  if (!count.is(TomlValue::Kind::array) || count.items.size() != 2)
    file.fail(count.place,
              std::string("count of a ") + what + " has two numbers: cells around and cells " + second);
  return {int(file.count(count.items[0], "count", kMostCells)),
          int(file.count(count.items[1], "count", kMostCells))};
}
soft::SoftMesh ring(const SceneFile& file, const TomlValue& p) {
  const TomlValue& radius = file.required(p, "radius", "this ring", "add radius = 0.1: of its middle");
  const TomlValue& thickness = file.required(p, "depth", "this ring", "add depth = 0.04: its thickness");
  const double r = file.number(radius, "radius"), t = file.number(thickness, "depth");
  const auto count = two_counts(file, p, "ring", "across");
  return file.told_at(p.place, [&] { return soft::ring_of_hexahedra(r, t, count); });
}

std::vector<double> points_of(const SceneFile& file, const TomlValue& given) {
  std::vector<double> points;
  if (!given.is(TomlValue::Kind::array)) file.fail(given.place, "points is a list of points");
  for (const TomlValue& point : given.items)
    for (const double x : file.vector(point, "points", 3)) points.push_back(x);
  return points;
}
soft::SoftMesh tube(const SceneFile& file, const TomlValue& p) {
  const std::vector<double> points =
      points_of(file, file.required(p, "points", "this tube", "add points = [[0, 0, 0], [0, 0, 1]]"));
  const TomlValue& given = file.required(p, "radii", "this tube", "add radii = [0.1, 0.2], one per point");
  if (!given.is(TomlValue::Kind::array)) file.fail(given.place, "radii is a list of numbers");
  std::vector<double> radii;
  for (const TomlValue& r : given.items) radii.push_back(file.number(r, "radii"));
  const auto count = two_counts(file, p, "tube", "along");
  return file.told_at(p.place, [&] { return soft::tube_mesh(points, radii, count); });
}

// A rod through points, or a straight one: size long, in count segments, along an axis.
soft::SoftMesh rod(const SceneFile& file, const TomlValue& p, soft::Cells& kind) {
  kind = soft::Cells::rods;
  std::vector<double> points;
  if (const TomlValue* given = p.find("points")) {
    points = points_of(file, *given);
  } else {
    const TomlValue& size =
        file.required(p, "size", "this rod", "add size = 1.0, or points = [[0, 0, 0], ...]");
    const TomlValue& count = file.required(p, "count", "this rod", "add count = 20: segments");
    const double length = file.number(size, "size");
    const auto segments = file.count(count, "count", kMostCells);
    const auto along = vector_or(file, p, "along", {1, 0, 0});
    for (std::int64_t i = 0; i <= segments; ++i)
      for (const double d : along) points.push_back(length * double(i) / double(segments) * d);
  }
  const double beside = file.positive_or(p, "beside", 0.5 * soft::first_segment(points));
  const auto towards = vector_or(file, p, "towards", {0, 0, 1});
  const bool closed = flag(file, p, "closed");
  return file.told_at(p.place, [&] { return soft::rod_mesh(points, towards, beside, closed); });
}
// A cloth or a block from numbers.
soft::SoftMesh procedural(const SceneFile& file, const TomlValue& p, bool cloth, soft::Cells& kind) {
  const int sides = cloth ? 2 : 3;
  const auto size =
      file.vector(file.required(p, "size", "this part", "add size = [1.0, 1.0]"), "size", sides, true);
  std::array<int, 3> count = {1, 1, 1};
  const TomlValue& counts =
      file.required(p, "count", "this part", "add count = [10, 10]: cells along each side");
  if (!counts.is(TomlValue::Kind::array) || counts.items.size() != std::size_t(sides))
    file.fail(counts.place, "count has a number of cells for each side");
  for (int d = 0; d < sides; ++d)
    count[std::size_t(d)] = int(file.count(counts.items[std::size_t(d)], "count", kMostCells));
  if (!cloth) {
    kind = soft::Cells(choice(file, p, "cells", std::span(soft::kCellNames, 3), 0));
    return file.told_at(p.place, [&] { return soft::block_mesh(kind, size, count); });
  }
  kind = soft::Cells::triangles;
  soft::SoftMesh mesh = file.told_at(p.place, [&] {
    return soft::cloth_mesh({size[0], size[1]}, {count[0], count[1]});
  });
  const auto axes = plane_of(file, p);
  for (std::size_t i = 0; i < mesh.vertices.size(); i += 3) {
    double at[3] = {0, 0, 0};
    for (std::size_t d = 0; d < 2; ++d) at[axes[d]] = mesh.vertices[i + d];
    std::copy(at, at + 3, mesh.vertices.begin() + std::ptrdiff_t(i));
  }
  return mesh;
}

}  // namespace

SoftShape soft_shape(const SceneFile& file, const TomlValue& part) {
  constexpr const char* kShapes[] = {"cloth", "block", "ball",   "file", "rod",
                                     "shirt", "tube",  "voxels", "ring"};
  soft::Cells kind = soft::Cells::triangles;
  soft::SoftMesh mesh;
  switch (choice(file, part, "shape", kShapes, part.find("file") ? 3 : 0)) {
    case 0:
      mesh = procedural(file, part, true, kind);
      break;
    case 1:
      mesh = procedural(file, part, false, kind);
      break;
    case 2:
      mesh = ball(file, part, kind);
      break;
    case 3:
      mesh = from_file(file, part, kind);
      break;
    case 4:
      mesh = rod(file, part, kind);
      break;
    case 5:
      mesh = shirt(file, part);
      break;
    case 6:
      mesh = tube(file, part);
      break;
    case 7:
      kind = soft::Cells::hexahedra, mesh = voxels(file, part);
      break;
    default:
      kind = soft::Cells::hexahedra, mesh = ring(file, part);
  }
  return {kind, mesh};
}

}  // namespace costate::io

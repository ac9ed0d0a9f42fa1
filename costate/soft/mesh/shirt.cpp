#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "costate/core/error.h"
#include "costate/soft/mesh/procedural.h"

namespace costate::soft {
namespace {

// A panel on a grid: which squares belong to it, and which of its edges are sewn to the other panel.
struct Pattern {
  int width, length, sleeve, neck, deep;  // squares

  explicit Pattern(int n)
      : width(5 * n), length(7 * n), sleeve(2 * n), neck(2 * n - n % 2), deep(std::max(1, n / 2)) {}

  bool square(int i, int j) const {
    if (j < 0 || j >= length || i < -sleeve || i >= width + sleeve) return false;
    if (i < 0 || i >= width) return j >= length - sleeve;
    const int collar = (width - neck) / 2;
    return !(j >= length - deep && i >= collar && i < collar + neck);
  }
  // Edges of the panel between a square and none; hem, cuffs and neck stay open.
  bool sewn_side(int i, int j) const {  // from (i, j) to (i, j + 1)
    return square(i - 1, j) != square(i, j) && (i == 0 || i == width);
  }
  bool sewn_top(int i, int j) const {  // from (i, j) to (i + 1, j)
    return square(i, j - 1) != square(i, j) &&
           (j == length || (j == length - sleeve && (i < 0 || i >= width)));
  }
};

}  // namespace

SoftMesh shirt_mesh(double width, int n, double depth) {
  if (n < 1 || n > 200)
    throw Error({"a shirt of " + std::to_string(n) + " squares per fifth of its width",
                 {},
                 "use a number from 1 to 200; 4 makes 1390 vertices"});
  if (!(width > 0) || !(depth > 0)) throw Error("a shirt has a positive width and depth");
  const Pattern cut(n);
  std::set<std::pair<int, int>> seam;
  for (int j = 0; j <= cut.length; ++j)
    for (int i = -cut.sleeve; i <= cut.width + cut.sleeve; ++i) {
      if (cut.sewn_side(i, j)) seam.insert({i, j}), seam.insert({i, j + 1});
      if (cut.sewn_top(i, j)) seam.insert({i, j}), seam.insert({i + 1, j});
    }
  const double h = width / cut.width;
  // Panels bulge from the seams on, as far as `depth` at half of the width from one.
  const auto bulge = [&](int i, int j) {
    double nearest = 1e300;
    for (const auto& [a, b] : seam) nearest = std::min(nearest, std::hypot(a - i, b - j));
    const double rest = std::max(0.0, 1 - nearest / (0.5 * cut.width));
    return depth * (1 - rest * rest);
  };
  SoftMesh mesh;
  std::map<std::array<int, 3>, int> number;  // of (i, j, side); of a seam both sides have one
  const auto vertex = [&](int i, int j, int side) {
    const bool sewn = seam.count({i, j}) > 0;
    const auto [at, fresh] = number.try_emplace({i, j, sewn ? 0 : side}, int(mesh.vertices.size() / 3));
    if (fresh)
      mesh.vertices.insert(mesh.vertices.end(),
                           {h * (i - 0.5 * cut.width), sewn ? 0 : side * bulge(i, j), h * j});
    return at->second;
  };
  for (const int side : {-1, 1})  // the front looks towards -y
    for (int j = 0; j < cut.length; ++j)
      for (int i = -cut.sleeve; i < cut.width + cut.sleeve; ++i) {
        if (!cut.square(i, j)) continue;
        const int a = vertex(i, j, side), b = vertex(i + 1, j, side), c = vertex(i + 1, j + 1, side),
                  d = vertex(i, j + 1, side);
        if (side < 0)
          mesh.cells.insert(mesh.cells.end(), {a, b, c, a, c, d});
        else
          mesh.cells.insert(mesh.cells.end(), {a, c, b, a, d, c});
      }
  return mesh;
}

}  // namespace costate::soft

#include "costate/soft/mesh/surface.h"

#include <algorithm>
#include <array>
#include <map>

namespace costate::soft {
namespace {

// Faces by corners, outward; -1 fills up.
constexpr int kTetFaces[4][4] = {{0, 2, 1, -1}, {0, 1, 3, -1}, {1, 2, 3, -1}, {2, 0, 3, -1}};
constexpr int kHexFaces[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                                 {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
// Of quadratic tetrahedra: the vertex in the middle of two corners.
int middle_of(int a, int b) {
  constexpr int kMiddle[4][4] = {{-1, 4, 6, 7}, {4, -1, 5, 8}, {6, 5, -1, 9}, {7, 8, 9, -1}};
  return kMiddle[a][b];
}

}  // namespace

std::vector<int> surface_of(const Part& part) {
  if (part.cells == Cells::triangles) return part.vertices;
  if (part.cells == Cells::rods) return {};
  const bool hexahedra = part.cells == Cells::hexahedra;
  const auto nodes = std::size_t(kCellVertices[int(part.cells)]);
  const int faces = hexahedra ? 6 : 4, corners = hexahedra ? 4 : 3;
  std::map<std::array<int, 4>, int> seen;
  const auto key = [&](const int* v, const int* face) {
    std::array<int, 4> k = {-1, -1, -1, -1};
    for (int c = 0; c < corners; ++c) k[std::size_t(c)] = v[face[c]];
    std::sort(k.begin(), k.end());
    return k;
  };
  const auto face_of = [&](int f) { return hexahedra ? kHexFaces[f] : kTetFaces[f]; };
  for (std::size_t e = 0; e < part.vertices.size(); e += nodes)
    for (int f = 0; f < faces; ++f) ++seen[key(part.vertices.data() + e, face_of(f))];
  std::vector<int> triangles;
  for (std::size_t e = 0; e < part.vertices.size(); e += nodes)
    for (int f = 0; f < faces; ++f) {
      const int* v = part.vertices.data() + e;
      const int* c = face_of(f);
      if (seen[key(v, c)] != 1) continue;
      if (part.cells == Cells::quadratic_tetrahedra) {
        const int ab = middle_of(c[0], c[1]), bc = middle_of(c[1], c[2]), ca = middle_of(c[2], c[0]);
        for (const int k : {c[0], ab, ca, ab, c[1], bc, ca, bc, c[2], ab, bc, ca}) triangles.push_back(v[k]);
      } else {
        for (int k = 1; k + 1 < corners; ++k)
          for (const int at : {c[0], c[k], c[k + 1]}) triangles.push_back(v[at]);
      }
    }
  return triangles;
}

}  // namespace costate::soft

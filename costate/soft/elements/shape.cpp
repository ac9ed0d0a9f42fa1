#include "costate/soft/elements/shape.h"

#include <cmath>

namespace costate::soft {
namespace {

Shape simplex(int dimension) {
  Shape s{dimension + 1, dimension, {dimension == 3 ? 1.0 / 6 : 0.5}, {}, {}};
  for (int a = 0; a <= dimension; ++a) {
    s.share.push_back(1.0 / (dimension + 1));
    for (int d = 0; d < dimension; ++d) s.slope.push_back(a == 0 ? -1 : a == d + 1 ? 1 : 0);
  }
  return s;
}

Shape quadratic_tetrahedron() {
  constexpr int kEdges[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
  constexpr double kSlope[4][3] = {
      {-1, -1, -1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};  // of barycentric coordinates
  Shape s{10, 3, std::vector<double>(4, 1.0 / 24), {}, {}};
  const double near = (5 + 3 * std::sqrt(5.0)) / 20, far = (5 - std::sqrt(5.0)) / 20;
  for (int q = 0; q < 4; ++q) {
    double l[4];
    for (int a = 0; a < 4; ++a) l[a] = a == q ? near : far;
    for (int a = 0; a < 4; ++a)
      for (int d = 0; d < 3; ++d) s.slope.push_back((4 * l[a] - 1) * kSlope[a][d]);
    for (const auto& e : kEdges)
      for (int d = 0; d < 3; ++d)
        s.slope.push_back(4 * (l[e[0]] * kSlope[e[1]][d] + l[e[1]] * kSlope[e[0]][d]));
  }
  for (int a = 0; a < 10; ++a) s.share.push_back(a < 4 ? 1.0 / 36 : 4.0 / 27);
  return s;
}

Shape hexahedron() {
  Shape s{8, 3, std::vector<double>(8, 1.0 / 8), {}, std::vector<double>(8, 1.0 / 8)};
  const double near = 0.5 - std::sqrt(1.0 / 12);
  for (int q = 0; q < 8; ++q) {
    const double xi[3] = {q & 1 ? 1 - near : near, q & 2 ? 1 - near : near, q & 4 ? 1 - near : near};
    for (int a = 0; a < 8; ++a)
      for (int d = 0; d < 3; ++d) {
        double product = a >> d & 1 ? 1 : -1;
        for (int e = 0; e < 3; ++e)
          if (e != d) product *= a >> e & 1 ? xi[e] : 1 - xi[e];
        s.slope.push_back(product);
      }
  }
  return s;
}

}  // namespace

const Shape& shape_of(Cells cells) {
  static const Shape all[] = {simplex(3), quadratic_tetrahedron(), hexahedron(), simplex(2)};
  return all[int(cells)];
}

}  // namespace costate::soft

// Shape functions of cells: N_a(xi), with derivatives at the points of a quadrature rule.
//
//   tetrahedra              linear, one point: exact for it
//   quadratic_tetrahedra    10 vertices, four points [1]: corners, then the middles of edges 01, 12, 20, 03,
// 13, 23
//   hexahedra               8 vertices, 2x2x2 Gauss; vertex i + 2j + 4k at (i, j, k)
//   triangles               linear, one point
//
// `share` is the part of the mass of a cell that each vertex has: rows of the mass matrix summed, and for the
// quadratic tetrahedron the diagonal scaled (its row sums are negative) [2].
// [1] Zienkiewicz, Taylor: The Finite Element Method, vol. 1, table 6.3.
// [2] Hinton, Rock, Zienkiewicz, Earthquake Eng. Struct. Dyn. 4 (1976).
#pragma once

#include <vector>

#include "costate/soft/soft_model.h"

namespace costate::soft {

struct Shape {
  int vertices, dimension;
  std::vector<double> weight;  // per point; they sum to the volume of the reference cell
  std::vector<double> slope;   // [point][vertex][dimension]: dN_a/dxi
  std::vector<double> share;   // per vertex

  int points() const { return int(weight.size()); }
  const double* slopes(int point) const { return slope.data() + point * vertices * dimension; }
};

const Shape& shape_of(Cells cells);

}  // namespace costate::soft

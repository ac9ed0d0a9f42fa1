// The modes of cells of different widths along an axis, as a matrix.
//
//   -((p_(i+1) - p_i) / d_(i+1) - (p_i - p_(i-1)) / d_i) / w_i = lambda p_i / h^2    w, d: grid/metric.h
//
// with p beyond the ends as Ends says, and h the mean width. W^(1/2) p are the eigenvectors of a symmetric
// matrix, orthogonal; mode k of the numbers p is the sum of rows[k n + i] roots[i] p_i. Where no end holds
// the pressure, the first mode is flat. Tests: tests/fluid/pressure_test.cpp.
#pragma once

#include <vector>

#include "costate/fluid/grid/field.h"

namespace costate::fluid {

// Of a row of numbers: what lies beyond its first and its last one (transform.h).
enum class Ends { periodic, even_even, odd_odd, even_odd, odd_even, wall_wall, wall_even, even_wall };

struct StretchedModes {
  std::vector<double> lambda, rows, roots;
};
StretchedModes stretched_modes(const Shape& shape, int axis, Ends ends);

}  // namespace costate::fluid

// height_field: how high a material should stand, column by column.
//
//   1/(2M) sum_j (h_j - target_j)^2,   h_j = 1/A sum_i V_i B(x_i - X_j)
//
// Volume over the ground, spread by quadratic B-splines B over M columns X_j of area A. The ground is the
// first axis and, in three dimensions, the third.
// Tests: tests/study/losses_test.cpp.
#pragma once

#include "costate/study/losses/points.h"

namespace costate::study {

struct HeightField {
  std::array<double, 2> first = {0, 0};  // middle of the first column
  std::array<int, 2> columns = {1, 1};
  double width = 0.01;  // of a column
  std::vector<double> heights =
      {};  // one per column, those along the second axis of the ground next to each other
  double weight = 1;
};
// Error where the points have no volume.
template <class Real>
ObjectivePtr<Real> height_field(const HeightField& field, const Points& points,
                                std::vector<std::int64_t> steps);

}  // namespace costate::study

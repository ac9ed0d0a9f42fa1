// The linear system on which regulators, finite horizons, boxes and sampling are compared with answers that
// were computed elsewhere with 50 digits.
#pragma once

#include <cmath>
#include <vector>

#include "costate/control/quadratic/lq.h"

namespace costate::control::test {

inline const std::vector<double> kA = {1, 0.1, 0, -0.2, 0.95, 0.3, 0, 0, 0.8},
                                 kB = {0, 0.005, 0, 0.1, 0.5, 0}, kQ = {1, 0, 0, 0, 0.5, 0, 0, 0, 0.1},
                                 kR = {0.2, 0.05, 0.05, 0.4}, kX0 = {1, -0.5, 0.25};

inline LinearQuadratic ten_steps() {
  LinearQuadratic p{.states = 3, .controls = 2, .steps = 10, .A = kA, .B = kB, .Q = kQ, .R = kR};
  p.Qf = {10, 0, 0, 0, 1, 0, 0, 0, 1};
  p.x0 = kX0;
  return p;
}

// The largest difference between a row-major matrix and the upper half, row by row, that a reference gives.
inline double distance_from_upper(const std::vector<double>& matrix, int n,
                                  const std::vector<double>& upper) {
  double largest = 0;
  for (int i = 0, at = 0; i < n; ++i)
    for (int j = i; j < n; ++j, ++at)
      for (const int index : {i * n + j, j * n + i})
        largest = std::fmax(largest, std::fabs(matrix[std::size_t(index)] - upper[std::size_t(at)]));
  return largest;
}
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::fmax(largest, std::fabs(a[i] - b[i]));
  return largest;
}

}  // namespace costate::control::test

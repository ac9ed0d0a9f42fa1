// The second derivative of weighted measurements along a trajectory, with respect to s = (first state,
// parameters):
//
//   C = d2/ds2 of sum_k <w_k, h(x_k, p)> + <w_T, x_T>        x_{k+1} = step(x_k, u_k, p)
//     = sum_k [X_k; P]' (d2 <lambda_{k+1}, step_k> + d2 <w_k, h>) [X_k; P]
//   lambda_k = step_x' lambda_{k+1} + h_x' w_k,   lambda_T = w_T + h_x' w_T
//
// X_k = dx_k/ds (sensitivity.h), and P picks the parameters out of s. What the trajectory's own bending adds
// is in lambda, so each step needs one exact Hessian-vector product per column, columns as lanes.
// Tests: tests/control/laplace_test.cpp.
#pragma once

#include "costate/control/dense.h"
#include "costate/control/filter/moments.h"

namespace costate::control {

// Where a trajectory passes before step k, or after the last one.
struct Passed {
  Vector x;
  Matrix X;                    // states x columns of s
  std::vector<double> u;       // of the step that follows; not read after the last
  std::vector<double> weight;  // of each measurement; empty: none is taken
};

// passed: steps + 1 rows, the first before step `first`. The last columns of s are the parameters at these
// places; those before them are numbers of the first state. w_last: of the last state; empty: zero.
Matrix curvature(Lanes& lanes, std::int64_t first, const std::vector<Passed>& passed,
                 const std::vector<std::int64_t>& parameters, const Vector& w_last);

}  // namespace costate::control

// optimize: changes the variables named in [optimize] until the loss is smallest, or those in [fit] until the solution
// passes nearest to the data.
//
//   [optimize]   min L(v)                                       gradients by the discrete adjoint; lbfgs, adam, gradient_descent; or cma_es
//   [fit]        min 1/2 sum_k ((y(t_k) - y_k) / sigma)^2       Jacobian by forward sensitivities; Levenberg-Marquardt
//
// A point at which the equations cannot be solved counts as one whose loss is not finite: the optimisers step back from it.
// Tests: tests/io/optimize_test.cpp.
#pragma once

#include "costate/io/problem.h"
#include "costate/optim/minimize.h"

namespace costate::io {

struct Optimum {
  std::vector<Input> variables = {};
  std::vector<double> start = {}, best = {};  // one value per variable
  std::vector<double> standard_deviation =
      {};                  // of a fit, from its Jacobian and residuals; empty where there is none
  double start_value = 0;  // of the loss, or half the sum of squares
  int residuals = 0;       // of a fit
  optim::Result result = {};
  std::string method = {};
};

// The problem with other values of its variables.
Problem with_values(const Problem& problem, const std::vector<Input>& variables, const double* values);

// Error if the file has neither [optimize] nor [fit], or if it cannot be solved as it stands.
Optimum optimize(const Problem& problem, const optim::Callback& callback = {});

}  // namespace costate::io

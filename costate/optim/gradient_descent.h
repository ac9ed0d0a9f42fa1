// Gradient descent with heavy-ball momentum [1]:
//
//   v_k+1 = momentum v_k - rate g(x_k),   x_k+1 = projection(x_k + v_k+1)
//
// rate in units of x^2 per value. A step to a point that is not finite is halved (and the momentum with it)
// until it is.
//
// [1] Polyak: Some methods of speeding up the convergence of iteration methods, USSR Comp. Math. 4 (1964).
// Tests: tests/optim/gradient_descent_test.cpp.
#pragma once

#include "costate/optim/minimize.h"

namespace costate::optim {

struct GradientDescentOptions {
  double rate = 1e-2;
  double momentum = 0;
  Stopping stopping = {};
  Bounds bounds = {};
  Callback callback = {};
};

struct GradientDescentState : DescentState {
  std::vector<double> velocity;
};

Result minimize(const Objective& objective, const std::vector<double>& x0,
                const GradientDescentOptions& options, GradientDescentState* state = nullptr);

}  // namespace costate::optim

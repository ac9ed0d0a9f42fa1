// Levenberg-Marquardt for least squares with bounds:  minimise f(x) = 1/2 |r(x)|^2.
//
//   step    min |J d + r|^2 + mu |D d|^2  over the variables that are not held at a bound,
//           D_i = largest |column i of J| so far [2]
//   trial   projection(x + d); accepted if f falls by 1e-4 of what the linear model promises
//   mu      falls by up to 9 after a good step, grows by 2, 4, 8, ... after bad ones [1]
//
// By QR with column pivoting of (J; sqrt(mu) D): J'J is never formed, so the condition number is not squared.
// mu = 0 is Gauss-Newton: initial_damping = 0 runs it until a step fails. x is moved inside the bounds first
// and stays there. A trial that is not finite counts as a bad step. A gradient counts as small in units of
// D_i |r| at the start: only then has r little left along column i of J, whatever the units of x and r.
//
// [1] Nielsen: Damping parameter in Marquardt's method, IMM-REP-1999-05.
// [2] More: The Levenberg-Marquardt algorithm (1978).
// Tests: tests/optim/levenberg_marquardt_test.cpp.
#pragma once

#include "costate/optim/minimize.h"

namespace costate::optim {

struct Residuals {
  int count = 0;
  // r(x), and where `jacobian` is not null its Jacobian, row-major count x variables.
  std::function<void(const double* x, double* r, double* jacobian)> evaluate;
};

struct LevenbergMarquardtOptions {
  double initial_damping = 1e-3;  // relative to D^2
  Stopping stopping = {};
  Bounds bounds = {};
  Callback callback = {};
};

// Remembers damping, D and f at the start; x, value and gradient as for the other methods.
struct LevenbergMarquardtState : DescentState {
  double damping = -1, growth = 2, first_value = -1;
  std::vector<double> scale;
};

Result minimize(const Residuals& residuals, const std::vector<double>& x0,
                const LevenbergMarquardtOptions& options, LevenbergMarquardtState* state = nullptr);

}  // namespace costate::optim

// The gradient of a solution: costate::Gradient, with the derivatives of the times that a solution has and a
// rollout has not.
//
//   x0          with respect to the initial state
//   parameters  one field, "p": the vector that solve() was given
//   controls    in the order of Controls::values
//
// Times. Steps and the knots of controls scale with the span they lie in: h_k = w_k (t1 - t0), the fractions
// w_k frozen.
// Tests: tests/ode/adjoints/discrete_adjoint_test.cpp.
#pragma once

#include <optional>
#include <string>

#include "costate/ode/adjoints/trajectory.h"
#include "costate/system/gradient.h"

namespace costate::ode {

struct Gradient : costate::Gradient<double> {
  double t0 = 0, t1 = 0;
  // Fixed steps without events: with respect to dt, the number of steps frozen, so that t1 moves along. With
  // controls, dt must divide every interval. Otherwise there is no such derivative.
  std::optional<double> dt;
};

// Zeros in the shapes of a solution's inputs, with a report that says how the gradient is made.
Gradient zero_gradient(const Trajectory& trajectory, std::string estimator);

// The row of cotangents of each parameter row, added to the gradient: parameters, controls and times.
void add_rows(const Trajectory& trajectory, const std::vector<double>& rows_bar, Gradient& gradient);

// The gradient, or an Error that names what is not finite: the sensitivities of a finite solution may
// overflow.
Gradient finite(Gradient gradient);

}  // namespace costate::ode

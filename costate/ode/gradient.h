// Gradient: the derivative of a loss by everything that went into a solution, and what to think of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace costate::ode {

struct GradientReport {
  std::string method;  // "discrete adjoint of dopri5"
  long steps = 0;
  std::vector<double> adjoint_norm;  // |dL/dx| at the start of each step, and at t1
  double growth_rate =
      0;  // log(|dL/dx(t0)| / |dL/dx(t1)|) per unit of time: how chaotic, or how forgetful, the system is
  std::vector<std::string> notes;  // in words
};

struct Gradient {
  double value = 0;  // of the loss, where one was given
  std::vector<double> y0, p;
  std::vector<double> controls;  // in the order of Controls::values
  // Steps and the knots of controls scale with the span they lie in: h_k = w_k (t1 - t0) with the fractions w_k frozen.
  double t0 = 0, t1 = 0;
  // Fixed steps without events: by dt with the number of steps frozen, so that t1 moves along. With controls, dt must
  // divide every interval. Else there is no such derivative.
  std::optional<double> dt;
  GradientReport report;
};

}  // namespace costate::ode

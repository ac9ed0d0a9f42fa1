// Controls that are linear between knots: fields and costs of (p, u(t)) as fields and costs of one row of
// parameters.
//
//   row = (p, u0, u1, a, b):   u(t) = u0 + s (u1 - u0),   s = (t - a) / (b - a)
//
// With L = b - a, and u_bar the cotangent of u(t):
//
//   s_dot  = (t_dot - (1 - s) a_dot - s b_dot) / L        u_dot = (1 - s) u0_dot + s u1_dot + s_dot (u1 - u0)
//   u0_bar += (1 - s) u_bar,   u1_bar += s u_bar,         q = <u_bar, u1 - u0> / L
//   t_bar  += q,   a_bar -= (1 - s) q,   b_bar -= s q
//
// A right-hand side of (p, u(t)) depends on time through u even where it does not name t.
// Tests: tests/ode/controls_test.cpp.
#pragma once

#include <memory>

#include "costate/ode/controls.h"
#include "costate/ode/events.h"
#include "costate/ode/fields/function.h"
#include "costate/ode/fields/vector_field.h"
#include "costate/ode/loss.h"

namespace costate::ode {

// The map from (t, row) to (p, u(t)) with its derivatives.
struct LinearControl {
  int np = 0, nu = 0;

  int inner() const { return np + nu; }
  int width() const { return np + 2 * nu + 2; }

  void value(double t, const double* row, double* pu) const;
  // Null row_dot: zero.
  void jvp(double t, const double* row, double t_dot, const double* row_dot, double* pu_dot) const;
  // Adds. Null row_bar: not wanted.
  void vjp(double t, const double* row, const double* pu_bar, double* t_bar, double* row_bar) const;
  // Forward tangent of vjp. Adds.
  void vjp_jvp(double t, const double* row, const double* pu_bar, double t_dot, const double* row_dot,
               const double* pu_bar_dot, double* t_bar_dot, double* row_bar_dot) const;

 private:
  double position(double t, const double* row) const;  // s
  double motion(double t, const double* row, double t_dot, const double* row_dot) const;
};

inline LinearControl linear_control_of(const ParameterRows& rows) {
  return {int(rows.parameters()), int(rows.controls())};
}

// Error where the function does not take (p, u).
std::shared_ptr<const VectorField> with_linear_control(const VectorField& field, LinearControl control);
std::shared_ptr<const Function> with_linear_control(std::shared_ptr<const Function> function,
                                                    LinearControl control);
Event with_linear_control(const Event& event, LinearControl control);
std::shared_ptr<const SampleCost> with_linear_control(std::shared_ptr<const SampleCost> cost, int states,
                                                      LinearControl control);

}  // namespace costate::ode

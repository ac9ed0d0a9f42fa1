// Forward sensitivities: tangents of the steps that a solution took, all directions in one pass.
//
//   x_dot_{k+1} = step_jvp(t_k, h_k, x_k, p; t_dot_k, h_dot_k, x_dot_k, p_dot)
//
// The same map as in discrete_adjoint.h, in the other direction: times move with the ends of their segment,
// and at an event h_e answers with
//
//   h_dot = -(g_t t_dot + g_x y_dot + g_p p_dot) / G_h      y_dot with h held,  G_h = g_t + <g_x, step_h>
//
// It costs one pass per direction, and suits few inputs or many outputs; one gradient of many inputs is the
// adjoint's.
// Tests: tests/ode/adjoints/forward_sensitivity_test.cpp.
#pragma once

#include <vector>

#include "costate/ode/gradient.h"
#include "costate/ode/loss.h"

namespace costate::ode {

// A direction in which the inputs of a solution move. Empty: does not.
struct InputTangent {
  std::vector<double> y0 = {}, p = {}, controls = {};
  double t0 = 0, t1 = 0;
};

// How the outputs move along. After a terminal event end_time is the rate of that event's time.
struct OutputTangent {
  std::vector<double> final;
  double integral = 0, end_time = 0;
  std::vector<double> samples;  // row-major, one row per sample time
  std::vector<double> event_times;
};

std::vector<OutputTangent> sensitivities(const Solution& solution,
                                         const std::vector<InputTangent>& directions,
                                         const std::vector<double>& sample_times = {});

// What functions of (t, x, p) see at a time of the solution: p and, where there are controls, u(t) after it.
// (At a knot: of the interval that ends there.) And its motion; empty where it stands still.
std::vector<double> parameters_at(const Solution& solution, double t);
std::vector<double> parameter_tangent_at(const Solution& solution, const InputTangent& direction, double t);

// dx(t1)/d(y0, p, u): row-major, states x (states + parameters + values of controls).
std::vector<double> final_state_jacobian(const Solution& solution);

// The gradient of a loss by one tangent per initial value, parameter and value of a control, t0 and t1.
Gradient forward_gradient(const Solution& solution, const Loss& loss);

// The motion of every step along one direction, for second derivatives.
struct TangentTrace {
  struct Step {
    double t, h;
  };
  std::vector<Step> steps;
  std::vector<double> start;  // [step][state]
  std::vector<double> final;
  struct AtEvent {
    double t;
    std::vector<double> before;
  };
  std::vector<AtEvent> events;
  OutputTangent output;
};
TangentTrace trace_tangent(const Solution& solution, const InputTangent& direction,
                           const std::vector<double>& sample_times);

}  // namespace costate::ode

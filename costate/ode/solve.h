// solve: an initial value problem x' = f(t, x, p), x(t0) = y0, from t0 to t1, forwards or backwards in time.
//
//   ode::Solution s = ode::solve(field, {0, 10}, {1, 1}, {1.5, 1, 3, 1}, {.method = "dop853", .rtol = 1e-9});
//   ode::Gradient g = ode::gradient(s, {.final = distance});          discrete_adjoint.h
//
// Steps are chosen so that the error estimate of each, relative to atol + rtol |x|, has a root mean square of
// at most one. t1 may be infinite where an event ends the solution. A solution that cannot go on is an Error
// that says where it stood and which option to change.
// Tests: tests/ode/solve_test.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/ode/controls.h"
#include "costate/ode/events.h"
#include "costate/ode/fields/vector_field.h"
#include "costate/ode/solution.h"

namespace costate::ode {

struct TimeSpan {
  double t0, t1;
};

struct Options {
  std::string method = "dopri5";  // method_names() lists them
  double rtol = 1e-6;
  std::vector<double> rtol_per_state = {};  // instead of rtol, where it is not empty
  std::vector<double> atol = {1e-9};        // one for all states, or one per state

  double dt = 0;          // > 0: steps of this length (the last may be shorter), no error control
  double first_step = 0;  // 0: chosen automatically
  double max_step = 0;    // 0: no limit
  long max_steps = 100000;
  bool carry_newton = false;  // radau5: see MethodTolerance::carry

  std::vector<double> t_eval = {};  // times at which Solution::y is given; empty: at every accepted step

  std::vector<Event> events = {};
  bool stop_at_zeno = false;  // where events accumulate: end the solution (true) or throw (false)
  long max_events = 100000;

  std::shared_ptr<const Function> running = nullptr;  // l(t, x, p): its integral is Solution::integral
  bool control_integral = false;                      // include the integral in error control

  Controls controls = {};  // u(t), piece by piece; the field's parameters are then (p, u)

  // Memory against time, for gradients. None of it changes a bit.
  int keep_every = 1;           // keep every m-th accepted state, and compute the others again
  long stage_memory = 1 << 20;  // with m = 1: bytes for the stages of steps, the others are computed again
};

// The field must outlive the solution.
Solution solve(const VectorField& field, TimeSpan span, const std::vector<double>& y0,
               const std::vector<double>& p, const Options& options = {});

}  // namespace costate::ode

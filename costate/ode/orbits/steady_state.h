// SteadyState: x(p) with f(t, x, p) = 0 at a fixed t, and its derivatives by the implicit function theorem.
//
//   jvp:  f_x x_dot = -f_p p_dot          vjp:  f_x' mu = x_bar,  p_bar -= f_p' mu
//
// Damped Newton first (solve/newton.h). Where it fails, pseudo-transient continuation [1]: linearly implicit
// Euler steps
//
//   (M/d - f_x) dx = f,
//     d grows as the residual falls (d <- d |f_old| / |f_new|, "switched evolution relaxation")
//
// which follows the dynamics from the start to a stable steady state, and Newton again from there.
//
// [1] Kelley, Keyes: Convergence analysis of pseudo-transient continuation, SIAM J. Numer. Anal. 35 (1998).
// Tests: tests/ode/orbits/steady_state_test.cpp.
#pragma once

#include <memory>

#include "costate/ode/fields/vector_field.h"
#include "costate/solve/implicit_function.h"

namespace costate::ode {

struct SteadyStateOptions {
  double t = 0;
  solve::NewtonOptions newton = {};
  double first_pseudo_step = 1e-2;  // of the continuation, in units of time
  int max_pseudo_steps = 1000;
  bool newton_first =
      true;  // false: follow the dynamics from the start, so that x0 chooses the steady state it flows to
};

class SteadyState {
 public:
  explicit SteadyState(const VectorField& field, SteadyStateOptions options = {});  // field must outlive it
  ~SteadyState();

  struct Result {
    int newton_iterations = 0, pseudo_steps = 0;
    double residual = 0;  // max |f_i|
  };
  // x: start in, steady state out. Throws Error, saying how both methods failed.
  Result solve(const double* p, double* x);

  // f_x at (x, p), once for any number of jvp and vjp calls, which return the relative residual of their
  // linear solve.
  void linearise(const double* x, const double* p);
  double jvp(const double* p_dot, double* x_dot);
  double vjp(const double* x_bar, double* p_bar);  // adds

 private:
  class Equations;
  bool follow_dynamics(const double* p, double* x, Result& result, std::string& failure);

  const VectorField& field_;
  SteadyStateOptions options_;
  std::unique_ptr<Equations> equations_;
  std::unique_ptr<solve::ImplicitFunction> implicit_;
};

}  // namespace costate::ode

// Direct transcription: a motion as one large sparse nonlinear program, in which the states are unknowns
// beside the controls, solved by an interior-point method (Ipopt [1], which is optional: see has_ipopt).
//
//   steps            x_{k+1} = step(x_k, u_k)                        any system: what plan() solves (ddp.h)
//
// and, of a field f, whose step is x + f(x, u) (euler(1) makes one of any equations), with knots h apart:
//
//   trapezoidal      x_{k+1} = x_k + h/2 (f_k + f_{k+1})             order 2
//   hermite_simpson  x_c = (x_k + x_{k+1})/2 + h/8 (f_k - f_{k+1})   order 4 [2], with points in the middle,
//                    x_{k+1} = x_k + h/6 (f_k + 4 f_c + f_{k+1})     whose x_c and u_c are unknowns too
//
// There the terms of the objective at steps are rates of cost, which are integrated by the same rule; the
// term of the end counts as it is. Every equation is linear in the states and in the values of step at the
// points:
//
//   c_r = sum_i alpha_ri x_i + beta_ri step(x_i, u_i) = 0
//
// so the Jacobian is blocks alpha 1 + beta [A_i B_i], and the Hessian of the Lagrangian is a block per point:
// the curvature of <sum_r beta_ri lambda_r, step> and that of the costs. All of them are exact. Where the
// system or a loss has no second derivatives, Ipopt approximates the Hessian by L-BFGS, and `reason` says so.
//
// [1] Waechter, Biegler: On the implementation of an interior-point filter line-search algorithm for
//     large-scale nonlinear programming, Mathematical Programming 106 (2006).
// [2] Betts: Practical Methods for Optimal Control Using Nonlinear Programming, 2nd ed. (2010), section 4.5.
// Tests: tests/control/collocation_test.cpp.
#pragma once

#include "costate/control/problem.h"

namespace costate::control {

enum class Scheme { steps, trapezoidal, hermite_simpson };

struct CollocationOptions {
  Scheme scheme = Scheme::steps;
  double h = 0;  // time between knots, of a field
  int iterations = 1000;
  double tolerance = 1e-10;  // of Ipopt's scaled optimality error
  // Bounds of the states at every point but the first, and values that the last state must have (NaN: free).
  // Empty: none.
  std::vector<double> x_lower = {}, x_upper = {}, x_last = {};
  std::vector<double> states =
      {};  // (steps + 1) x states to start from; empty: x0 everywhere, or towards x_last
  PlanCallback callback = {};
};

struct Collocated {
  std::vector<double> x;             // (steps + 1) x states
  std::vector<double> u;             // of each knot: steps rows, of a field steps + 1
  std::vector<double> x_mid, u_mid;  // of hermite_simpson: steps rows
  double value = 0;                  // of the objective
  double violation = 0;              // of the equations and constraints, the largest
  int iterations = 0;
  Outcome outcome = Outcome::iterations;
  std::string reason;
  bool converged() const { return outcome == Outcome::converged; }
};

// Whether costate was built with Ipopt.
bool has_ipopt();

// controls: where the search begins, `controls` numbers for all knots or one row each (`steps` rows).
// Constraints of the problem hold at the knots. Error where sizes do not fit, where states are quaternions,
// and without Ipopt.
Collocated collocate(const Problem& problem, const std::vector<double>& controls,
                     const CollocationOptions& options = {});

}  // namespace costate::control

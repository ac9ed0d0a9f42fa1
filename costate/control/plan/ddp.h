// Planning by differential dynamic programming: iLQR and full DDP, with bounds and constraints.
//
//   expand     the problem to second order about a trajectory (expansion.h)
//   backward   Riccati recursion (riccati.h): u = u_k + a k_k + K_k (x (-) x_k), bounds by a box QP
//   forward    lengths a = 2, 1, 1/2, ..., 1/64 as lanes of one rollout with that feedback; the best that
//              falls by at least 1e-4 of what the quadratic model promises is taken
//   price      mu on the length of a control's change: raised where Quu is not positive definite or where no
//              length helps, lowered after each success [2]
//
// Method::ilqr leaves the curvature of the steps out (Gauss-Newton): robust far away, linear convergence.
// Method::ddp adds it, exactly, by Hessian-vector products of the system against the slope of the cost to go:
// near the solution Newton's method. Where the quadratic model with it is not convex, that iteration takes a
// half, a quarter, an eighth or nothing of it.
//
// Multiple shooting: with states to start from, gaps step(x_k, u_k) (-) x_{k+1} are left open at first. A
// step of length a closes each by the share a [3]; the merit is J + sigma sum |gap|, which falls along the
// step.
//
// Constraints: augmented Lagrangian outside, until they are met to 1e-4; then Newton's method on the
// constraints that are active (constrained.h), until they are met to `constraint_tolerance`.
//
// Results have the same bits for any number of threads.
//
// [1] Jacobson, Mayne: Differential Dynamic Programming (1970).
// [2] Tassa, Mansard, Todorov: Control-limited differential dynamic programming, ICRA 2014.
// [3] Mastalli et al.: Crocoddyl: an efficient and versatile framework for multi-contact optimal control,
//     ICRA 2020, section III-C.
// Tests: tests/control/ddp_test.cpp, constraint_test.cpp.
#pragma once

#include "costate/control/problem.h"

namespace costate::control {

enum class Method { ilqr, ddp };

struct DdpOptions {
  Method method = Method::ilqr;
  int iterations = 200;
  double gradient_tolerance = 1e-8;
  double value_tolerance = 0;  // stop where an iteration lowers the value by less than this; 0: off
  double constraint_tolerance = 1e-8;
  double first_price = 1e-6;  // mu
  double budget_s = 0;        // stop when an iteration more would not fit into this time; 0: none
  // Gains about the plan that is returned, for one more linearisation. false: those that its last iteration
  // used, about the plan before it; for controllers that plan again soon.
  bool fresh_gains = true;
  std::vector<double> states = {};  // (steps + 1) x states to start from: multiple shooting. Empty: single
  PlanCallback callback = {};
};

// From controls to start with: steps x controls, or `controls` numbers for all steps. Error where sizes do
// not fit, where bounds contradict each other, and where the first rollout is not finite.
Plan plan(const Problem& problem, const std::vector<double>& controls, const DdpOptions& options = {});

}  // namespace costate::control

// A problem to second order about a trajectory: a LinearQuadratic in tangents.
//
//   A, B          Jacobians of the steps; c the gaps step(x_k, u_k) (-) x_{k+1} of multiple shooting
//   Q, S, R, q, r curvature and gradient of the costs, of quaternions in the tangent space
//   lambda_k      costate: q_k + A'lambda_{k+1};  the gradient of a control is r_k + B'lambda_{k+1}
//   curvature     of <lambda_{k+1}, step>, kept apart: Newton's method adds it, Gauss-Newton (iLQR) does not
//
// A constraint c enters as its augmented Lagrangian [1], with multiplier y and price rho:
//
//   equality     y c + rho/2 c^2                             gradient (y + rho c) c'
//   inequality   (max(0, y + rho c)^2 - y^2) / (2 rho)       gradient max(0, y + rho c) c'
//
// [1] Nocedal, Wright: Numerical Optimization, 2nd ed., section 17.4.
// Tests: tests/control/ddp_test.cpp, constraint_test.cpp.
#pragma once

#include <vector>

#include "costate/control/problem.h"
#include "costate/control/quadratic/lq.h"

namespace costate::control {

// Of each constraint, one multiplier per step (steps + 1, zero where there is no term), and one price for
// all.
struct Multipliers {
  std::vector<std::vector<double>> y;
  double rho = 1;
};

// The multiplier that a constraint of value c would have, and its part of the augmented Lagrangian.
double next_multiplier(bool equality, double y, double rho, double c);
double augmented_value(bool equality, double y, double rho, double c);

class Expansion {
 public:
  explicit Expansion(const Problem& problem);

  const Plant& plant() const { return plant_; }
  void set_parameters(const Parameters<double>& parameters) { plant_.set_parameters(parameters); }
  int steps() const { return lq.steps; }

  // About x (steps + 1 rows) and u. lq.c is the caller's.
  void about(const Problem& problem, const Multipliers& multipliers, const double* x, const double* u,
             bool second_order);
  // The curvature of the steps against the rows of `slope` (steps + 1): lambda, or what the cost to go has
  // there.
  void curve(const double* x, const double* u, const double* slope);
  // Adds a share of the curvature of the steps to lq: 1, and -1 to take it away again.
  void add_curvature(double share);

  // Largest gradient of a control that its bounds let move.
  double gradient_norm(const Problem& problem, const double* u) const;

  LinearQuadratic lq;
  std::vector<double> lambda;    // steps + 1 rows
  std::vector<double> gradient;  // steps rows: of the controls, by lambda

 private:
  void costs(const Problem& problem, const Multipliers& multipliers, std::int64_t k, const double* x,
             const double* u, bool second_order, Plant::Block& block);
  void add_constraint(std::size_t which, const Constraint& constraint, double y, double rho, std::int64_t k,
                      const double* x, const double* u, bool second_order, const Plant::Quadratic& to,
                      Plant::Block& block);
  void add_loss_hessian(std::size_t which, const Objective<double>& loss, std::int64_t k, const double* x,
                        const double* u, double weight, const Plant::Quadratic& to, Plant::Block& block);
  Plant::Quadratic quadratic(std::int64_t k);
  void costates();

  Plant plant_;
  std::vector<bool> exact_;  // of the objective and of each constraint: it has second derivatives
  std::vector<double> curve_Q_, curve_S_, curve_R_;  // of <lambda, step>, per step
};

}  // namespace costate::control

// Linear-quadratic optimal control over N steps, with bounds on controls and states, and the derivatives of
// its solution: what a linear MPC controller solves, as a layer that gradients pass through.
//
//   minimise  J = sum_{k<N} 1/2 x'Q x + u'S x + 1/2 u'R u + q'x + r'u  +  1/2 x_N'Qf x_N + qf'x_N
//   x_{k+1} = A x_k + B u_k + c,      lower <= u_k <= upper,      x_lower <= x_{k+1} <= x_upper
//
// Solution: projected Newton [1]. Controls that a bound holds are left out, the others take Newton's step,
// which is one Riccati pass (riccati.h); along its projection the best of a few lengths is taken. Bounds on
// states: lq_walls.h.
//
// Transpose, by the implicit function theorem on the controls that are free [2]: with cotangents (x_, u_) of
// the solution the same problem is solved for linear terms q = x_, r = u_, from x0 = 0, the held controls at
// zero. From its solution (w, v) and costates mu, and the costates lambda of the problem:
//
//   A_ = lambda w' + mu x';  B_ = lambda v' + mu u';  c_ = mu;  q_ = w;  r_ = v;  x0_ = mu_0
//   Q_ = sym(w x');  R_ = sym(v u');  S_ = v x' + u w';  a bound that holds u_i: u_ + R v + S w + B'mu, entry
//   i.  Where a wall holds a state, w is zero there, by linear terms nu; y is its multiplier in the problem:
//   x_upper_ or x_lower_ = -nu
//
// The tangent is in lq_tangent.cpp.
// Of the value alone (envelope theorem): A_ = lambda x', Q_ = x x'/2, x_upper_ = -y, and so on: nothing is
// solved.
//
// [1] Bertsekas: Projected Newton methods for optimization problems with simple constraints (1982).
// [2] Amos, Rodriguez, Sacks, Boots, Kolter: Differentiable MPC for end-to-end planning and control (2018).
// Tests: tests/control/lq_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

namespace costate::control {

// Row-major. Each of A, B, c, Q, S, R, q, r and the bounds is given once for all steps, or for each step.
// Row k of the bounds of states is of x_{k+1}. Empty: zero; of a bound: none. A cotangent has the same shape
// as what it is the cotangent of.
struct LinearQuadratic {
  int states = 0, controls = 0, steps = 0;
  std::vector<double> A, B, c = {};
  std::vector<double> Q, R, S = {}, q = {}, r = {};
  std::vector<double> Qf = {}, qf = {};
  std::vector<double> x0 = {};
  std::vector<double> lower = {}, upper = {};
  std::vector<double> x_lower = {}, x_upper = {};
};

struct LinearQuadraticSolution {
  double value = 0;
  std::vector<double> x, lambda;  // steps + 1 rows; lambda is the costate: dJ/dx along the solution
  std::vector<double> u;          // steps rows
  std::vector<double> K;          // steps x controls x states: u moves by K times what x moves (TVLQR gains)
  std::vector<double> P;          // steps + 1 matrices: the curvature of the cost to go
  std::vector<double> push;       // steps + 1 rows: the multipliers y of bounds of states; empty: it has none
  std::vector<char> held;         // steps x controls: -1 at its lower bound, 1 at its upper bound, 0 free
  int iterations = 0;
};

// Error where sizes do not fit, where the problem is not convex, where lower > upper, and where the bounds of
// the states cannot be met.
LinearQuadraticSolution solve(const LinearQuadratic& problem);

// Cotangents of everything from those of the solution: x (steps + 1 rows), u (steps rows), value. Empty:
// zero.
LinearQuadratic solve_vjp(const LinearQuadratic& problem, const LinearQuadraticSolution& solution,
                          const std::vector<double>& x_bar, const std::vector<double>& u_bar,
                          double value_bar = 0);

// How the solution moves when the problem moves along `dot`; of that, what is empty does not move.
struct LinearQuadraticTangent {
  double value = 0;
  std::vector<double> x, u;
};
LinearQuadraticTangent solve_jvp(const LinearQuadratic& problem, const LinearQuadraticSolution& solution,
                                 const LinearQuadratic& dot);

// Many problems, on all threads. Of the transpose: one cotangent per problem, each of x_bar and u_bar empty
// for zero.
std::vector<LinearQuadraticSolution> solve(const std::vector<LinearQuadratic>& problems);
struct LinearQuadraticCotangent {
  double value = 0;
  std::vector<double> x = {}, u = {};
};
std::vector<LinearQuadratic> solve_vjp(const std::vector<LinearQuadratic>& problems,
                                       const std::vector<LinearQuadraticSolution>& solutions,
                                       const std::vector<LinearQuadraticCotangent>& bars);
std::vector<LinearQuadraticTangent> solve_jvp(const std::vector<LinearQuadratic>& problems,
                                              const std::vector<LinearQuadraticSolution>& solutions,
                                              const std::vector<LinearQuadratic>& dots);

}  // namespace costate::control

// Walls: bounds on the states of a linear-quadratic problem, x_lower <= x_{k+1} <= x_upper.
//
// Solution, by the dual: with multipliers y of the walls, positive at an upper and negative at a lower one,
//
//   D(y) = min_u [ J + sum y x ] - sum (y > 0: y x_upper, y < 0: y x_lower)
//
// is concave and piecewise quadratic, and each of its values is a problem with bounds on the controls alone
// (lq.cpp). Newton's method climbs it on the walls that are pushed against or passed, E of them:
//
//   S dy = E x - bound,     S = -E W      column j of W: the states that answer to the linear term E_j
//
// The multipliers join the costates, lambda = Q x + A'lambda+ + y, and the derivatives of the solution are
// those of lq_adjoint.cpp and lq_tangent.cpp with the states that a wall holds moving as the wall does:
// another solve of the same factors, with linear terms E'nu for which they do.
// Tests: tests/control/lq_walls_test.cpp.
#pragma once

#include "costate/control/quadratic/lq_pass.h"

namespace costate::control {

// With bounds on the controls alone, from controls to start with (empty: zero).
LinearQuadraticSolution solve_box(const LinearQuadratic& problem, const std::vector<double>& controls);
bool has_walls(const LinearQuadratic& problem);
LinearQuadraticSolution solve_walls(const LinearQuadratic& problem);

// The states that a wall holds: entries of x, steps + 1 rows.
std::vector<int> held_states(const LinearQuadratic& problem, const LinearQuadraticSolution& solution);

// Solves with the factors of `pass` for terms t plus E'nu, with nu such that the states at `rows` come to
// `at` (empty: zero). Returns nu; v, w, mu as LqPass::solve.
std::vector<double> solve_held(LqPass& pass, const LinearQuadratic& problem, const std::vector<int>& rows,
                               const std::vector<double>& at, const LqPass::Terms& t, double* v, double* w,
                               double* mu);

}  // namespace costate::control

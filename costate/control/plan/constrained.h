// Constraints: the augmented Lagrangian around a DdpSolver, and Newton's method on the active ones.
//
//   outer   minimise the augmented Lagrangian; y <- its multipliers; the price rho grows tenfold where the
//           violation did not fall to a quarter
//   polish  with the active constraints C z = -c and the held controls fixed, one Newton step of the whole
//           problem: [H C'; C 0] (z, dy) = -(g, c) on top of the dynamics. H is factorised once by the
//           Riccati recursion (lq_pass.h), each active constraint is one more right-hand side, and dy solves
//           the small dense system C H^-1 C' dy = c - C H^-1 g (Schur complement). Gaps close on the way. [1]
//
// [1] Howell, Jackson, Manchester: ALTRO: a fast solver for constrained trajectory optimization, IROS 2019.
// Tests: tests/control/constraint_test.cpp.
#pragma once

#include <functional>

#include "costate/control/plan/ddp_solver.h"

namespace costate::control {

void check(const Problem& problem);
void check(const DdpOptions& options);
// Says whether another step, as long as the longest so far, would end too late.
std::function<bool()> deadline(double budget_s);

void solve_constrained(DdpSolver& solver);

// False: it did not converge, and the trajectory is as it was.
bool polish(DdpSolver& solver);

}  // namespace costate::control

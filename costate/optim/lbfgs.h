// L-BFGS with bounds: limited-memory quasi-Newton by two-metric projection.
//
//   active      A = {i: x_i within eps of a bound and -g_i points out of it},
//               eps = min(1e-8, |x - projection(x - g)|)
//   direction   d_F = -H_F g_F on the free variables (two-loop recursion [1, algorithm 7.4] on pairs
//               restricted to F), d_A = -g_A
//   step        x(a) = projection(x + a d),
//               a = 1 first, then by cubic interpolation, until f(x(a)) <= f + 1e-4 g'(x(a) - x)
//   memory      (s, y) = (change of x, change of g), kept when s'y is safely positive
//
// Without bounds this is L-BFGS with a backtracking line search; with them it identifies the active bounds in
// finitely many iterations and converges like L-BFGS on the free variables [2].
//
// Our own rather than the L-BFGS-B Fortran code or liblbfgs of the distribution: the memory is plain data (a
// run resumes bit for bit), values that are not finite are stepped back from, and no Fortran run time is
// needed; liblbfgs has no bounds.
//
// [1] Nocedal, Wright: Numerical Optimization, 2nd ed.
// [2] Bertsekas: Projected Newton methods for optimization problems with simple constraints, SIAM J. Control
//     20 (1982).
// Tests: tests/optim/lbfgs_test.cpp.
#pragma once

#include "costate/optim/minimize.h"

namespace costate::optim {

struct LbfgsOptions {
  int memory = 10;           // pairs kept
  int max_line_search = 40;  // evaluations per iteration
  double first_step =
      1;  // largest change of a variable in the first iteration, when nothing is known of the scale
  Stopping stopping = {};
  Bounds bounds = {};
  Callback callback = {};
};

struct LbfgsState : DescentState {
  std::vector<std::vector<double>> s, y;  // oldest first
};

Result minimize(const Objective& objective, const std::vector<double>& x0, const LbfgsOptions& options,
                LbfgsState* state = nullptr);

}  // namespace costate::optim

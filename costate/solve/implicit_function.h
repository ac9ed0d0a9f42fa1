// ImplicitFunction: z(p) defined by g(z; p) = 0, with derivatives by the implicit function theorem (never
// through the iterations that found z).
//
//   jvp:  g_z z_dot = -g_p p_dot
//   vjp:  g_z' mu = z_bar,   p_bar -= g_p' mu
//
// g_z is taken at the z given, which should be a converged root: an error of dz in z is an error of order dz
// in the derivative. Each derivative returns the relative residual of its linear solve.
//
// Tests: tests/solve/implicit_function_test.cpp.
#pragma once

#include "costate/solve/newton.h"

namespace costate::solve {

class ImplicitFunction {
 public:
  explicit ImplicitFunction(NonlinearSystem& system, NewtonOptions options = {});

  // Throws Error with Newton's reason if there is no convergence. z: start in, root out.
  NewtonResult solve(const double* p, double* z);
  // Factorises g_z at (z, p), once for any number of jvp and vjp calls. Throws Error if singular (a fold or
  // bifurcation).
  void linearise(const double* z, const double* p);
  double jvp(const double* p_dot, double* z_dot);
  // Adds to p_bar.
  double vjp(const double* z_bar, double* p_bar);

 private:
  NonlinearSystem& system_;
  Newton newton_;
  LinearSolve linear_;
  std::vector<double> jacobian_, z_, p_, right_, mu_;
};

}  // namespace costate::solve

// Newton's method with backtracking for g(z; p) = 0.
//
//   g_z(z_k) d = -g(z_k),   z_{k+1} = z_k + s d,   s = 1, 1/2, 1/4, ...
//     until |g(z_{k+1})| <= (1 - s/10000) |g(z_k)|
//
// with |g| the Euclidean norm. Stops when the update is below the tolerance relative to z; that last update
// is still taken if it lowers the residual, so a converged z is as good as the arithmetic allows: implicit
// derivatives are taken there.
//
// [1] Dennis, Schnabel: Numerical Methods for Unconstrained Optimization and Nonlinear Equations,
// section 6.3. Derivatives of the solution: implicit_function.h. Tests: tests/solve/newton_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/solve/linear_solve.h"

namespace costate::solve {

// g(z; p) = 0 with as many equations as unknowns.
class NonlinearSystem {
 public:
  virtual ~NonlinearSystem() = default;
  virtual int unknowns() const = 0;
  virtual int parameters() const = 0;

  virtual void value(const double* z, const double* p, double* g) = 0;
  // g_z, row-major.
  virtual void jacobian(const double* z, const double* p, double* g_z) = 0;
  // g_p p_dot.
  virtual void parameter_jvp(const double* z, const double* p, const double* p_dot, double* g_dot) = 0;
  // p_bar += g_p' g_bar.
  virtual void parameter_vjp(const double* z, const double* p, const double* g_bar, double* p_bar) = 0;
};

struct NewtonOptions {
  int max_iterations = 50;
  int max_halvings = 30;
  double tolerance = 1e-12;       // of the update, relative to |z_i| + floor
  double floor = 1e-12;           // below this an unknown counts as zero
  double residual_tolerance = 0;  // |g_i| <= this for all i also ends the iteration (0: the update decides)
};

struct NewtonResult {
  bool converged = false;
  int iterations = 0;
  double residual = 0;  // max |g_i|
  std::string reason;   // in words
};

class Newton {
 public:
  explicit Newton(int unknowns, NewtonOptions options = {});

  // z holds the start and receives the best point found.
  NewtonResult solve(NonlinearSystem& system, const double* p, double* z);

 private:
  NewtonOptions options_;
  LinearSolve linear_;
  std::vector<double> g_, step_, trial_, g_trial_, jacobian_;
};

}  // namespace costate::solve

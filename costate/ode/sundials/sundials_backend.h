// SUNDIALS as a second, independent solver: variable-order BDF with forward and adjoint sensitivities.
//
//   x' = f(t, x, p)       CVODES: forward  s_j' = f_x s_j + f_p e_j
//                                 adjoint  lambda' = -f_x' lambda - l_x,  lambda(t1) = phi_x,
//                                          p_bar = int f_p' lambda + l_p dt
//   M x' = f(t, x, p)     IDAS, forward sensitivities; M may be singular (index 1)
//
// for L = phi(x(t1)) + int l(t, x, p) dt. These are derivatives of the exact flow, computed to a tolerance,
// where ours are exact derivatives of the steps taken: the two agree to the tolerances, and tests compare
// them. Optional: built where the CMake package SUNDIALS 6 is found (COSTATE_WITH_SUNDIALS = AUTO, ON or
// OFF); without it every call is an Error that says so.
//
// [1] Hindmarsh et al.: SUNDIALS: suite of nonlinear and differential/algebraic equation solvers, ACM TOMS 31
// (2005). [2] Serban, Hindmarsh: CVODES, the sensitivity-enabled ODE solver in SUNDIALS, IDETC (2005). Tests:
// tests/ode/sundials/sundials_backend_test.cpp.
#pragma once

#include <functional>
#include <vector>

#include "costate/ode/fields/vector_field.h"

namespace costate::ode::sundials {

bool available();

struct Options {
  double rtol = 1e-8;
  std::vector<double> atol = {1e-10};  // one for all states, or one per state
  double adjoint_rtol = 1e-8, adjoint_atol = 1e-10;
  double integral_atol = 1e-10;  // of running costs and of parameter gradients
  long max_steps = 1000000;
  long checkpoint_steps = 200;  // between checkpoints of the adjoint
};

struct Forward {
  std::vector<double> x;              // at t1
  std::vector<double> sensitivities;  // dx/dp at t1, row-major states x parameters; empty unless asked for
  long steps = 0;
};

// A field with a mass matrix goes to IDAS, others to CVODES.
Forward solve(const VectorField& field, double t0, double t1, const std::vector<double>& x0,
              const std::vector<double>& p, const Options& options = {});
Forward solve_with_sensitivities(const VectorField& field, double t0, double t1,
                                 const std::vector<double>& x0, const std::vector<double>& p,
                                 const Options& options = {});

struct Loss {
  // phi and its gradient (written). Empty: zero.
  std::function<double(const double* x, double* x_bar)> final = {};
  // l, and its gradient (added). Empty: zero.
  std::function<double(double t, const double* x, const double* p)> running = {};
  std::function<void(double t, const double* x, const double* p, double* x_bar, double* p_bar)>
      running_gradient = {};
};

struct AdjointGradient {
  double value = 0;
  std::vector<double> x0, p;
  long steps = 0, backward_steps = 0;
};

// The field must have no mass matrix.
AdjointGradient gradient(const VectorField& field, double t0, double t1, const std::vector<double>& x0,
                         const std::vector<double>& p, const Loss& loss, const Options& options = {});

}  // namespace costate::ode::sundials

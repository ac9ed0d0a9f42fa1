// Consistent states of differential-algebraic problems M x' = f(t, x, p) with singular M, index 1.
//
// Let the columns of N span the left null space of M (N' M = 0) and those of K the right one (M K = 0). Then
//
//   N' f(t, x, p) = 0                 the algebraic equations, which x(t0) must satisfy
//   x + K c                           the states that share the differential part M x
//   N' f_x K   regular                index 1: the equations determine c
//
// require_consistent throws if a Newton correction K c, measured in atol + rtol |x|, would be larger than
// one, or the index is not 1; make_consistent moves x along K until N' f = 0. Its derivatives, by the
// implicit function theorem with S = N' f_x K:
//
//   x_dot = w - K S^-1 N' (f_x w + f_t t_dot + f_p p_dot),   w = x0_dot        (M x_dot = M x0_dot)
//   q = S^-T K' x_bar:   x0_bar += x_bar - f_x' N q,   t_bar -= f_t' N q,   p_bar -= f_p' N q
//
// The tangent also gives the rate of a consistent solution: w = M^+ f with the pseudo-inverse of M, moved by
// t_dot = 1, is x'.
//
// The null spaces come from the singular value decomposition of M. Ordinary differential equations (regular
// M) pass through unchanged.
//
// [1] Hairer, Wanner: Solving Ordinary Differential Equations II, 2nd ed., section VI.1.
// Tests: tests/ode/fields/consistent_state_test.cpp.
#pragma once

#include "costate/ode/fields/vector_field.h"

namespace costate::ode {

class ConsistentState {
 public:
  explicit ConsistentState(const VectorField& field);  // field must outlive it

  int algebraic_equations() const { return algebraic_; }

  void require_consistent(double t, const double* x, const double* p, double rtol = 1e-6,
                          double atol = 1e-9) const;
  // x in place. Throws Error if Newton does not converge.
  void make_consistent(double t, double* x, const double* p) const;

  // x' at a consistent x.
  void rate(double t, const double* x, const double* p, double* x_dot) const;

  // At a consistent x.
  void make_consistent_jvp(double t, const double* x, const double* p, double t_dot, const double* x0_dot,
                           const double* p_dot, double* x_dot) const;
  // Adds. Null p_bar: not wanted.
  void make_consistent_vjp(double t, const double* x, const double* p, const double* x_bar, double* t_bar,
                           double* x0_bar, double* p_bar) const;

 private:
  // N' f, and S = N' f_x K.
  void algebraic(double t, const double* x, const double* p, std::vector<double>& residual,
                 std::vector<double>& s) const;

  const VectorField& field_;
  int n_, algebraic_ = 0;
  std::vector<double> left_, right_;  // N and K, one vector of n after the other
  std::vector<double> inverse_;       // pseudo-inverse of M, row-major; empty for the identity
};

}  // namespace costate::ode

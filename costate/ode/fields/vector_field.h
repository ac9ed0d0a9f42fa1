// VectorField: the right-hand side of an initial value problem, with its derivatives.
//
//   M x' = f(t, x, p)       t time, x state, p parameters, M constant (identity unless mass() says otherwise)
//
// A Function with one rate per state. Any source: a compiled generic lambda, a recorded Program, equations
// from a text file.
#pragma once

#include <memory>
#include <vector>

#include "costate/ode/fields/function.h"

namespace costate::ode {

struct RkStages;
struct RkCotangents;

class VectorField : public Function {
 public:
  int outputs() const final { return states(); }

  // f_x, row-major states x states. The default takes one jvp per column.
  virtual void jacobian(double t, const double* x, const double* p, double* f_x, double* scratch) const;
  // f_x for Newton's iterations, which may be approximate: a user's own, or differences. Derivatives of a
  // solution never use it.
  virtual void newton_jacobian(double t, const double* x, const double* p, double* f_x,
                               double* scratch) const {
    jacobian(t, x, p, f_x, scratch);
  }
  virtual bool constant_newton_jacobian() const { return false; }

  // Loops over value and vjp, for explicit Runge-Kutta steps: see rk_stages.h.
  virtual void rk_stages(const RkStages& stages, int first, int last, int loaded) const;
  virtual void rk_stages_vjp(const RkStages& stages, int count, const double* weights, const double* y_bar,
                             const RkCotangents& bar) const;

  // Row-major states x states, or empty for the identity. A singular M makes a differential-algebraic problem
  // (index 1).
  virtual const std::vector<double>& mass() const;
};

}  // namespace costate::ode

// VectorField: the right-hand side of an initial value problem, with its derivatives.
//
//   M x' = f(t, x, p)       t time, x state, p parameters, M constant (identity unless mass() says otherwise)
//
// jvp: dx_dot  = f_t t_dot + f_x x_dot + f_p p_dot
// vjp: t_bar  += f_t' dx_bar,  x_bar += f_x' dx_bar,  p_bar += f_p' dx_bar
//
// One world, double precision, any source: a compiled generic lambda, a recorded Program, equations from a
// text file. Const: evaluations of one field may run on several threads, each with its own scratch.
#pragma once

#include <memory>
#include <vector>

namespace costate::ode {

struct RkStages;
struct RkCotangents;

class VectorField {
 public:
  virtual ~VectorField() = default;

  virtual int states() const = 0;
  virtual int parameters() const = 0;

  // Scratch that value, jvp and vjp may overwrite: allocated once per solver, never inside a step.
  virtual std::size_t scratch_size() const { return 0; }  // in doubles

  virtual void value(double t, const double* x, const double* p, double* dx, double* scratch) const = 0;
  // Null x_dot or p_dot: zero.
  virtual void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot,
                   const double* p_dot, double* dx_dot, double* scratch) const = 0;
  // Adds. Null p_bar: not wanted.
  virtual void vjp(double t, const double* x, const double* p, const double* dx_bar, double* t_bar,
                   double* x_bar, double* p_bar, double* scratch) const = 0;

  // Forward tangent of vjp, for Hessian-vector products: with all inputs of vjp moving along their *_dot
  // (dx_bar along dx_bar_dot), adds the rates of t_bar, x_bar, p_bar. False where the source has no second
  // derivatives.
  virtual bool has_second_order() const { return false; }
  virtual void vjp_jvp(double t, const double* x, const double* p, const double* dx_bar, double t_dot,
                       const double* x_dot, const double* p_dot, const double* dx_bar_dot, double* t_bar_dot,
                       double* x_bar_dot, double* p_bar_dot, double* scratch) const;

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

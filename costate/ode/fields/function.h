// Function: y = g(t, x, p) with its derivatives, one world in double precision. Guards and jumps of events,
// running and final costs are Functions; so is the right-hand side of an initial value problem
// (vector_field.h).
//
// jvp: y_dot  = g_t t_dot + g_x x_dot + g_p p_dot
// vjp: t_bar += g_t' y_bar,  x_bar += g_x' y_bar,  p_bar += g_p' y_bar
//
// Const: evaluations of one function may run on several threads, each with its own scratch.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace costate::ode {

class Function {
 public:
  virtual ~Function() = default;

  virtual int states() const = 0;
  virtual int parameters() const = 0;
  virtual int outputs() const = 0;

  // Scratch that the functions below may overwrite: allocated once per solver, never inside a step.
  virtual std::size_t scratch_size() const { return 0; }  // in doubles

  virtual void value(double t, const double* x, const double* p, double* y, double* scratch) const = 0;
  // Null x_dot or p_dot: zero.
  virtual void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot,
                   const double* p_dot, double* y_dot, double* scratch) const = 0;
  // Adds. Null p_bar: not wanted.
  virtual void vjp(double t, const double* x, const double* p, const double* y_bar, double* t_bar,
                   double* x_bar, double* p_bar, double* scratch) const = 0;

  // Forward tangent of vjp, for Hessian-vector products: with all inputs of vjp moving along their *_dot
  // (y_bar along y_bar_dot), adds the rates of t_bar, x_bar, p_bar. False where the source has no second
  // derivatives.
  virtual bool has_second_order() const { return false; }
  virtual void vjp_jvp(double t, const double* x, const double* p, const double* y_bar, double t_dot,
                       const double* x_dot, const double* p_dot, const double* y_bar_dot, double* t_bar_dot,
                       double* x_bar_dot, double* p_bar_dot, double* scratch) const;
};

// A Function or a VectorField (Base) whose mathematics is in an object with the members that are called here.
template <class Base, class Derivatives>
class FunctionOf : public Base {
 public:
  explicit FunctionOf(Derivatives f) : f_(std::move(f)) {}

  int states() const override { return f_.states(); }
  int parameters() const override { return f_.parameters(); }
  std::size_t scratch_size() const override { return f_.scratch_size(); }
  void value(double t, const double* x, const double* p, double* y, double* scratch) const override {
    f_.value(t, x, p, y, scratch);
  }
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* y_dot, double* scratch) const override {
    f_.jvp(t, x, p, t_dot, x_dot, p_dot, y_dot, scratch);
  }
  void vjp(double t, const double* x, const double* p, const double* y_bar, double* t_bar, double* x_bar,
           double* p_bar, double* scratch) const override {
    f_.vjp(t, x, p, y_bar, t_bar, x_bar, p_bar, scratch);
  }
  bool has_second_order() const override { return f_.has_second_order(); }
  void vjp_jvp(double t, const double* x, const double* p, const double* y_bar, double t_dot,
               const double* x_dot, const double* p_dot, const double* y_bar_dot, double* t_bar_dot,
               double* x_bar_dot, double* p_bar_dot, double* scratch) const override {
    f_.vjp_jvp(t, x, p, y_bar, t_dot, x_dot, p_dot, y_bar_dot, t_bar_dot, x_bar_dot, p_bar_dot, scratch);
  }

 protected:
  Derivatives f_;
};

}  // namespace costate::ode

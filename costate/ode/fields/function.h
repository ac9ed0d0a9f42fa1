// Function: y = g(t, x, p) with its derivatives. Guards and jumps of events, running and final costs are
// Functions.
//
// Signatures and meaning are those of VectorField, with outputs() values instead of one rate per state.
#pragma once

#include <cstddef>
#include <memory>

namespace costate::ode {

class Function {
 public:
  virtual ~Function() = default;

  virtual int states() const = 0;
  virtual int parameters() const = 0;
  virtual int outputs() const = 0;
  virtual std::size_t scratch_size() const { return 0; }  // in doubles

  virtual void value(double t, const double* x, const double* p, double* y, double* scratch) const = 0;
  // Null x_dot or p_dot: zero.
  virtual void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot,
                   const double* p_dot, double* y_dot, double* scratch) const = 0;
  // Adds. Null p_bar: not wanted.
  virtual void vjp(double t, const double* x, const double* p, const double* y_bar, double* t_bar,
                   double* x_bar, double* p_bar, double* scratch) const = 0;

  // Forward tangent of vjp; see VectorField.
  virtual bool has_second_order() const { return false; }
  virtual void vjp_jvp(double t, const double* x, const double* p, const double* y_bar, double t_dot,
                       const double* x_dot, const double* p_dot, const double* y_bar_dot, double* t_bar_dot,
                       double* x_bar_dot, double* p_bar_dot, double* scratch) const;
};

}  // namespace costate::ode

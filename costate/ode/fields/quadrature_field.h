// QuadratureField: a vector field with the integral of a running cost as one more state.
//
//   x' = f(t, x, p),   q' = l(t, x, p),   q(t0) = 0
//
// The integral is then computed by the method's own stages, and its gradient is exact for the steps taken.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "costate/ode/fields/function.h"
#include "costate/ode/fields/vector_field.h"

namespace costate::ode {

class QuadratureField final : public VectorField {
 public:
  QuadratureField(const VectorField& field, std::shared_ptr<const Function> cost);

  int states() const override { return n_ + 1; }
  int parameters() const override { return field_.parameters(); }
  std::size_t scratch_size() const override { return std::max(field_.scratch_size(), cost_->scratch_size()); }

  void value(double t, const double* x, const double* p, double* dx, double* scratch) const override {
    field_.value(t, x, p, dx, scratch);
    cost_->value(t, x, p, dx + n_, scratch);
  }
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* dx_dot, double* scratch) const override {
    field_.jvp(t, x, p, t_dot, x_dot, p_dot, dx_dot, scratch);
    cost_->jvp(t, x, p, t_dot, x_dot, p_dot, dx_dot + n_, scratch);
  }
  void vjp(double t, const double* x, const double* p, const double* dx_bar, double* t_bar, double* x_bar,
           double* p_bar, double* scratch) const override {
    field_.vjp(t, x, p, dx_bar, t_bar, x_bar, p_bar, scratch);
    if (dx_bar[n_] != 0) cost_->vjp(t, x, p, dx_bar + n_, t_bar, x_bar, p_bar, scratch);
  }
  bool has_second_order() const override { return field_.has_second_order() && cost_->has_second_order(); }
  void vjp_jvp(double t, const double* x, const double* p, const double* dx_bar, double t_dot,
               const double* x_dot, const double* p_dot, const double* dx_bar_dot, double* t_bar_dot,
               double* x_bar_dot, double* p_bar_dot, double* scratch) const override {
    field_.vjp_jvp(t, x, p, dx_bar, t_dot, x_dot, p_dot, dx_bar_dot, t_bar_dot, x_bar_dot, p_bar_dot,
                   scratch);
    cost_->vjp_jvp(t, x, p, dx_bar + n_, t_dot, x_dot, p_dot, dx_bar_dot + n_, t_bar_dot, x_bar_dot,
                   p_bar_dot, scratch);
  }
  const std::vector<double>& mass() const override { return mass_; }

 private:
  const VectorField& field_;
  std::shared_ptr<const Function> cost_;
  int n_;
  std::vector<double> mass_;
};

}  // namespace costate::ode

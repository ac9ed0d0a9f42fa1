#include "costate/ode/fields/consistent_jump.h"

namespace costate::ode {

ConsistentJump::ConsistentJump(std::shared_ptr<const VectorField> field, std::shared_ptr<const Function> jump)
    : field_(std::move(field)), jump_(std::move(jump)), consistent_(*field_) {}

void ConsistentJump::value(double t, const double* x, const double* p, double* y, double* scratch) const {
  jump_->value(t, x, p, y, scratch);
  consistent_.make_consistent(t, y, p);
}

void ConsistentJump::jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot,
                         const double* p_dot, double* y_dot, double* scratch) const {
  std::vector<double> y(outputs(), 0.0), jumped_dot(y.size());
  value(t, x, p, y.data(), scratch);
  jump_->jvp(t, x, p, t_dot, x_dot, p_dot, jumped_dot.data(), scratch);
  consistent_.make_consistent_jvp(t, y.data(), p, t_dot, jumped_dot.data(), p_dot, y_dot);
}

void ConsistentJump::vjp(double t, const double* x, const double* p, const double* y_bar, double* t_bar,
                         double* x_bar, double* p_bar, double* scratch) const {
  std::vector<double> y(outputs(), 0.0), jumped_bar(y.size(), 0.0);
  value(t, x, p, y.data(), scratch);
  consistent_.make_consistent_vjp(t, y.data(), p, y_bar, t_bar, jumped_bar.data(), p_bar);
  jump_->vjp(t, x, p, jumped_bar.data(), t_bar, x_bar, p_bar, scratch);
}

}  // namespace costate::ode

// ConsistentJump: a jump of the differential states of M x' = f(t, x, p), after which the algebraic ones
// follow.
//
//   x+ = C(t, R(t, x-, p), p)         R the jump that was written, C the map onto consistent states
//                                     (consistent_state.h)
//
// Tests: tests/ode/fields/consistent_state_test.cpp.
#pragma once

#include "costate/ode/fields/consistent_state.h"
#include "costate/ode/fields/function.h"

namespace costate::ode {

class ConsistentJump final : public Function {
 public:
  ConsistentJump(std::shared_ptr<const VectorField> field, std::shared_ptr<const Function> jump);

  int states() const override { return jump_->states(); }
  int parameters() const override { return jump_->parameters(); }
  int outputs() const override { return jump_->outputs(); }
  std::size_t scratch_size() const override { return jump_->scratch_size(); }

  void value(double t, const double* x, const double* p, double* y, double* scratch) const override;
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* y_dot, double* scratch) const override;
  void vjp(double t, const double* x, const double* p, const double* y_bar, double* t_bar, double* x_bar,
           double* p_bar, double* scratch) const override;

 private:
  std::shared_ptr<const VectorField> field_;
  std::shared_ptr<const Function> jump_;
  ConsistentState consistent_;
};

}  // namespace costate::ode

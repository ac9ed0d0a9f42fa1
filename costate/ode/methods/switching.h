// Switching: dopri5 where the problem is not stiff, bdf where it is.
//
// The memory that follows the state is bdf's, and one number more: 1 where the next step is bdf's. Whether
// dopri5 is limited by stability is seen from its last two stages, both at t + h: |f - f'| / |x - x'| is
// about the speed of the fastest mode, and h times that about 3.3 [1, section IV.2]. Ten such steps in a row:
// bdf. Ten steps of bdf that are short beside the fastest mode, h |f_x| < 1/2: dopri5. When to switch is a
// constant of the steps; their derivatives are those of the two methods.
//
// The same idea as LSODA's (Petzold, SIAM J. Sci. Stat. Comput. 4 (1983)), with Runge-Kutta in place of
// Adams' methods.
//
// [1] Hairer, Wanner: Solving Ordinary Differential Equations II, 2nd ed.
// Tests: tests/ode/methods/bdf_test.cpp.
#pragma once

#include "costate/ode/methods/bdf.h"
#include "costate/ode/methods/explicit_rk.h"

namespace costate::ode {

class Switching final : public Stepper {
 public:
  Switching(const VectorField& field, const MethodTolerance& tolerance);

  const char* name() const override { return "switching"; }
  int order() const override { return explicit_.order(); }
  int error_order() const override { return explicit_.error_order(); }
  int dense_order() const override { return bdf_.dense_order(); }
  int memory() const override { return bdf_.memory() + 1; }

  bool step(const StepInput& in, double* y, double* error) override;
  double settle(double* y, const double* scale, int components, double err, double factor) override;
  double shrink(double err, double factor) override { return active_->shrink(err, factor); }
  bool holds(const StepInput& in) const override { return active_ == &method_of(in) && active_->holds(in); }
  void interpolate(double theta, double* y) const override { active_->interpolate(theta, y); }
  double error_norm(const double* error, const double* scale, int components) const override {
    return active_->error_norm(error, scale, components);
  }
  std::size_t stage_size() const override { return explicit_.stage_size(); }
  void save_stages(double* stages) const override { active_->save_stages(stages); }
  void load_stages(const StepInput& in, const double* stages) override { method(in).load_stages(in, stages); }

  void step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot) override;
  void step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar) override;
  void interpolate_jvp(const StepInput& in, const StepTangent& in_dot, double theta, double theta_dot,
                       double* y_dot) override {
    method(in).interpolate_jvp(in, in_dot, theta, theta_dot, y_dot);
  }
  void interpolate_vjp(const StepInput& in, double theta, const double* y_bar, const StepCotangent& in_bar,
                       double* theta_bar) override {
    method(in).interpolate_vjp(in, theta, y_bar, in_bar, theta_bar);
  }

 private:
  bool stiff(const StepInput& in) const { return in.x[mode_place_] != 0; }
  const Stepper& method_of(const StepInput& in) const {
    return stiff(in) ? static_cast<const Stepper&>(bdf_) : explicit_;
  }
  Stepper& method(const StepInput& in);  // and makes it the active one
  void count();                          // evaluations of both

  ExplicitRk explicit_;
  Bdf bdf_;
  Stepper* active_;
  const int n_, mode_place_;
  double h_ = 0;       // of the step taken last
  int in_favour_ = 0;  // steps in a row that speak for the other method
};

}  // namespace costate::ode

// ImplicitStepper: what Radau5 and Rosenbrock share. Both keep the step they took last and its stages, so
// that the interpolant and the derivatives need not compute them again, and both are their own interpolant
// at theta = 1.
//
// Tests: tests/ode/methods/implicit_stepper_test.cpp.
#pragma once

#include <vector>

#include "costate/ode/fields/mass_matrix.h"
#include "costate/ode/methods/stepper.h"

namespace costate::ode {

class ImplicitStepper : public Stepper {
 public:
  ImplicitStepper(const ImplicitStepper&) = delete;
  ImplicitStepper& operator=(const ImplicitStepper&) = delete;

  bool implicit() const final { return true; }
  bool holds(const StepInput& in) const final;
  std::size_t stage_size() const final { return stages_.size(); }
  void save_stages(double* stages) const final;
  void load_stages(const StepInput& in, const double* stages) final;
  void step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot) final;
  void step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar) final;

 protected:
  ImplicitStepper(const VectorField& field, int stages);  // field must outlive it

  // `in` is the step taken last; nothing is known of it yet.
  void hold(const StepInput& in);
  double* stage(std::vector<double>& v, int i) { return v.data() + std::size_t(i) * n_; }
  const double* stage(const std::vector<double>& v, int i) const { return v.data() + std::size_t(i) * n_; }

  const VectorField& field_;
  int n_;
  MassMatrix mass_;
  double t_ = 0, h_ = 0;  // the step taken last
  std::vector<double> x_, p_;
  enum class Known { nothing, stages, all } known_ = Known::nothing;  // all: what derivatives need, too
  std::vector<double> stages_, x_stage_;  // the unknowns and the arguments of f, stage by stage
};

}  // namespace costate::ode

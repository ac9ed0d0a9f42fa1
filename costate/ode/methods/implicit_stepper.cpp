#include "costate/ode/methods/implicit_stepper.h"

#include <algorithm>

namespace costate::ode {

ImplicitStepper::ImplicitStepper(const VectorField& field, int stages)
    : field_(field),
      n_(field.states()),
      mass_(field),
      x_(n_),
      p_(field.parameters()),
      stages_(std::size_t(stages) * n_),
      x_stage_(std::size_t(stages) * n_) {}

bool ImplicitStepper::holds(const StepInput& in) const {
  return known_ != Known::nothing && in.t == t_ && in.h == h_ && std::equal(x_.begin(), x_.end(), in.x) &&
         std::equal(p_.begin(), p_.end(), in.p);
}

void ImplicitStepper::hold(const StepInput& in) {
  t_ = in.t, h_ = in.h;
  std::copy_n(in.x, x_.size(), x_.begin());
  std::copy_n(in.p, p_.size(), p_.begin());
  known_ = Known::nothing;
}

void ImplicitStepper::save_stages(double* stages) const { std::copy(stages_.begin(), stages_.end(), stages); }

void ImplicitStepper::load_stages(const StepInput& in, const double* stages) {
  if (holds(in)) return;
  hold(in);
  std::copy_n(stages, stages_.size(), stages_.begin());
  known_ = Known::stages;
}

// At theta = 1 the interpolant is the step.
void ImplicitStepper::step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot) {
  interpolate_jvp(in, in_dot, 1.0, 0.0, y_dot);
}
void ImplicitStepper::step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar) {
  interpolate_vjp(in, 1.0, y_bar, in_bar, nullptr);
}

}  // namespace costate::ode

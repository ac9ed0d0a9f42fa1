#include "costate/ode/methods/switching.h"

#include <algorithm>
#include <cmath>

#include "costate/ode/methods/tableaus.h"

namespace costate::ode {
namespace {

constexpr int kPatience = 10;        // steps
constexpr double kStability = 3.25;  // of dopri5 on the negative real axis
constexpr double kShortSteps = 0.5;  // h |f_x|

}  // namespace

Switching::Switching(const VectorField& field, const MethodTolerance& tolerance)
    : explicit_(dormand_prince_tableau(), field),
      bdf_(field, tolerance),
      active_(&explicit_),
      n_(field.states()),
      mode_place_(n_ + bdf_.memory()) {}

Stepper& Switching::method(const StepInput& in) {
  active_ = stiff(in) ? static_cast<Stepper*>(&bdf_) : &explicit_;
  return *active_;
}

void Switching::count() {
  counts_ = bdf_.counts();
  counts_.rhs += explicit_.counts().rhs;
}

bool Switching::step(const StepInput& in, double* y, double* error) {
  const bool converged = method(in).step(in, y, error);
  h_ = in.h;
  if (!stiff(in)) std::fill(y + n_, y + mode_place_, 0.0);
  y[mode_place_] = stiff(in) ? 1 : 0;
  count();
  return converged;
}

double Switching::settle(double* y, const double* scale, int components, double err, double factor) {
  const bool was_stiff = active_ == &bdf_;
  const bool other =
      was_stiff ? std::abs(h_) * bdf_.jacobian_norm() < kShortSteps : explicit_.fastest_mode() > kStability;
  in_favour_ = other ? in_favour_ + 1 : 0;
  const double next = active_->settle(y, scale, components, err, factor);
  if (in_favour_ < kPatience) return next;
  in_favour_ = 0;
  std::fill(y + n_, y + mode_place_, 0.0);
  y[mode_place_] = was_stiff ? 0 : 1;
  return next;
}

void Switching::step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot) {
  method(in).step_jvp(in, in_dot, y_dot);
  if (!stiff(in)) std::fill(y_dot + n_, y_dot + mode_place_, 0.0);
  y_dot[mode_place_] = 0;
}

void Switching::step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar) {
  method(in).step_vjp(in, y_bar, in_bar);
}

}  // namespace costate::ode

#include "costate/ode/methods/stepper.h"

#include <cmath>
#include <string>

#include "costate/core/error.h"

namespace costate::ode {
namespace {

[[noreturn]] void no_second_order(const char* name) {
  throw Error({std::string("the method ") + name + " on this vector field has no second derivatives", "",
               "Hessians need an explicit Runge-Kutta method and a field with has_second_order()"});
}

}  // namespace

double Stepper::error_norm(const double* error, const double* scale, int components) const {
  double sum = 0;
  for (int i = 0; i < components; ++i) {
    const double ratio = error[i] / scale[i];
    sum += ratio * ratio;
  }
  return std::sqrt(sum / components);
}

void Stepper::step_vjp_jvp(const StepInput&, const StepTangent&, const double*, const double*,
                           const StepCotangent&) {
  no_second_order(name());
}

void Stepper::interpolate_vjp_jvp(const StepInput&, const StepTangent&, double, double, const double*,
                                  const double*, const StepCotangent&, double*) {
  no_second_order(name());
}

}  // namespace costate::ode

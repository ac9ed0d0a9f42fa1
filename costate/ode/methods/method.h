// Methods by name, as options and scene files give them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/ode/methods/stepper.h"

namespace costate::ode {

// What a method may need to know of the accuracy wanted (implicit methods stop Newton by it).
struct MethodTolerance {
  double rtol = 1e-6;
  double atol = 1e-9;
  // Newton's matrix and first guess are carried from step to step, and stages converge to 3 % of the
  // tolerance: fewer evaluations, and derivatives that agree with the values to that. (Otherwise a step is a
  // function of its inputs, to 0.1 % and better.)
  bool carry = false;
};

// A stepper for this field, which must outlive it. Unknown name: an Error that lists the names.
std::unique_ptr<Stepper> make_stepper(const std::string& method, const VectorField& field,
                                      const MethodTolerance& tolerance = {});
std::vector<std::string> method_names();

}  // namespace costate::ode

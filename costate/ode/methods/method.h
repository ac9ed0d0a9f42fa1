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
};

// A stepper for this field, which must outlive it. Unknown name: an Error that lists the names.
std::unique_ptr<Stepper> make_stepper(const std::string& method, const VectorField& field,
                                      const MethodTolerance& tolerance = {});
std::vector<std::string> method_names();

}  // namespace costate::ode

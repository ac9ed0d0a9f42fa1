// Implicit methods by name: "rodas5p" (rosenbrock.h), "radau5" (radau.h), "bdf" (bdf.h), and "switching"
// (switching.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/ode/methods/method.h"

namespace costate::ode {

// Null if the name is not that of an implicit method. Radau5's stages are converged a thousand times below
// the tolerance.
std::unique_ptr<Stepper> make_implicit_stepper(const std::string& method, const VectorField& field,
                                               const MethodTolerance& tolerance = {});
std::vector<std::string> implicit_method_names();

}  // namespace costate::ode

// Explicit methods by name as fixed steps of a recorded system: what the tableaus say
// (ode/methods/tableaus.h), without their error estimates.
//
//   program_system<double>(signature, program, ode::fixed_scheme("dopri5", 0.25))
//
// Tests: tests/ode/lanes/fixed_scheme_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/system/program/explicit_step.h"

namespace costate::ode {

// "euler", "midpoint", "heun", "rk4", "bs3", "dopri5", "tsit5", "dop853". Any other name: an Error that lists
// them.
Scheme fixed_scheme(const std::string& method, double dt);
std::vector<std::string> fixed_scheme_names();

}  // namespace costate::ode

// A Signature, and an integrator, from what Python says.
#pragma once

#include <string>

#include "arrays.h"
#include "costate/system/program/explicit_step.h"
#include "costate/system/signature.h"

namespace costate::python {

// states, controls: {name: size} or names; parameters: {name: default, a number or an array}. None: none.
Signature build_signature(nb::handle states, nb::handle controls, nb::handle parameters);
// "next", or a name of ode::fixed_scheme_names().
Scheme scheme_of(const std::string& method, double dt);

}  // namespace costate::python

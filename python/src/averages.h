// The submodule costate.estimate.
#pragma once

#include "arrays.h"

namespace costate::python {

void bind_averages(nb::module_& m);

}  // namespace costate::python

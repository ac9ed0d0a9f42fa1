// The binding of costate.learn.
#pragma once

#include <nanobind/nanobind.h>

namespace costate::python {

void bind_learning(nanobind::module_& m);

}  // namespace costate::python

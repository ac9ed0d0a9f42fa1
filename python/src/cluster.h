// What costate.cluster (python/costate/cluster) is made of: dealing, sums, Parts and logs. Its executors are
// written in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace costate::python {

void bind_cluster(nanobind::module_& m);

}  // namespace costate::python

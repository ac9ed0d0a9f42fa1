// Values given beside a file: {"parameters.g": 1.6, "domain.dx": "0.01"}.
#pragma once

#include "arrays.h"
#include "costate/io/problem.h"

namespace costate::python {

std::vector<io::Setting> settings_of(nb::handle settings);

}  // namespace costate::python

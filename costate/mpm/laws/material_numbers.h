// A material's numbers by name.
#pragma once

#include <string>

#include "costate/mpm/model.h"

namespace costate::mpm {

double number_of(const Material& material, const std::string& name);
std::string unit_of(const std::string& name);

}  // namespace costate::mpm

// From paths to quantities: "site/tip/velocity" -> Observed. observer.h lists the paths.
// Tests: tests/rigid/dynamics/observer_test.cpp.
#pragma once

#include <string>

#include "costate/rigid/model.h"
#include "costate/rigid/observe/observed.h"

namespace costate::rigid {

// Throws Error for a path that does not exist, with the nearest that does.
Observed resolve(const Model& model, const ParameterMap& map, const std::string& path);

}  // namespace costate::rigid

// Which numbers the parameters of a model can have: a mass is not negative, a step takes time, a range ends
// after it begins. The reader of models refuses others, too.
// Tests: tests/rigid/parameter_range_test.cpp.
#pragma once

#include "costate/system/signature.h"

namespace costate::rigid {

void limit_parameters(Signature& signature);

}  // namespace costate::rigid

// A recorded program as bytes: equal for equal programs, and enough to make it again in another process of
// the same build. Not a file format.
#pragma once

#include <string>

#include "costate/ad/layered.h"

namespace costate::python {

std::string to_bytes(const ad::LayeredProgram& layered);
ad::LayeredProgram program_of_bytes(const std::string& bytes);

}  // namespace costate::python

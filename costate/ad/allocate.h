// Instructions and registers for a Program.
#pragma once

#include "costate/ad/executable.h"

namespace costate::ad {

StraightCode allocate(const Program& program);

}  // namespace costate::ad

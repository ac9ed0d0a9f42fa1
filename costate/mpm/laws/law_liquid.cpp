#include "costate/mpm/laws/law_liquid.h"

#include "costate/mpm/laws/law_table.h"

namespace costate::mpm {

COSTATE_MPM_LAW(liquid, Liquid)

}  // namespace costate::mpm

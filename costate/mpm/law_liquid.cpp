#include "costate/mpm/law_liquid.h"

#include "costate/mpm/law_table.h"

namespace costate::mpm {

COSTATE_MPM_LAW(liquid, Liquid)

}  // namespace costate::mpm

#include "costate/mpm/laws/law_elastic.h"

#include "costate/mpm/laws/law_table.h"

namespace costate::mpm {

COSTATE_MPM_LAW(neo_hookean, NeoHookean)
COSTATE_MPM_LAW(fixed_corotated, Corotated<false>)
COSTATE_MPM_LAW(muscle, Corotated<true>)

}  // namespace costate::mpm

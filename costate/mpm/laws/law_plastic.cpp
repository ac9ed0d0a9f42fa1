#include "costate/mpm/laws/law_plastic.h"

#include "costate/mpm/laws/law_table.h"

namespace costate::mpm {

COSTATE_MPM_LAW(stvk_hencky, HenckyLaw<Hencky>)
COSTATE_MPM_LAW(von_mises, HenckyLaw<VonMises>)
COSTATE_MPM_LAW(drucker_prager, HenckyLaw<DruckerPrager>)

}  // namespace costate::mpm

#include "costate/mpm/laws/law_snow.h"

#include "costate/mpm/laws/law_table.h"

namespace costate::mpm {

COSTATE_MPM_LAW(snow, HenckyLaw<Snow>)

}  // namespace costate::mpm

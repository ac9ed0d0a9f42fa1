#include "costate/mpm/law_snow.h"

#include "costate/mpm/law_table.h"

namespace costate::mpm {

COSTATE_MPM_LAW(snow, HenckyLaw<Snow>)

}  // namespace costate::mpm

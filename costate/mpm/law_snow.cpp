#include "costate/mpm/law_snow.h"

#include "costate/mpm/law_table.h"

namespace costate::mpm {

template <class S, int D>
Law<S, D> snow() {
  return make_law<HenckyLaw<Snow>, S, D>();
}

#define COSTATE_INSTANTIATE(S)     \
  template Law<S, 2> snow<S, 2>(); \
  template Law<S, 3> snow<S, 3>();
COSTATE_MPM_LAW_SCALARS(COSTATE_INSTANTIATE)

}  // namespace costate::mpm

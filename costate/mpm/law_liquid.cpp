#include "costate/mpm/law_liquid.h"

#include "costate/mpm/law_table.h"

namespace costate::mpm {

#define COSTATE_INSTANTIATE(S)       \
  template Law<S, 2> liquid<S, 2>(); \
  template Law<S, 3> liquid<S, 3>();

template <class S, int D>
Law<S, D> liquid() {
  return make_law<Liquid, S, D>();
}
COSTATE_MPM_LAW_SCALARS(COSTATE_INSTANTIATE)

}  // namespace costate::mpm

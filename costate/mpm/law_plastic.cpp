#include "costate/mpm/law_plastic.h"

#include "costate/mpm/law_table.h"

namespace costate::mpm {

template <class S, int D>
Law<S, D> stvk_hencky() {
  return make_law<HenckyLaw<Hencky>, S, D>();
}
template <class S, int D>
Law<S, D> von_mises() {
  return make_law<HenckyLaw<VonMises>, S, D>();
}
template <class S, int D>
Law<S, D> drucker_prager() {
  return make_law<HenckyLaw<DruckerPrager>, S, D>();
}

#define COSTATE_INSTANTIATE(S)               \
  template Law<S, 2> stvk_hencky<S, 2>();    \
  template Law<S, 3> stvk_hencky<S, 3>();    \
  template Law<S, 2> von_mises<S, 2>();      \
  template Law<S, 3> von_mises<S, 3>();      \
  template Law<S, 2> drucker_prager<S, 2>(); \
  template Law<S, 3> drucker_prager<S, 3>();
COSTATE_MPM_LAW_SCALARS(COSTATE_INSTANTIATE)

}  // namespace costate::mpm

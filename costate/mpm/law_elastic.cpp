#include "costate/mpm/law_elastic.h"

#include "costate/mpm/law_table.h"

namespace costate::mpm {

template <class S, int D>
Law<S, D> neo_hookean() {
  return make_law<NeoHookean, S, D>();
}
template <class S, int D>
Law<S, D> fixed_corotated() {
  return make_law<Corotated<false>, S, D>();
}
template <class S, int D>
Law<S, D> muscle() {
  return make_law<Corotated<true>, S, D>();
}

#define COSTATE_INSTANTIATE(S)                \
  template Law<S, 2> neo_hookean<S, 2>();     \
  template Law<S, 3> neo_hookean<S, 3>();     \
  template Law<S, 2> fixed_corotated<S, 2>(); \
  template Law<S, 3> fixed_corotated<S, 3>(); \
  template Law<S, 2> muscle<S, 2>();          \
  template Law<S, 3> muscle<S, 3>();
COSTATE_MPM_LAW_SCALARS(COSTATE_INSTANTIATE)

}  // namespace costate::mpm

#include "costate/core/error.h"
#include "costate/mpm/laws/law_table.h"

namespace costate::mpm {

template <class S, int D>
Law<S, D> law_of(MaterialKind kind) {
  switch (kind) {
    case MaterialKind::liquid:
      return liquid<S, D>();
    case MaterialKind::fixed_corotated:
      return fixed_corotated<S, D>();
    case MaterialKind::neo_hookean:
      return neo_hookean<S, D>();
    case MaterialKind::muscle:
      return muscle<S, D>();
    case MaterialKind::stvk_hencky:
      return stvk_hencky<S, D>();
    case MaterialKind::von_mises:
      return von_mises<S, D>();
    case MaterialKind::drucker_prager:
      return drucker_prager<S, D>();
    case MaterialKind::snow:
      return snow<S, D>();
  }
  throw Error("a material of unknown kind");
}

#define COSTATE_INSTANTIATE(S)                   \
  template Law<S, 2> law_of<S, 2>(MaterialKind); \
  template Law<S, 3> law_of<S, 3>(MaterialKind);
COSTATE_MPM_LAW_SCALARS(COSTATE_INSTANTIATE)

}  // namespace costate::mpm

// The laws by name. Each group is compiled in the source file of its header: COSTATE_MPM_LAW(snow, Snow) defines snow() for every scalar and dimension.
#pragma once

#include "costate/mpm/laws/law.h"

namespace costate::mpm {

template <class S, int D>
Law<S, D> liquid();
template <class S, int D>
Law<S, D> neo_hookean();
template <class S, int D>
Law<S, D> fixed_corotated();
template <class S, int D>
Law<S, D> muscle();
template <class S, int D>
Law<S, D> stvk_hencky();
template <class S, int D>
Law<S, D> von_mises();
template <class S, int D>
Law<S, D> drucker_prager();
template <class S, int D>
Law<S, D> snow();

}  // namespace costate::mpm

#define COSTATE_MPM_LAW_OF(name, S) \
  template Law<S, 2> name<S, 2>();  \
  template Law<S, 3> name<S, 3>();
#define COSTATE_MPM_LAW(name, Type)                 \
  template <class S, int D>                         \
  Law<S, D> name() {                                \
    return make_law<Type, S, D>();                  \
  }                                                 \
  COSTATE_MPM_LAW_OF(name, NativePack<float>)       \
  COSTATE_MPM_LAW_OF(name, NativePack<double>)      \
  COSTATE_MPM_LAW_OF(name, Dual<NativePack<float>>) \
  COSTATE_MPM_LAW_OF(name, Dual<NativePack<double>>)

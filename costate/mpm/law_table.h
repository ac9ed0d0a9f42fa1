// The laws by name; each is made in the source file of its header.
#pragma once

#include "costate/mpm/law.h"

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

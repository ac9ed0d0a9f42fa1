// The model that a System was made of, for who runs it by other means: kernels of a GPU (costate/cuda/mpm).
#pragma once

#include <typeindex>
#include <vector>

#include "costate/mpm/model.h"
#include "costate/system/system.h"

namespace costate::mpm {

// The types of the Systems that system() makes.
template <class Real>
std::vector<std::type_index> system_types();

// Of such a System.
template <class Real>
const Model& model_of(const System<Real>& system);

}  // namespace costate::mpm

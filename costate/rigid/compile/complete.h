// The part of complete() (model.h) that needs the kernels.
#pragma once

#include "costate/rigid/model.h"

namespace costate::rigid {

// Inverse weights, tendon lengths and the mean inertia at qpos0. Models with spatial tendons or masses of
// zero have none; they are refused when they are simulated.
void measure_at_reference(Model& model);

}  // namespace costate::rigid

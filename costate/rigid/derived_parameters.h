// Derived parameters: the inverse weights that constraints scale their softness with (inverse_weights.h).
//
// A step takes them as given. To move masses, frames or armatures as if the model were compiled again,
//
//   with_inverse_weights    measures them for the new numbers, before a rollout
//   chain_inverse_weights   adds to a gradient what these numbers do through the weights, after it
//
// The second is the transpose of the first: forward-mode derivatives of the measurement at qpos0, eight
// parameters at a time, once per gradient. Fields must be shared by all worlds.
// Tests: tests/rigid/compile/derived_parameters_test.cpp.
#pragma once

#include "costate/rigid/model.h"
#include "costate/system/parameters.h"

namespace costate::rigid {

template <class Real>
Parameters<Real> with_inverse_weights(const Model& model, const Parameters<Real>& parameters);

template <class Real>
void chain_inverse_weights(const Model& model, const Parameters<Real>& parameters,
                           Parameters<Real>& gradient);

}  // namespace costate::rigid

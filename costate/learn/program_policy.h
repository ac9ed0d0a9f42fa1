// A plant and a recorded function that controls it, as one System: y = step(x, policy(x, p, t, k), p).
//
//   state      those of the plant
//   control    none
//   parameter  those of the plant, then those of `weights`
//
// The function is any Program of these (bind_program.h says how it names them) with one output for each
// control of the plant: observations, layers and the range of the controls are its own affair. Tangents and
// second derivatives exist where the plant has them. Tests: tests/learn/program_policy_test.cpp.
#pragma once

#include <memory>

#include "costate/ad/program.h"
#include "costate/system/system.h"

namespace costate::learn {

// Throws Error where the function does not fit the plant. Of `weights` only the parameters count.
template <class Real>
std::shared_ptr<System<Real>> closed_loop(std::shared_ptr<const System<Real>> plant, const Signature& weights,
                                          const ad::Program& policy);

// A plant with a learned part beside the laws it has: y = step(x, u + residual(x, p, t, k), p). Its controls
// stay. Where the plant takes forces as controls, the residual is a force.
template <class Real>
std::shared_ptr<System<Real>> hybrid(std::shared_ptr<const System<Real>> plant, const Signature& weights,
                                     const ad::Program& residual);

// The names that the function may use.
Signature policy_signature(const Signature& plant, const Signature& weights);

}  // namespace costate::learn

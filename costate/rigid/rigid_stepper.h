// The stepper behind a System that make_system has made, for backends that take its steps themselves.
#pragma once

#include <typeinfo>

#include "costate/rigid/step/step.h"
#include "costate/system/system.h"

namespace costate::rigid {

// The type of every System that make_system returns.
template <class Real>
const std::type_info& rigid_system_type();

// Of a System of that type.
template <class Real>
const Stepper& stepper_of(const System<Real>& system);

}  // namespace costate::rigid

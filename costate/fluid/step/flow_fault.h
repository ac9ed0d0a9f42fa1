// Why a flow ran away: a step too long for its speeds or its viscosity.
#pragma once

#include "costate/fluid/step/flow_model.h"
#include "costate/system/system.h"

namespace costate::fluid {

template <class Real>
typename System<Real>::Fault flow_fault(const FlowModel& model, const Inputs<Real>& in);

}  // namespace costate::fluid

// The systems of flows, each instantiated in a translation unit of its own: flow_2d_float.cpp and its three
// siblings, as many for flows on stretched grids (stretched_*.cpp), with limited fluxes (limited_*.cpp) and
// for those that are traced back (traced_*.cpp), and steady/stokes_*.cpp for creeping flow.
#pragma once

#include <memory>

#include "costate/fluid/step/flow_model.h"
#include "costate/system/system.h"

namespace costate::fluid {

template <class Real, int Dim, Carry How>
std::shared_ptr<System<Real>> make_flow_system(FlowModel model);

template <class Real>
std::shared_ptr<System<Real>> make_stokes_system(FlowModel model);

}  // namespace costate::fluid

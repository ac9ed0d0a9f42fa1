// Which small physics run on a device: the library's LaneSystems, by the type of the System.
#pragma once

#include "costate/cuda/device_backend.h"
#include "costate/ode/lanes/fixed_step_list.h"

namespace costate::cuda {

// Adds the kernels that make.template operator()<Kernel>(wanted) returns.
template <class Real, class Make>
void add_lane_kernels(KernelTable<Real>& table, const Make& make) {
#define COSTATE_ADD(...)                                                                                   \
  table.emplace_back(typeid(LaneSystem<__VA_ARGS__, Real>),                                                \
                     KernelMaker<Real>{false, [make](const System<Real>& system, const Activity& active) { \
                                         return make.template operator()<__VA_ARGS__>(                     \
                                             wanted_parameters(system.signature(), active));               \
                                       }});
  COSTATE_FOR_EACH_LANE_KERNEL(COSTATE_ADD)
#undef COSTATE_ADD
}

}  // namespace costate::cuda

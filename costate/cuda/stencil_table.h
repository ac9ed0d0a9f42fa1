// Which grids run on a device, by the type of the System.
#pragma once

#include "costate/cuda/device_backend.h"
#include "costate/cuda/stencil_kernels.h"
#include "costate/cuda/stencil_list.h"
#include "costate/grid/stencil_system.h"

namespace costate::cuda {

// Adds the kernels that make(kernel, grid, wants_constants) returns.
template <class Real, class Make>
void add_stencil_kernels(KernelTable<Real>& table, const Make& make) {
  const auto add = [&]<class Kernel>(const Kernel&) {
    using Grid = grid::StencilSystem<Kernel, Real>;
    table.emplace_back(
        typeid(Grid),
        KernelMaker<Real>{
            true, [make](const System<Real>& system, const Activity& active) {
              const auto& of = static_cast<const Grid&>(system);
              bool constants = false;
              for (std::size_t f = Kernel::coefficients; f < active.parameters.size(); ++f)
                constants = constants || active.parameters[f];
              return make(of.kernel(), GridDescription{of.nx(), of.ny(), of.source_cells()}, constants);
            }});
  };
#define COSTATE_ADD(Kernel) add(Kernel{});
  COSTATE_FOR_EACH_STENCIL_KERNEL(COSTATE_ADD)
#undef COSTATE_ADD
}

}  // namespace costate::cuda

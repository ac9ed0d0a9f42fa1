// Makes the kernels of grids in cuda_stencils_float.cu and cuda_stencils_double.cu. Needs nvcc.
#pragma once

#include "costate/cuda/cuda_exec.h"
#include "costate/cuda/cuda_kernels.h"
#include "costate/cuda/stencil_list.h"

namespace costate::cuda {

template <class Kernel, class Real>
std::unique_ptr<DeviceKernels<Real>> cuda_stencil_kernels(const Device& device, const Kernel& kernel,
                                                          const GridDescription& grid, bool wants_constants) {
  return std::make_unique<StencilKernels<Kernel, Real, CudaExec>>(device, CudaExec{}, kernel, grid,
                                                                  wants_constants);
}

}  // namespace costate::cuda

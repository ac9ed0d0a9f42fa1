// The kernels that nvcc compiles (cuda_*.cu), as the rest of the library makes them.
#pragma once

#include <memory>

#include "costate/ad/program.h"
#include "costate/cuda/stencil_kernels.h"
#include "costate/mpm/model.h"
#include "costate/system/activity.h"

namespace costate::cuda {

template <class Real>
std::unique_ptr<BlockKernels<Real>> cuda_block_kernels();

template <class Kernel, class Real>
std::unique_ptr<DeviceKernels<Real>> cuda_lane_kernels(unsigned long wanted);

// In cuda_stencils_float.cu and cuda_stencils_double.cu, for the kernels of stencil_table.h.
template <class Kernel, class Real>
std::unique_ptr<DeviceKernels<Real>> cuda_stencil_kernels(const Device& device, const Kernel& kernel,
                                                          const GridDescription& grid, bool wants_constants);

// A Program whose instructions are walked: program_walker.h.
template <class Real>
std::unique_ptr<DeviceKernels<Real>> cuda_program_walker(const Device& device, const Signature& signature,
                                                         const ad::Program& bound, const Activity& activity);

// In mpm/cuda_points_*.cu.
template <class Real, int D, int kTaps>
std::unique_ptr<DeviceKernels<Real>> cuda_points_kernels(const Device& device, const mpm::Model& model,
                                                         const Activity& activity);

}  // namespace costate::cuda

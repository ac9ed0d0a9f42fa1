// Rigid bodies on a GPU, by kernels that NVRTC compiled when the library was built (gpu_compiler.cpp).
#pragma once

#include <memory>

#include "costate/cuda/kernels.h"
#include "costate/system/system.h"

namespace costate::cuda {

// Of a System that rigid::make_system has made. An Error for a model that has parts without kernels.
template <class Real>
std::unique_ptr<DeviceKernels<Real>> cuda_rigid_kernels(int device, const System<Real>& system,
                                                        const Activity& activity);

}  // namespace costate::cuda

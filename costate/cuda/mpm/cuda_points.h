// Makes the kernels of material points in cuda_points_*.cu. Needs nvcc.
#pragma once

#include "costate/cuda/cuda_exec.h"
#include "costate/cuda/cuda_kernels.h"
#include "costate/cuda/mpm/points_kernels.h"

namespace costate::cuda {

static_assert(kBlockThreads == kThreadsPerBlock);

template <class Real, int D, int kTaps>
std::unique_ptr<DeviceKernels<Real>> cuda_points_kernels(const Device& device, const mpm::Model& model,
                                                         const Activity& activity) {
  return std::make_unique<PointsKernels<Real, D, kTaps, CudaExec>>(device, CudaExec{}, model, activity);
}

}  // namespace costate::cuda

// Makes the kernels of small physics in cuda_lanes_float.cu and cuda_lanes_double.cu. Needs nvcc.
#pragma once

#include "costate/cuda/cuda_exec.h"
#include "costate/cuda/cuda_kernels.h"
#include "costate/cuda/lane_kernels.h"
#include "costate/cuda/lane_table.h"

namespace costate::cuda {

template <class Kernel, class Real>
std::unique_ptr<DeviceKernels<Real>> cuda_lane_kernels(unsigned long wanted) {
  return std::make_unique<LaneKernels<Kernel, Real, CudaExec>>(CudaExec{}, wanted);
}

}  // namespace costate::cuda

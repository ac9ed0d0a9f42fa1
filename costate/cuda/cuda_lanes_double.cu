#include "costate/cuda/cuda_lanes.h"

namespace costate::cuda {

#define COSTATE_INSTANTIATE(...) \
  template std::unique_ptr<DeviceKernels<double>> cuda_lane_kernels<__VA_ARGS__, double>(unsigned long);
COSTATE_FOR_EACH_LANE_KERNEL(COSTATE_INSTANTIATE)

}  // namespace costate::cuda

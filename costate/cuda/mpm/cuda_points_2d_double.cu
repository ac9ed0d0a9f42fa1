#include "costate/cuda/mpm/cuda_points.h"

namespace costate::cuda {

template std::unique_ptr<DeviceKernels<double>> cuda_points_kernels<double, 2, 3>(const Device&,
                                                                                  const mpm::Model&,
                                                                                  const Activity&);
template std::unique_ptr<DeviceKernels<double>> cuda_points_kernels<double, 2, 4>(const Device&,
                                                                                  const mpm::Model&,
                                                                                  const Activity&);

}  // namespace costate::cuda

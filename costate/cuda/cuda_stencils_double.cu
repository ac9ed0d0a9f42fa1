#include "costate/cuda/cuda_stencils.h"

namespace costate::cuda {

#define COSTATE_INSTANTIATE(Kernel)                                                     \
  template std::unique_ptr<DeviceKernels<double>> cuda_stencil_kernels<Kernel, double>( \
      const Device&, const Kernel&, const GridDescription&, bool);
COSTATE_FOR_EACH_STENCIL_KERNEL(COSTATE_INSTANTIATE)

}  // namespace costate::cuda

#include "costate/cuda/block_kernels.h"
#include "costate/cuda/cuda_exec.h"
#include "costate/cuda/cuda_kernels.h"

namespace costate::cuda {

template <class Real>
std::unique_ptr<BlockKernels<Real>> cuda_block_kernels() {
  return std::make_unique<BlockKernelsOn<Real, CudaExec>>(CudaExec{});
}
template std::unique_ptr<BlockKernels<float>> cuda_block_kernels<float>();
template std::unique_ptr<BlockKernels<double>> cuda_block_kernels<double>();

}  // namespace costate::cuda

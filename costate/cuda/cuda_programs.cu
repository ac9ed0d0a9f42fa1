#include "costate/cuda/cuda_exec.h"
#include "costate/cuda/cuda_kernels.h"
#include "costate/cuda/program_walker.h"

namespace costate::cuda {

template <class Real>
std::unique_ptr<DeviceKernels<Real>> cuda_program_walker(const Device& device, const Signature& signature,
                                                         const ad::Program& bound, const Activity& activity) {
  return std::make_unique<ProgramWalker<Real, CudaExec>>(device, CudaExec{}, signature, bound, activity);
}
template std::unique_ptr<DeviceKernels<float>> cuda_program_walker(const Device&, const Signature&,
                                                                   const ad::Program&, const Activity&);
template std::unique_ptr<DeviceKernels<double>> cuda_program_walker(const Device&, const Signature&,
                                                                    const ad::Program&, const Activity&);

}  // namespace costate::cuda

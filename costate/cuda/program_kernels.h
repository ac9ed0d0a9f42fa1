// ProgramKernels: physics given as a Program, compiled for the GPU at hand by NVRTC. One thread per world, as
// for kernels that were compiled beforehand (lane_thread.h). Where there is no NVRTC: program_walker.h.
#pragma once

#include "costate/cuda/kernels.h"

namespace costate::cuda {

// Of a System that is a RecordedStep, too.
template <class Real>
std::unique_ptr<DeviceKernels<Real>> cuda_program_kernels(int device, const System<Real>& system,
                                                          const Activity& activity);

extern template std::unique_ptr<DeviceKernels<float>> cuda_program_kernels(int, const System<float>&,
                                                                           const Activity&);
extern template std::unique_ptr<DeviceKernels<double>> cuda_program_kernels(int, const System<double>&,
                                                                            const Activity&);

}  // namespace costate::cuda

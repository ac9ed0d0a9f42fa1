// Material points by the type of the System: which kernels they run with on a device.
#pragma once

#include "costate/cuda/device_backend.h"
#include "costate/cuda/mpm/points_model.h"
#include "costate/mpm/model_of.h"

namespace costate::cuda {

// Adds the kernels that make.template operator()<D, kTaps>(model, activity) returns.
template <class Real, class Make>
void add_points_kernels(KernelTable<Real>& table, const std::string& device, const Make& make) {
  using Kernels = std::unique_ptr<DeviceKernels<Real>>;
  for (const std::type_index& type : mpm::system_types<Real>())
    table.emplace_back(
        type, KernelMaker<Real>{
                  true, [make, device](const System<Real>& system, const Activity& active) -> Kernels {
                    const mpm::Model& model = mpm::model_of(system);
                    refuse_on_device(model, device);
                    const bool cubic = model.kernel == mpm::Kernel::cubic;
                    if (model.dimension == 2)
                      return cubic ? make.template operator()<2, 4>(model, active)
                                   : make.template operator()<2, 3>(model, active);
                    return cubic ? make.template operator()<3, 4>(model, active)
                                 : make.template operator()<3, 3>(model, active);
                  }});
}

}  // namespace costate::cuda

// Registers "cuda" as a kind of device. Whoever links this library links this file
// (costate/cuda/CMakeLists.txt).
#include "costate/core/error.h"
#include "costate/cuda/cuda_device.h"
#include "costate/cuda/cuda_kernels.h"
#include "costate/cuda/lane_table.h"
#include "costate/cuda/mpm/points_table.h"
#include "costate/cuda/program_kernels.h"
#include "costate/cuda/rigid/cuda_rigid.h"
#include "costate/cuda/several_devices.h"
#include "costate/cuda/stencil_table.h"
#include "costate/rigid/rigid_stepper.h"
#include "costate/system/program/recorded_step.h"

namespace costate::cuda {
namespace {

template <class Real, int D, int kTaps>
std::unique_ptr<DeviceKernels<Real>> points_kernels([[maybe_unused]] const Device& device,
                                                    [[maybe_unused]] const mpm::Model& model,
                                                    [[maybe_unused]] const Activity& active) {
#if defined(COSTATE_SLOW_KERNELS)
  return cuda_points_kernels<Real, D, kTaps>(device, model, active);
#else
  throw Error({"this library was built without the kernels of material points, which take minutes to compile",
               {},
               "configure it with -D COSTATE_CUDA=ON (cmake --preset cuda), or use device = \"cpu\""});
#endif
}

template <class Real>
std::shared_ptr<const DeviceBackend<Real>> one(int index, bool snapshots_on_host) {
  const auto device = device_of(index);
  KernelTable<Real> table;
  add_lane_kernels<Real>(
      table, []<class Kernel>(unsigned long wanted) { return cuda_lane_kernels<Kernel, Real>(wanted); });
  add_stencil_kernels<Real>(table, [device](const auto& kernel, const GridDescription& grid, bool constants) {
    return cuda_stencil_kernels<std::remove_cvref_t<decltype(kernel)>, Real>(*device, kernel, grid,
                                                                             constants);
  });
  add_points_kernels<Real>(table, device->name(),
                           [device]<int D, int kTaps>(const mpm::Model& model, const Activity& active) {
                             return points_kernels<Real, D, kTaps>(*device, model, active);
                           });
  table.emplace_back(typeid(RecordedStep),
                     KernelMaker<Real>{false, [index](const System<Real>& system, const Activity& active) {
                                         return cuda_program_kernels<Real>(index, system, active);
                                       }});
  table.emplace_back(rigid::rigid_system_type<Real>(),
                     KernelMaker<Real>{false, [index](const System<Real>& system, const Activity& active) {
                                         return cuda_rigid_kernels<Real>(index, system, active);
                                       }});
  return std::make_shared<DeviceBackend<Real>>(device, std::move(table), cuda_block_kernels<Real>,
                                               snapshots_on_host);
}

template <class Real>
std::shared_ptr<const Backend<Real>> backend(const DeviceChoice& choice) {
  std::vector<std::shared_ptr<const DeviceBackend<Real>>> all;
  for (const int index : choice.indices) all.push_back(one<Real>(index, choice.snapshots_on_host));
  return together(std::move(all));
}

}  // namespace
}  // namespace costate::cuda

extern "C" const bool costate_cuda_is_registered =
    costate::register_devices({"cuda", costate::cuda::backend<float>, costate::cuda::backend<double>,
                               costate::cuda::list_devices, "", true});

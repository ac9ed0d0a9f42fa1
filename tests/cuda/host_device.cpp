#include "tests/cuda/host_device.h"

#include <map>

#include "costate/cuda/block_kernels.h"
#include "costate/cuda/lane_kernels.h"
#include "costate/cuda/lane_table.h"
#include "costate/cuda/mpm/points_kernels.h"
#include "costate/cuda/mpm/points_table.h"
#include "costate/cuda/program_walker.h"
#include "costate/cuda/rigid/rigid_kernels.h"
#include "costate/cuda/several_devices.h"
#include "costate/cuda/stencil_table.h"
#include "costate/rigid/rigid_stepper.h"
#include "costate/system/program/recorded_step.h"
#include "tests/cuda/device_cases.h"

namespace costate::test {
namespace {

std::shared_ptr<HostDevice> host(int index) {
  static std::mutex mutex;
  static std::map<int, std::shared_ptr<HostDevice>> made;
  const std::lock_guard lock(mutex);
  auto& device = made[index];
  if (!device) device = std::make_shared<HostDevice>(index);
  return device;
}

template <class Real>
std::shared_ptr<const cuda::DeviceBackend<Real>> one(int index, bool snapshots_on_host) {
  const auto device = host(index);
  cuda::KernelTable<Real> table;
  cuda::add_lane_kernels<Real>(
      table, []<class Kernel>(unsigned long wanted) -> std::unique_ptr<cuda::DeviceKernels<Real>> {
        return std::make_unique<cuda::LaneKernels<Kernel, Real, HostExec>>(HostExec{}, wanted);
      });
  cuda::add_stencil_kernels<Real>(table,
                                  [device](const auto& kernel, const cuda::GridDescription& grid,
                                           bool constants) -> std::unique_ptr<cuda::DeviceKernels<Real>> {
                                    using Kernel = std::remove_cvref_t<decltype(kernel)>;
                                    return std::make_unique<cuda::StencilKernels<Kernel, Real, HostExec>>(
                                        *device, HostExec{}, kernel, grid, constants);
                                  });
  cuda::add_points_kernels<Real>(
      table, device->name(),
      [device]<int D, int kTaps>(const mpm::Model& model,
                                 const Activity& active) -> std::unique_ptr<cuda::DeviceKernels<Real>> {
        return std::make_unique<cuda::PointsKernels<Real, D, kTaps, HostExec>>(*device, HostExec{}, model,
                                                                               active);
      });
  table.emplace_back(
      typeid(RecordedStep),
      cuda::KernelMaker<Real>{false,
                              [device](const System<Real>& system,
                                       const Activity& active) -> std::unique_ptr<cuda::DeviceKernels<Real>> {
                                return std::make_unique<cuda::ProgramWalker<Real, HostExec>>(
                                    *device, HostExec{}, system.signature(),
                                    dynamic_cast<const RecordedStep&>(system).program(), active);
                              }});
  if constexpr (sizeof(Real) == 8)  // one precision, because compiling a step takes long
    table.emplace_back(rigid::rigid_system_type<Real>(),
                       cuda::KernelMaker<Real>{false,
                                               [device](const System<Real>& system, const Activity& active)
                                                   -> std::unique_ptr<cuda::DeviceKernels<Real>> {
                                                 const rigid::Stepper& stepper = rigid::stepper_of(system);
                                                 cuda::refuse_on_device(stepper, device->name());
                                                 return std::make_unique<cuda::RigidKernels<Real, HostExec>>(
                                                     *device, HostExec{}, stepper, active);
                                               }});
  return std::make_shared<cuda::DeviceBackend<Real>>(
      device, std::move(table),
      []() -> std::unique_ptr<cuda::BlockKernels<Real>> {
        return std::make_unique<cuda::BlockKernelsOn<Real, HostExec>>(HostExec{});
      },
      snapshots_on_host);
}

template <class Real>
std::shared_ptr<const Backend<Real>> backend(const DeviceChoice& choice) {
  std::vector<std::shared_ptr<const cuda::DeviceBackend<Real>>> all;
  for (const int index : choice.indices) all.push_back(one<Real>(index, choice.snapshots_on_host));
  return cuda::together(std::move(all));
}

}  // namespace

void register_host_device() {
  static const bool once = register_devices({"host", backend<float>, backend<double>,
                                             [] {
                                               return std::vector<DeviceInfo>{{"host:0", "a loop", 0, 0}};
                                             },
                                             "", true});
  (void)once;
}

HostMemory::HostMemory(std::int64_t bytes) : before(std::exchange(host(0)->memory, bytes)) {}
HostMemory::~HostMemory() { host(0)->memory = before; }

const HostDevice& host_device(int index) { return *host(index); }

}  // namespace costate::test

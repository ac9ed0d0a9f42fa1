// DeviceBackend: a Backend whose blocks run on a device. A physics is found by its type among the
// kernels that were registered; one that has none is an Error that names it.
//
// Tests: tests/cuda/device_rollout_test.cpp.
#pragma once

#include <functional>
#include <typeindex>
#include <typeinfo>

#include "costate/cuda/device_block.h"
#include "costate/system/backend.h"

namespace costate::cuda {

// Makes the kernels of a System for the parameters that are wanted.
template <class Real>
struct KernelMaker {
  bool one_world = false;  // a block is one large world instead of all worlds
  std::function<std::unique_ptr<DeviceKernels<Real>>(const System<Real>&, const Activity&)> make;
};

// Systems of that type run on the device with these kernels; of type RecordedStep: all that are one.
template <class Real>
using KernelTable = std::vector<std::pair<std::type_index, KernelMaker<Real>>>;

template <class Real>
class DeviceBackend final : public Backend<Real> {
 public:
  DeviceBackend(std::shared_ptr<const Device> device, KernelTable<Real> table,
                std::function<std::unique_ptr<BlockKernels<Real>>()> block, bool snapshots_on_host = false)
      : device_(std::move(device)),
        table_(std::move(table)),
        block_(std::move(block)),
        snapshots_on_host_(snapshots_on_host) {}

  int lanes(const System<Real>& system, const RolloutOptions& options) const override;
  std::unique_ptr<Block<Real>> make_block(const System<Real>& system, const RolloutOptions& options,
                                          const Activity& activity) const override;
  const std::shared_ptr<const Device>& device() const { return device_; }
  // With room for so many worlds.
  std::unique_ptr<DeviceBlock<Real>> make_device_block(const System<Real>& system,
                                                       const RolloutOptions& options,
                                                       const Activity& activity, int worlds) const;

 private:
  const KernelMaker<Real>& find(const System<Real>& system) const;

  std::shared_ptr<const Device> device_;
  KernelTable<Real> table_;
  std::function<std::unique_ptr<BlockKernels<Real>>()> block_;
  bool snapshots_on_host_;
};

// Bit i: parameter i, for physics of at most 64 parameters.
unsigned long wanted_parameters(const Signature& signature, const Activity& activity);

extern template class DeviceBackend<float>;
extern template class DeviceBackend<double>;

}  // namespace costate::cuda

// SeveralDevices: a Backend that deals the worlds of a rollout out to devices, each of which runs its share
// as it would run a rollout of its own.
//
// Shares are whole warps, so that a world has the neighbours that it has on one device: what it has of its
// own has the same bits as there. Sums over worlds are those of the devices, added up in their order. Where a
// block is one large world, devices take worlds in turn.
//
// Tests: tests/cuda/several_devices_test.cpp.
#pragma once

#include <atomic>

#include "costate/cuda/device_backend.h"

namespace costate::cuda {

template <class Real>
class SeveralDevices final : public Backend<Real> {
 public:
  explicit SeveralDevices(std::vector<std::shared_ptr<const DeviceBackend<Real>>> devices)
      : devices_(std::move(devices)) {}

  int lanes(const System<Real>& system, const RolloutOptions& options) const override;
  std::unique_ptr<Block<Real>> make_block(const System<Real>& system, const RolloutOptions& options,
                                          const Activity& activity) const override;

 private:
  std::vector<std::shared_ptr<const DeviceBackend<Real>>> devices_;
  mutable std::atomic<std::size_t> next_ = 0;  // who takes the next block
};

// One device by itself, or all of them together.
template <class Real>
std::shared_ptr<const Backend<Real>> together(
    std::vector<std::shared_ptr<const DeviceBackend<Real>>> devices) {
  if (devices.size() == 1) return devices.front();
  return std::make_shared<SeveralDevices<Real>>(std::move(devices));
}

extern template class SeveralDevices<float>;
extern template class SeveralDevices<double>;

}  // namespace costate::cuda

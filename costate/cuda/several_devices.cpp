#include "costate/cuda/several_devices.h"

namespace costate::cuda {
namespace {

// Worlds of a device: whole warps, as few as do. A share of one world would be summed in another order than
// worlds among others are.
std::int64_t share_of(std::int64_t worlds, std::int64_t devices) {
  constexpr std::int64_t kWarp = 32;
  const std::int64_t each = (worlds + devices - 1) / devices;
  std::int64_t share = (each + kWarp - 1) / kWarp * kWarp;
  while (share < worlds && worlds % share == 1) share += kWarp;
  return std::min(share, worlds);
}

}  // namespace

template <class Real>
int SeveralDevices<Real>::lanes(const System<Real>& system, const RolloutOptions& options) const {
  const int all = devices_.front()->lanes(system, options);
  return all < options.worlds ? all : int(share_of(options.worlds, std::int64_t(devices_.size())));
}

template <class Real>
std::unique_ptr<Block<Real>> SeveralDevices<Real>::make_block(const System<Real>& system,
                                                              const RolloutOptions& options,
                                                              const Activity& activity) const {
  const auto& device = devices_[next_++ % devices_.size()];
  return device->make_device_block(system, options, activity, lanes(system, options));
}

template class SeveralDevices<float>;
template class SeveralDevices<double>;

}  // namespace costate::cuda

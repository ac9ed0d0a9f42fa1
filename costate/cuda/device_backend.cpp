#include "costate/cuda/device_backend.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "costate/core/error.h"
#include "costate/system/program/recorded_step.h"

namespace costate::cuda {
namespace {

std::string type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return text ? text.get() : type.name();
}

}  // namespace

unsigned long wanted_parameters(const Signature& signature, const Activity& activity) {
  unsigned long wanted = 0;
  const auto& fields = signature.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f)
    for (std::int64_t i = 0; activity.parameters[f] && i < fields[f].size; ++i)
      wanted |= 1ul << (fields[f].offset + i);
  return wanted;
}

template <class Real>
const KernelMaker<Real>& DeviceBackend<Real>::find(const System<Real>& system) const {
  // Of a Program it does not matter who has recorded it.
  const bool recorded = dynamic_cast<const RecordedStep*>(&system) && !system.capabilities().energy &&
                        !system.capabilities().reversible;
  const std::type_index kind = recorded ? typeid(RecordedStep) : typeid(system);
  const auto found = std::ranges::find_if(table_, [&](const auto& entry) { return entry.first == kind; });
  if (found != table_.end()) return found->second;
  throw Error({"this physics has no kernels for " + device_->name() + ": " + type_name(typeid(system)),
               {},
               "make the rollout with device = \"cpu\"; docs/cuda.md lists what runs on a GPU"});
}

template <class Real>
int DeviceBackend<Real>::lanes(const System<Real>& system, const RolloutOptions& options) const {
  if (find(system).one_world) return 1;
  if (options.worlds >= INT32_MAX)
    throw Error({"a block on " + device_->name() + " has fewer than 2^31 worlds",
                 "worlds = " + std::to_string(options.worlds), "make several rollouts"});
  return int(options.worlds);
}

template <class Real>
std::unique_ptr<Block<Real>> DeviceBackend<Real>::make_block(const System<Real>& system,
                                                             const RolloutOptions& options,
                                                             const Activity& activity) const {
  return make_device_block(system, options, activity, lanes(system, options));
}

template <class Real>
std::unique_ptr<DeviceBlock<Real>> DeviceBackend<Real>::make_device_block(const System<Real>& system,
                                                                          const RolloutOptions& options,
                                                                          const Activity& activity,
                                                                          int worlds) const {
  device_->enter();
  return std::make_unique<DeviceBlock<Real>>(
      system, options, activity, worlds,
      typename DeviceBlock<Real>::Parts{device_, find(system).make(system, activity), block_(),
                                        snapshots_on_host_});
}

template class DeviceBackend<float>;
template class DeviceBackend<double>;

}  // namespace costate::cuda

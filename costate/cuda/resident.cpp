#include "costate/cuda/resident.h"

#include <algorithm>
#include <mutex>

#include "costate/core/error.h"
#include "costate/cuda/device_backend.h"
#include "costate/system/devices.h"

namespace costate::cuda {
namespace {

// The cotangents of states that lie on the device, as a loss that is linear in them.
template <class Real>
class GivenCotangents final : public Objective<Real> {
 public:
  GivenCotangents(const RolloutOptions& options, std::int64_t states, const Real* final_bar,
                  const Real* states_bar)
      : keep_(states_bar ? options.keep : 0),
        n_(states),
        worlds_(options.worlds),
        final_(final_bar),
        states_(states_bar) {}

  void check(std::int64_t, std::int64_t) const override {}
  void value(const typename Objective<Real>::At&, double*) const override {}
  void vjp(const typename Objective<Real>::At&, const Cotangents<Real>&) const override {}
  std::int64_t next(std::int64_t k, std::int64_t steps) const override {
    const std::int64_t kept = keep_ > 0 ? (k + keep_ - 1) / keep_ * keep_ : kNever;
    if (final_ && k <= steps) return std::min(kept, steps);
    return kept <= steps ? kept : kNever;
  }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override {
    if (k >= steps && final_) return steps;
    return keep_ > 0 ? k / keep_ * keep_ : -1;
  }
  bool plain_terms(std::int64_t k, std::int64_t steps, std::vector<PlainTerm<Real>>& terms) const override {
    const auto add = [&](const Real* bar) {
      terms.push_back({PlainTerm<Real>::Kind::linear, 0, n_, 1, bar, n_});
    };
    if (final_ && k == steps) add(final_);
    if (keep_ > 0 && k % keep_ == 0) add(states_ + k / keep_ * worlds_ * n_);
    return true;
  }

 private:
  std::int64_t keep_, n_, worlds_;
  const Real *final_, *states_;
};

}  // namespace

template <class Real>
struct ResidentRollout<Real>::Impl {
  std::shared_ptr<const System<Real>> system;
  RolloutOptions options;
  Activity activity;
  std::shared_ptr<const Backend<Real>> backend;
  std::unique_ptr<DeviceBlock<Real>> block;
  std::mutex one_at_a_time;
};

template <class Real>
ResidentRollout<Real>::ResidentRollout(std::shared_ptr<const System<Real>> system, RolloutOptions options)
    : impl_(new Impl{std::move(system), std::move(options), {}, nullptr, nullptr, {}}) {
  Rollout<Real>(impl_->system, impl_->options);  // an Error for options that make no sense
  impl_->backend = backend_of<Real>(impl_->options.device);
  const auto* const on = dynamic_cast<const DeviceBackend<Real>*>(impl_->backend.get());
  if (on == nullptr)
    throw Error({"arrays that lie on a GPU belong to a rollout on that GPU; this one has device = \"" +
                     impl_->options.device + "\"",
                 {},
                 "make the rollout with device = \"cuda:0\", or copy the arrays to the host"});
  impl_->activity.parameters = impl_->system->signature().match(Role::parameter, impl_->options.active);
  impl_->block = on->make_device_block(*impl_->system, impl_->options, impl_->activity,
                                       on->lanes(*impl_->system, impl_->options));
  if (impl_->block->worlds() != impl_->options.worlds)
    throw Error({"arrays that stay on " + impl_->options.device +
                     " are of one world for this physics, not of " + std::to_string(impl_->options.worlds),
                 {},
                 "make a rollout for each world, or give arrays of the host"});
}
template <class Real>
ResidentRollout<Real>::~ResidentRollout() = default;

template <class Real>
std::int64_t ResidentRollout<Real>::kept() const {
  return impl_->options.keep > 0 ? impl_->options.steps / impl_->options.keep + 1 : 0;
}

template <class Real>
void ResidentRollout<Real>::simulate(const ResidentArguments<Real>& at, Real* final_state, Real* states,
                                     void* stream) {
  const std::lock_guard lock(impl_->one_at_a_time);
  impl_->block->load(at, stream);
  impl_->block->simulate_there(final_state, states, stream);
}

template <class Real>
void ResidentRollout<Real>::pull_back(const ResidentArguments<Real>& at, const Real* final_bar,
                                      const Real* states_bar, const ResidentCotangents<Real>& to,
                                      void* stream) {
  const std::lock_guard lock(impl_->one_at_a_time);
  impl_->block->load(at, stream);
  const GivenCotangents<Real> bars(impl_->options, impl_->system->signature().states(), final_bar,
                                   states_bar);
  impl_->block->pull_back_there(bars, to, stream);
}

template class ResidentRollout<float>;
template class ResidentRollout<double>;

}  // namespace costate::cuda

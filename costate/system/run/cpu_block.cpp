#include "costate/system/run/cpu_block.h"

#include <algorithm>
#include <cmath>

#include "costate/core/interrupt.h"
#include "costate/core/progress.h"
#include "costate/system/backend.h"
#include "costate/system/block_memory.h"
#include "costate/system/room.h"

namespace costate {
namespace {

constexpr std::int64_t kWatchEvery = 128;                   // steps between checks for divergence
constexpr std::int64_t kTapeBytes = std::int64_t{1} << 28;  // tapes of all blocks of a rollout together

}  // namespace

template <class Real>
CpuBlock<Real>::CpuBlock(const System<Real>& system, const RolloutOptions& options, const Activity& activity)
    : system_(system),
      options_(options),
      activity_(activity),
      lanes_(system.lanes()),
      steps_(options.steps),
      knots_((options.steps + options.hold - 1) / options.hold),
      n_(system.state_size()),
      nu_(system.control_size()),
      np_(system.parameter_size()),
      wants_parameters_(std::find(activity.parameters.begin(), activity.parameters.end(), true) !=
                        activity.parameters.end()),
      work_(system.make_workspace()) {
  this->results_.lanes = lanes_;
  this->results_.diagnostics = &work_->diagnostics;
}

template <class Real>
void CpuBlock<Real>::note_memory() {
  std::int64_t& bytes = this->results_.memory_bytes = snapshots_single_.bytes();
  for (const auto* buffer :
       {&u_, &p_, &working_, &tape_states_, &tape_, &snapshots_, &lambda_buffer_, &u_bar_, &p_bar_, &x_dot_,
        &u_dot_, &p_dot_, &working_dot_, &tape_states_dot_, &lambda_dot_buffer_, &u_bar_dot_, &p_bar_dot_}) {
    bytes += buffer->bytes();
  }
}

// --- inputs -----------------------------------------------------------------------------------------------

template <class Real>
void CpuBlock<Real>::load(const Arguments<Real>& arguments, std::int64_t first_world, int world_stride) {
  arguments_ = &arguments;
  world_stride_ = world_stride;
  this->results_.first_world = first_world;
  this->results_.live_lanes = static_cast<int>(std::min<std::int64_t>(lanes_, options_.worlds - first_world));
  work_->diagnostics.clear();
  const Signature& signature = system_.signature();
  const std::int64_t worlds = options_.worlds;

  u_.reserve(knots_ * nu_);
  p_.reserve(np_);
  working_.reserve(2 * n_);
  state_ = {working_.data(), 2, 0};
  gather_lanes<Real>(arguments.x0, signature.states(), first_world, world_stride, worlds, lanes_,
                     working_.data());
  gather_lanes<Real>(arguments.controls, knots_ * signature.controls(), first_world, world_stride, worlds,
                     lanes_, u_.data());
  const auto& fields = signature.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    gather_lanes<Real>(arguments.parameters.values(f), fields[f].size, first_world, world_stride, worlds,
                       lanes_, p_.data() + fields[f].offset * lanes_);
  }
}

// --- forward ----------------------------------------------------------------------------------------------

template <class Real>
typename CpuBlock<Real>::At CpuBlock<Real>::at(std::int64_t k, const Real* x) const {
  At result;
  result.k = k;
  result.steps = steps_;
  result.world = this->results_.first_world;
  result.worlds = options_.worlds;
  result.lanes = lanes_;
  result.in = {x, k < steps_ && nu_ > 0 ? u_.data() + (k / options_.hold) * nu_ : nullptr, p_.data()};
  return result;
}

template <class Real>
Run<Real> CpuBlock<Real>::run(std::int64_t begin, std::int64_t end) const {
  return {
      begin,         end - begin, this->results_.first_world, options_.seed, nu_ > 0 ? u_.data() : nullptr,
      options_.hold, p_.data()};
}

template <class Real>
void CpuBlock<Real>::begin(const Objective<Real>* objective, Keeper<Real>* keeper) {
  objective_ = objective;
  keeper_ = keeper;
  reached_ = -1;
  BlockResults<Real>& results = this->results_;
  results.advances = 0;
  results.loss.assign(lanes_, 0.0);
  results.diverged.assign(lanes_, 0);
  results.energy_drift.reset();
}

template <class Real>
void CpuBlock<Real>::simulate(const Objective<Real>* objective, Keeper<Real>* keeper) {
  begin(objective, keeper);
  masked_if_it_fails([&] { state_ = march(0, steps_, state_, {}); });
}

template <class Real>
void CpuBlock<Real>::forward(const Objective<Real>* objective, Keeper<Real>* keeper) {
  begin(objective, keeper);
  if (options_.checkpoints.kind == Checkpoints::Kind::reversible) {
    return masked_if_it_fails([&] { state_ = march(0, steps_, state_, {}); });
  }
  schedule_.emplace(options_.checkpoints, steps_);
  plan_tape(objective);
  if (options_.checkpoints.single_precision)
    snapshots_single_.reserve(schedule_->slots() * n_);
  else
    snapshots_.reserve(schedule_->slots() * n_);
  if (steps_ == 0) return visit(0, state());
  masked_if_it_fails([&] {
    while (reached_ < steps_) execute(*schedule_->next());  // the first reverse comes when the end is reached
  });
}

// An objective that is known now is the one that backward() will be given.
template <class Real>
void CpuBlock<Real>::plan_tape(const Objective<Real>* objective) {
  const std::int64_t length = schedule_->tape_length(), blocks = (options_.worlds + lanes_ - 1) / lanes_;
  TapeBudget budget;
  budget.keeps_states = !objective || objective->previous(steps_ - 1, steps_) >= 0;
  budget.numbers =
      kTapeBytes / std::int64_t{sizeof(Real)} / std::max<std::int64_t>(1, length * blocks * lanes_);
  const TapePlan plan = system_.tape(activity_, budget);
  tape_is_all_ = plan.instead_of_states;
  tape_n_ = plan.size * lanes_;
  const double bytes = sizeof(Real) * (double(length) * double(tape_n_) +
                                       double(tape_is_all_ ? 0 : length + schedule_->slots()) * double(n_));
  expect_room("the states that a gradient of " + std::to_string(steps_) + " steps needs", bytes,
              "make the rollout with checkpoints = binomial(64), which keeps 64 of them, or segments()");
  if (!tape_is_all_) tape_states_.reserve((length + 1) * n_);
  tape_.reserve(length * tape_n_);
}

template <class Real>
void CpuBlock<Real>::execute(const Action& action) {
  switch (action.kind) {
    case Action::Kind::advance:
      this->results_.advances += action.end - action.begin;
      state_ = march(action.begin, action.end, state_, {});
      return;
    case Action::Kind::store:
      return snapshot(action.slot);
    case Action::Kind::restore:
      return restore(action.slot);
    case Action::Kind::record: {
      if (tape_is_all_) {
        state_ = march(action.begin, action.end, state_, tape());
        return;
      }
      copy(tape_states_.data(), state(), n_);
      march(action.begin, action.end, {tape_states_.data(), action.end - action.begin + 1, 0}, tape());
      return;
    }
    case Action::Kind::reverse:
      return reverse(action.begin, action.end, tape_is_all_ ? nullptr : tape_states_.data(),
                     {tape().base, tape_n_});
  }
}

// Steps from `begin` to `end`, stopping where a new state has to be looked at.
template <class Real>
Ring<Real> CpuBlock<Real>::march(std::int64_t begin, std::int64_t end, Ring<Real> states,
                                 const Tape<Real>& tape) {
  visit(begin, states.base + states.start * n_);
  system_.begin_run(p_.data(), nullptr, activity_, *work_);
  for (std::int64_t k = begin; k < end;) {
    const std::int64_t stop = reached_ < end ? std::min(end, next_visit(std::max(k, reached_) + 1)) : end;
    system_.advance(run(k, stop), states, {tape.at(k - begin), tape.stride}, *work_);
    states.start = states.slot(stop - k);
    k = stop;
    Progress::advance(std::max<std::int64_t>(0, k - std::max<std::int64_t>(0, reached_)));
    stop_if_interrupted();
    visit(k, states.base + states.start * n_);
  }
  system_.end_run(p_.data(), nullptr, activity_, *work_);
  return states;
}

template <class Real>
std::int64_t CpuBlock<Real>::next_visit(std::int64_t k) const {
  std::int64_t stop = (k + kWatchEvery - 1) / kWatchEvery * kWatchEvery;
  if (objective_) stop = std::min(stop, objective_->next(k, steps_));
  if (keeper_) stop = std::min(stop, keeper_->next(k));
  return stop;
}

// What happens when a state is reached for the first time.
template <class Real>
void CpuBlock<Real>::visit(std::int64_t k, const Real* x) {
  if (k <= reached_) return;
  reached_ = k;
  BlockResults<Real>& results = this->results_;
  const bool kept = keeper_ && keeper_->next(k) == k;
  if (k % kWatchEvery == 0 || k == steps_ || kept) watch(x);
  if (objective_ && objective_->next(k, steps_) == k) objective_->value(at(k, x), results.loss.data());
  if (kept) keeper_->see(k, results.first_world, results.live_lanes, results.diverged.data(), x);
  if (system_.capabilities().energy) {
    if (k == 0) measure_energy(x, energy_begin_);
    if (k == steps_) {
      measure_energy(x, energy_end_);
      double drift = 0;
      for (int l = 0; l < results.live_lanes; ++l) {
        const double e0 = energy_begin_[l], e1 = energy_end_[l];
        if (!results.diverged[l] && e0 != 0) drift = std::max(drift, std::abs((e1 - e0) / e0));
      }
      results.energy_drift = drift;
    }
  }
  if (k == steps_) results.final_state = x;
}

template <class Real>
void CpuBlock<Real>::measure_energy(const Real* x, std::vector<Real>& value) {
  value.assign(lanes_, Real(0));
  system_.energy({x, nullptr, p_.data()}, value.data(), *work_);
}

// --- snapshots --------------------------------------------------------------------------------------------

template <class Real>
void CpuBlock<Real>::snapshot(std::int64_t slot) {
  const Real* x = state();
  if (!options_.checkpoints.single_precision) return copy(snapshots_.data() + slot * n_, x, n_);
  float* to = snapshots_single_.data() + slot * n_;
  for (std::int64_t j = 0; j < n_; ++j) to[j] = static_cast<float>(x[j]);
}

template <class Real>
void CpuBlock<Real>::restore(std::int64_t slot) {
  Real* x = state();
  if (!options_.checkpoints.single_precision) return copy(x, snapshots_.data() + slot * n_, n_);
  const float* from = snapshots_single_.data() + slot * n_;
  for (std::int64_t j = 0; j < n_; ++j) x[j] = static_cast<Real>(from[j]);
}

// --- the backend that makes these blocks ------------------------------------------------------------------

namespace {

template <class Real>
class Cpu final : public Backend<Real> {
  int lanes(const System<Real>& system, const RolloutOptions&) const override { return system.lanes(); }
  std::unique_ptr<Block<Real>> make_block(const System<Real>& system, const RolloutOptions& options,
                                          const Activity& activity) const override {
    return std::make_unique<CpuBlock<Real>>(system, options, activity);
  }
};

}  // namespace

template <class Real>
std::shared_ptr<const Backend<Real>> cpu_backend() {
  static const auto cpu = std::make_shared<const Cpu<Real>>();
  return cpu;
}
template std::shared_ptr<const Backend<float>> cpu_backend<float>();
template std::shared_ptr<const Backend<double>> cpu_backend<double>();

template class CpuBlock<float>;
template class CpuBlock<double>;

}  // namespace costate

#include "costate/cuda/device_block.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/core/progress.h"
#include "costate/core/text.h"
#include "costate/system/block_memory.h"

namespace costate::cuda {

template <class Real>
DeviceBlock<Real>::DeviceBlock(const System<Real>& system, const RolloutOptions& options,
                               const Activity& activity, int worlds, Parts parts)
    : system_(system),
      options_(options),
      activity_(activity),
      parts_of_(std::move(parts)),
      device_(*parts_of_.device),
      room_(worlds),
      steps_(options.steps),
      knots_((options.steps + options.hold - 1) / options.hold),
      n_(system.signature().states()),
      nu_(system.signature().controls()),
      np_(system.signature().parameters()),
      worlds_(worlds),
      parts_(1),
      wants_parameters_(std::ranges::find(activity.parameters, true) != activity.parameters.end()),
      staging_(device_),
      x0_(device_),
      u_(device_),
      p_(device_),
      state_(device_),
      scratch_(device_),
      tape_(device_),
      lambda_(device_),
      u_bar_(device_),
      p_bar_(device_),
      target_(device_),
      energy_begin_(device_),
      energy_end_(device_),
      defaults_(device_),
      snapshots_(device_),
      snapshots_there_(device_),
      loss_(device_),
      norms_(device_),
      partials_(device_),
      diverged_(device_) {
  take_worlds(worlds);
  if (steps_ >= INT32_MAX) throw Error("a rollout on " + device_.name() + " has fewer than 2^31 steps");
  this->results_.lanes = worlds;
  this->results_.rows = true;
  this->results_.diagnostics = &diagnostics_;
  if (const std::string note = parts_of_.physics->note(); !note.empty())
    diagnostics_.findings.add({"kernels", 0, note});
}

// What follows is for so many worlds: as many as there is room for, or what is left for the last block.
template <class Real>
void DeviceBlock<Real>::take_worlds(Index count) {
  worlds_ = count;
  parts_ = count == 1 ? kParts : 1;
}

// --- inputs -----------------------------------------------------------------------------------------------

// Rows of this block's worlds to [index][world] on the device. What all worlds share may lie there once.
template <class Real>
void DeviceBlock<Real>::upload(DeviceArray<Real>& to, std::span<const Real> from, Index row,
                               bool keep_shared) {
  const bool shared = Index(from.size()) == row;
  const Index count = shared ? row : row * worlds_;
  const Real* first = from.data() + (shared ? 0 : this->results_.first_world * row);
  if (shared && keep_shared) return to.upload(first, count);
  staging_.upload(first, count);
  to.reserve(row * worlds_);
  parts_of_.block->to_columns(staging_.data(), row, shared, worlds_, to.data());
}

template <class Real>
void DeviceBlock<Real>::load(const Arguments<Real>& arguments, Index first_world) {
  device_.enter();
  arguments_ = &arguments;
  resident_ = nullptr;
  defaults_loaded_ = false;
  this->results_.first_world = first_world;
  take_worlds(std::min(room_, options_.worlds - first_world));
  this->results_.live_lanes = int(worlds_);
  const Signature& signature = system_.signature();
  upload(x0_, arguments.x0, n_, false);
  shared_controls_ = Index(arguments.controls.size()) == knots_ * nu_;
  upload(u_, arguments.controls, knots_ * nu_, true);
  p_.reserve(np_ * worlds_);
  p_host_.clear();
  const auto& fields = signature.fields(Role::parameter);
  bool differ = false;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    differ = differ || arguments.parameters.per_world(f);
    const std::span<const Real> values = arguments.parameters.values(f);
    const bool shared = Index(values.size()) == fields[f].size;
    staging_.upload(values.data() + (shared ? 0 : first_world * fields[f].size),
                    shared ? fields[f].size : fields[f].size * worlds_);
    parts_of_.block->to_columns(staging_.data(), fields[f].size, shared, worlds_,
                                p_.data() + fields[f].offset * worlds_);
  }
  std::vector<Real> same;
  for (std::size_t f = 0; (worlds_ == 1 || !differ) && f < fields.size(); ++f) {
    const Real* const from = arguments.parameters.values(f).data() +
                             (arguments.parameters.per_world(f) ? first_world * fields[f].size : 0);
    same.insert(same.end(), from, from + fields[f].size);
  }
  if (worlds_ == 1) p_host_ = same;
  parts_of_.physics->load(same.empty() ? nullptr : same.data(), p_.data());
  state_.reserve(n_ * worlds_);
  state_.copy(x0_.data(), n_ * worlds_);
}

// --- forward ----------------------------------------------------------------------------------------------

template <class Real>
DeviceRun<Real> DeviceBlock<Real>::run(Index begin, Index end) const {
  return {worlds_,
          begin,
          end - begin,
          this->results_.first_world,
          options_.seed,
          p_.data(),
          u_.data(),
          shared_controls_ ? 1 : worlds_,
          shared_controls_ ? 0 : 1,
          nu_ * (shared_controls_ ? 1 : worlds_),
          options_.hold};
}

template <class Real>
void DeviceBlock<Real>::begin(const Objective<Real>* objective, Keeper<Real>* keeper) {
  device_.enter();
  objective_ = objective;
  keeper_ = keeper;
  reached_ = -1;
  BlockResults<Real>& results = this->results_;
  results.advances = 0;
  results.loss.assign(std::size_t(worlds_), 0.0);
  results.diverged.assign(std::size_t(worlds_), 0);
  results.energy_drift.reset();
  loss_.zero(worlds_ * parts_);
  diverged_.zero(worlds_);
  if (system_.capabilities().energy && !resident_) {
    energy_begin_.reserve(worlds_);
    parts_of_.physics->energy(run(0, 0), state_.data(), energy_begin_.data());
  }
}

template <class Real>
void DeviceBlock<Real>::simulate(const Objective<Real>* objective, Keeper<Real>* keeper) {
  begin(objective, keeper);
  march(0, steps_, nullptr);
  finish_forward();
}

template <class Real>
void DeviceBlock<Real>::forward(const Objective<Real>* objective, Keeper<Real>* keeper) {
  device_.enter();
  require_memory();
  begin(objective, keeper);
  if (options_.checkpoints.kind == Checkpoints::Kind::reversible || steps_ == 0) {
    march(0, steps_, nullptr);
    return finish_forward();
  }
  schedule_.emplace(options_.checkpoints, steps_);
  const Index segment = parts_of_.physics->segment();
  // Within half of the memory that is free: who else is on the device needs some, too.
  extra_ = parts_of_.physics->tape_numbers();
  if (bytes_needed(options_.checkpoints, extra_, parts_of_.snapshots_on_host) >
      (device_.free_bytes() + this->results_.memory_bytes) / 2)
    extra_ = 0;
  tape_.reserve((schedule_->tape_length() + segment - 1) / segment * (n_ + extra_) * worlds_);
  reserve_snapshots();
  while (reached_ < steps_) execute(*schedule_->next());  // the first reverse comes when the end is reached
  finish_forward();
}

template <class Real>
void DeviceBlock<Real>::execute(const Action& action) {
  switch (action.kind) {
    case Action::Kind::advance:
      this->results_.advances += action.end - action.begin;
      return march(action.begin, action.end, nullptr);
    case Action::Kind::store:
      return snapshot(action.slot);
    case Action::Kind::restore:
      return restore(action.slot);
    case Action::Kind::record:
      return march(action.begin, action.end, tape_.data());
    case Action::Kind::reverse:
      return reverse(action.begin, action.end, tape_.data());
  }
}

// Steps from `begin` to `end`, stopping where a new state has to be looked at.
template <class Real>
void DeviceBlock<Real>::march(Index begin, Index end, Real* tape) {
  visit(begin);
  for (Index k = begin; k < end;) {
    const Index stop = reached_ < end ? std::min(end, next_visit(std::max(k, reached_) + 1)) : end;
    Real* x = state_.data();
    if (tape)
      parts_of_.physics->record(run(k, stop), x, x, {tape, begin, extra_}, diverged_.data());
    else
      parts_of_.physics->advance(run(k, stop), x, x, diverged_.data());
    k = stop;
    Progress::advance(std::max<Index>(0, k - std::max<Index>(0, reached_)));
    stop_if_interrupted();
    visit(k);
  }
}

template <class Real>
std::int64_t DeviceBlock<Real>::next_visit(Index k) const {
  Index stop = steps_;
  if (objective_) stop = std::min(stop, objective_->next(k, steps_));
  if (keeper_) stop = std::min(stop, keeper_->next(k));
  if (resident_states_) stop = std::min(stop, (k + options_.keep - 1) / options_.keep * options_.keep);
  return stop;
}

// What happens when a state is reached for the first time.
template <class Real>
void DeviceBlock<Real>::visit(Index k) {
  if (k <= reached_) return;
  reached_ = k;
  if (objective_ && objective_->next(k, steps_) == k) add_values(k);
  if (keeper_ && keeper_->next(k) == k) keep(k);
  keep_there(k);
}

template <class Real>
void DeviceBlock<Real>::keep(Index k) {
  watch();
  std::vector<Real> x = state_.download(n_ * worlds_);
  if (worlds_ < room_) {  // lanes lie as far apart as in every other block
    std::vector<Real> apart(std::size_t(n_ * room_));
    for (Index i = 0; i < n_; ++i) std::copy_n(x.begin() + i * worlds_, worlds_, apart.begin() + i * room_);
    x = std::move(apart);
  }
  const BlockResults<Real>& results = this->results_;
  keeper_->see(k, results.first_world, results.live_lanes, results.diverged.data(), x.data());
}

template <class Real>
void DeviceBlock<Real>::finish_forward() {
  if (waits()) watch();
  if (resident_) return;
  BlockResults<Real>& results = this->results_;
  if (objective_) {
    const std::vector<double> loss = loss_.download(worlds_ * parts_);
    for (Index w = 0; w < worlds_; ++w)
      results.loss[std::size_t(w)] +=
          std::accumulate(loss.begin() + w * parts_, loss.begin() + (w + 1) * parts_, 0.0);
  }
  if (!system_.capabilities().energy) return;
  energy_end_.reserve(worlds_);
  partials_.reserve(kPartials);
  parts_of_.physics->energy(run(0, 0), state_.data(), energy_end_.data());
  parts_of_.block->drift(energy_begin_.data(), energy_end_.data(), worlds_, diverged_.data(),
                         partials_.data());
  results.energy_drift = std::ranges::max(partials_.download(kPartials));
}

// --- states that are not finite ---------------------------------------------------------------------------

template <class Real>
void DeviceBlock<Real>::watch() {
  device_.finish("simulate on " + device_.name());
  diverged_.download(this->results_.diverged.data(), worlds_);
  const auto& diverged = this->results_.diverged;
  const bool any = std::ranges::find(diverged, 1) != diverged.end();
  if (any && options_.on_divergence == OnDivergence::stop) locate_divergence();
}

// Replays from the start, one step at a time, until the first number goes bad. Only a run that fails pays for
// this.
template <class Real>
void DeviceBlock<Real>::locate_divergence() {
  state_.copy(x0_.data(), n_ * worlds_);
  std::vector<Real> before, x = state_.download(n_ * worlds_);
  for (Index k = 0; k <= steps_; ++k) {
    const auto bad = std::ranges::find_if(x, [](Real value) { return !finite_bits(value); });
    if (bad != x.end()) report_divergence(k, bad - x.begin(), before, *bad);
    if (k == steps_) break;
    parts_of_.physics->advance(run(k, k + 1), state_.data(), state_.data(), diverged_.data());
    before = std::move(x);
    x = state_.download(n_ * worlds_);
  }
  throw Error(
      {"the state went bad, but not when replayed: this physics does not repeat its own steps", {}, {}},
      Error::Kind::numerics);
}

template <class Real>
void DeviceBlock<Real>::report_divergence(Index k, Index number, const std::vector<Real>& before,
                                          Real value) {
  const Index lane = number % worlds_,
              world = std::min(this->results_.first_world + lane, options_.worlds - 1);
  const std::string name = system_.signature().describe(Role::state, number / worlds_),
                    is = name + " is " + (std::isnan(value) ? "nan" : "inf"),
                    step = "step " + std::to_string(k) + " of " + std::to_string(steps_) + ", world " +
                           std::to_string(world);
  if (k == 0) throw Error({"the initial state is not finite: " + is, step, {}});
  ask_the_cpu(k - 1, before);
  // The physics may know why: from the state before, which is finite.
  const int lanes = system_.lanes();
  const auto in_all_lanes = [&](const std::vector<Real>& columns, Index count) {
    std::vector<Real> block(std::size_t(count * lanes));
    for (Index i = 0; i < count; ++i)
      std::fill_n(block.begin() + i * lanes, lanes, columns[std::size_t(i * worlds_ + lane)]);
    return block;
  };
  const std::vector<Real> x = in_all_lanes(before, n_), p = in_all_lanes(parameters_on_host(), np_);
  const auto fault = system_.fault({x.data(), nullptr, p.data()}, 0);
  if (!fault.what.empty()) throw Error({fault.what, step, fault.advice});
  throw Error(
      {"the state is not finite: " + is, step,
       "reduce dt, check the inputs of that world, or set on_divergence = mask_world to go on without "
       "it"},
      Error::Kind::numerics);
}

// A physics of one large world has words of its own for a step that it cannot take.
template <class Real>
void DeviceBlock<Real>::ask_the_cpu(Index k, const std::vector<Real>& before) {
  if (worlds_ != 1 || system_.lanes() != 1) return;
  constexpr std::size_t kBehind = 16;  // numbers that a pack may read past the end
  std::vector<Real> x = before, p = parameters_on_host(), y(before.size() + kBehind),
                    u(static_cast<std::size_t>(nu_));
  if (nu_ > 0) device_.download(u.data(), u_.data() + k / options_.hold * nu_, nu_ * Index(sizeof(Real)));
  for (std::vector<Real>* numbers : {&x, &p, &u}) numbers->resize(numbers->size() + kBehind);
  const auto work = system_.make_workspace();
  system_.step({k, this->results_.first_world, options_.seed}, {x.data(), u.data(), p.data()}, y.data(),
               nullptr, *work);
}

template class DeviceBlock<float>;
template class DeviceBlock<double>;

}  // namespace costate::cuda

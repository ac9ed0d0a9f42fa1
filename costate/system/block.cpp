#include "costate/system/block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/core/parallel.h"
#include "costate/system/block_memory.h"
#include "costate/system/findings.h"

namespace costate {
namespace {

constexpr std::int64_t kWatchEvery = 128;  // steps between checks for divergence
constexpr std::int64_t kMostSamples = 32;  // of the adjoint's norm
constexpr std::int64_t kGrain = 1 << 15;   // numbers per chunk of a large array
constexpr std::int64_t kTapeBytes = std::int64_t{1}
                                    << 28;  // of optional tapes, all blocks of a rollout together
constexpr std::int64_t kLongRun = 32;       // steps of one reverse() that records its cotangents

// By bits: comparing a NaN would raise a floating-point exception.
template <class Real>
bool finite(Real value) {
  using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
  constexpr Bits kExponent = sizeof(Real) == 8 ? Bits(0x7ff0000000000000ull) : Bits(0x7f800000u);
  return (std::bit_cast<Bits>(value) & kExponent) != kExponent;
}

}  // namespace

template <class Real>
Block<Real>::Block(const System<Real>& system, const RolloutOptions& options, const Activity& activity)
    : system_(system),
      options_(options),
      activity_(activity),
      lanes_(system.lanes()),
      steps_(options.steps),
      knots_((options.steps + options.hold - 1) / options.hold),
      n_(system.state_size()),
      nu_(system.control_size()),
      np_(system.parameter_size()),
      tape_n_(system.tape_size() * system.lanes()),
      optional_tape_(dynamic_cast<const OptionalTape*>(&system)),
      work_(system.make_workspace()) {}

template <class Real>
std::int64_t Block<Real>::sample_spacing(std::int64_t steps) {
  return std::max<std::int64_t>(1, (steps + kMostSamples - 1) / kMostSamples);
}
template <class Real>
std::int64_t Block<Real>::samples(std::int64_t steps) {
  const std::int64_t spacing = sample_spacing(steps);
  return (steps + spacing - 1) / spacing + 1;
}

template <class Real>
std::int64_t Block<Real>::memory_bytes() const {
  std::int64_t bytes = snapshots_single_.bytes();
  for (const auto* buffer :
       {&u_, &p_, &working_, &tape_states_, &tape_, &snapshots_, &lambda_buffer_, &u_bar_, &p_bar_, &x_dot_,
        &u_dot_, &p_dot_, &working_dot_, &tape_states_dot_, &lambda_dot_buffer_, &u_bar_dot_, &p_bar_dot_}) {
    bytes += buffer->bytes();
  }
  return bytes;
}

// --- gathering ----------------------------------------------------------------------------------------------------------

namespace {

// Rows of `row` numbers per world (or one shared row) into [index][lane].
template <class Real>
void gather(std::span<const Real> from, std::int64_t row, std::int64_t world, int stride, std::int64_t worlds,
            int lanes, Real* to) {
  const bool shared = static_cast<std::int64_t>(from.size()) == row;
  if (lanes == 1) return copy(to, from.data() + (shared ? 0 : world * row), row);
  if (shared) {
    for (const Real number : from) to = std::fill_n(to, lanes, number);
    return;
  }
  for (int l = 0; l < lanes; ++l) {
    const std::int64_t w = std::min(world + l * stride, worlds - 1);
    const Real* source = from.data() + w * row;
    for (std::int64_t i = 0; i < row; ++i) to[i * lanes + l] = source[i];
  }
}

}  // namespace

template <class Real>
const Findings* Block<Real>::findings() const {
  const auto* work = dynamic_cast<const WorkspaceWithFindings*>(work_.get());
  return work ? &work->findings : nullptr;
}

template <class Real>
void Block<Real>::load(const Arguments<Real>& arguments, std::int64_t first_world, int world_stride) {
  arguments_ = &arguments;
  first_world_ = first_world;
  world_stride_ = world_stride;
  live_lanes_ = static_cast<int>(std::min<std::int64_t>(lanes_, options_.worlds - first_world));
  work_->diagnostics = {};
  if (auto* work = dynamic_cast<WorkspaceWithFindings*>(work_.get())) work->findings.clear();
  const Signature& signature = system_.signature();
  const std::int64_t worlds = options_.worlds;

  u_.reserve(knots_ * nu_);
  p_.reserve(np_);
  working_.reserve(2 * n_);
  state_ = {working_.data(), 2, 0};
  gather<Real>(arguments.x0, signature.states(), first_world, world_stride, worlds, lanes_, working_.data());
  gather<Real>(arguments.controls, knots_ * signature.controls(), first_world, world_stride, worlds, lanes_,
               u_.data());
  const auto& fields = signature.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    gather<Real>(arguments.parameters.values(f), fields[f].size, first_world, world_stride, worlds, lanes_,
                 p_.data() + fields[f].offset * lanes_);
  }
}

template <class Real>
void Block<Real>::zero_tangent() {
  x_dot_.reserve(n_);
  u_dot_.reserve(knots_ * nu_);
  p_dot_.reserve(np_);
  fill_zero(x_dot_.data(), n_);
  fill_zero(u_dot_.data(), knots_ * nu_);
  fill_zero(p_dot_.data(), np_);
}

template <class Real>
void Block<Real>::load_tangent(const Arguments<Real>& direction) {
  zero_tangent();
  const Signature& signature = system_.signature();
  gather<Real>(direction.x0, signature.states(), first_world_, world_stride_, options_.worlds, lanes_,
               x_dot_.data());
  gather<Real>(direction.controls, knots_ * signature.controls(), first_world_, world_stride_,
               options_.worlds, lanes_, u_dot_.data());
  const auto& fields = signature.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    gather<Real>(direction.parameters.values(f), fields[f].size, first_world_, world_stride_, options_.worlds,
                 lanes_, p_dot_.data() + fields[f].offset * lanes_);
  }
}

// --- forward ----------------------------------------------------------------------------------------------------------------

template <class Real>
typename Block<Real>::At Block<Real>::at(std::int64_t k, const Real* x) const {
  At result;
  result.k = k;
  result.steps = steps_;
  result.world = first_world_;
  result.worlds = options_.worlds;
  result.lanes = lanes_;
  result.in = {x, k < steps_ && nu_ > 0 ? u_.data() + (k / options_.hold) * nu_ : nullptr, p_.data()};
  return result;
}

template <class Real>
Run<Real> Block<Real>::run(std::int64_t begin, std::int64_t end) const {
  return {begin,         end - begin, first_world_, options_.seed, nu_ > 0 ? u_.data() : nullptr,
          options_.hold, p_.data()};
}

template <class Real>
void Block<Real>::begin(const Objective<Real>* objective, Keeper<Real>* keeper) {
  objective_ = objective;
  keeper_ = keeper;
  reached_ = -1;
  advances_ = 0;
  loss_.assign(static_cast<std::size_t>(lanes_), 0.0);
  diverged_.assign(static_cast<std::size_t>(lanes_), 0);
  energy_drift_.reset();
}

template <class Real>
void Block<Real>::simulate(const Objective<Real>* objective, Keeper<Real>* keeper) {
  begin(objective, keeper);
  state_ = march(0, steps_, state_, nullptr);
}

template <class Real>
void Block<Real>::forward(const Objective<Real>* objective, Keeper<Real>* keeper) {
  begin(objective, keeper);
  if (options_.checkpoints.kind == Checkpoints::Kind::reversible) {
    state_ = march(0, steps_, state_, nullptr);
    return;
  }
  schedule_.emplace(options_.checkpoints, steps_);
  // Only with the objective that backward() will be given.
  const TapeUse use = system_.tape_use(activity_);
  from_tape_ = use == TapeUse::instead_of_state && objective && objective->previous(steps_ - 1, steps_) < 0;
  tape_n_ = use == TapeUse::beside_state || from_tape_ ? system_.tape_size() * lanes_ : 0;
  if (optional_tape_) {
    const std::int64_t numbers = optional_tape_->optional_tape_size() * lanes_,
                       blocks = (options_.worlds + lanes_ - 1) / lanes_;
    const double bytes = double(numbers) * double(schedule_->tape_length()) * double(blocks) * sizeof(Real);
    tape_n_ = bytes <= double(kTapeBytes) ? numbers : 0;
  }
  if (!from_tape_) tape_states_.reserve((schedule_->tape_length() + 1) * n_);
  tape_.reserve(schedule_->tape_length() * tape_n_);
  if (options_.checkpoints.single_precision)
    snapshots_single_.reserve(schedule_->slots() * n_);
  else
    snapshots_.reserve(schedule_->slots() * n_);
  if (steps_ == 0) return visit(0, state_.base + state_.start * n_);
  while (reached_ < steps_) execute(*schedule_->next());  // the first reverse comes when the end is reached
}

template <class Real>
void Block<Real>::execute(const Action& action) {
  switch (action.kind) {
    case Action::Kind::advance:
      advances_ += action.end - action.begin;
      state_ = march(action.begin, action.end, state_, nullptr);
      return;
    case Action::Kind::store:
      return snapshot(action.slot);
    case Action::Kind::restore:
      return restore(action.slot);
    case Action::Kind::record: {
      if (from_tape_) {
        state_ = march(action.begin, action.end, state_, tape());
        return;
      }
      copy(tape_states_.data(), state_.base + state_.start * n_, n_);
      march(action.begin, action.end, {tape_states_.data(), action.end - action.begin + 1, 0}, tape());
      return;
    }
    case Action::Kind::reverse:
      return reverse(action.begin, action.end, from_tape_ ? nullptr : tape_states_.data(), tape());
  }
}

// Steps from `begin` to `end`, stopping where a new state has to be looked at.
template <class Real>
Ring<Real> Block<Real>::march(std::int64_t begin, std::int64_t end, Ring<Real> states, Real* tape) {
  visit(begin, states.base + states.start * n_);
  for (std::int64_t k = begin; k < end;) {
    const std::int64_t stop = reached_ < end ? std::min(end, next_visit(std::max(k, reached_) + 1)) : end;
    system_.advance(run(k, stop), states, tape ? tape + (k - begin) * tape_n_ : nullptr, *work_);
    states.start = (states.start + (stop - k)) % states.slots;
    k = stop;
    stop_if_interrupted();
    visit(k, states.base + states.start * n_);
  }
  return states;
}

template <class Real>
std::int64_t Block<Real>::next_visit(std::int64_t k) const {
  std::int64_t stop = (k + kWatchEvery - 1) / kWatchEvery * kWatchEvery;
  if (objective_) stop = std::min(stop, objective_->next(k, steps_));
  if (keeper_) stop = std::min(stop, keeper_->next(k));
  return stop;
}

// What happens when a state is reached for the first time.
template <class Real>
void Block<Real>::visit(std::int64_t k, const Real* x) {
  if (k <= reached_) return;
  reached_ = k;
  const bool kept = keeper_ && keeper_->next(k) == k;
  if (k % kWatchEvery == 0 || k == steps_ || kept) watch(x);
  if (objective_ && objective_->next(k, steps_) == k) objective_->value(at(k, x), loss_.data());
  if (kept) keeper_->see(k, first_world_, live_lanes_, diverged_.data(), x);
  if (system_.capabilities().energy) {
    if (k == 0) measure_energy(x, energy_begin_);
    if (k == steps_) {
      measure_energy(x, energy_end_);
      double drift = 0;
      for (int l = 0; l < live_lanes_; ++l) {
        const double e0 = energy_begin_[static_cast<std::size_t>(l)],
                     e1 = energy_end_[static_cast<std::size_t>(l)];
        if (!diverged_[static_cast<std::size_t>(l)] && e0 != 0)
          drift = std::max(drift, std::abs((e1 - e0) / e0));
      }
      energy_drift_ = drift;
    }
  }
  if (k == steps_) final_ = x;
}

template <class Real>
void Block<Real>::measure_energy(const Real* x, std::vector<Real>& value) {
  value.assign(static_cast<std::size_t>(lanes_), Real(0));
  system_.energy({x, nullptr, p_.data()}, value.data(), *work_);
}

// --- divergence -------------------------------------------------------------------------------------------------------------

template <class Real>
void Block<Real>::watch(const Real* x) {
  const std::int64_t bad =
      parallel_sum<std::int64_t>(n_, kGrain, 0, [&](std::int64_t begin, std::int64_t end) {
        std::int64_t count = 0;
        for (std::int64_t j = begin; j < end; ++j) count += !finite(x[j]);
        return count;
      });
  if (bad == 0) return;
  if (options_.on_divergence == OnDivergence::stop) locate_divergence();
  for (std::int64_t j = 0; j < n_; ++j) {
    if (!finite(x[j])) diverged_[static_cast<std::size_t>(j % lanes_)] = 1;
  }
}

// Replays from the start, one step at a time, until the first number goes bad. Only a run that fails pays for this.
template <class Real>
void Block<Real>::locate_divergence() {
  load(*arguments_, first_world_, world_stride_);
  Ring<Real> states = state_;
  for (std::int64_t k = 0; k <= steps_; ++k) {
    const Real* x = states.base + states.start * n_;
    for (std::int64_t j = 0; j < n_; ++j) {
      if (finite(x[j])) continue;
      const std::int64_t world = std::min(first_world_ + (j % lanes_) * world_stride_, options_.worlds - 1);
      const std::string name = system_.signature().describe(Role::state, j / lanes_);
      const std::string step =
          "step " + std::to_string(k) + " of " + std::to_string(steps_) + ", world " + std::to_string(world);
      if (k == 0)
        throw Error({"the initial state is not finite: " + name + " is " + (std::isnan(x[j]) ? "nan" : "inf"),
                     step,
                     {}});
      // The physics may know why: from the state before, which is finite.
      const Real* before = states.base + ((states.start + 1) % 2) * n_;
      const auto fault = system_.fault(at(k - 1, before).in, static_cast<int>(j % lanes_));
      if (!fault.what.empty()) throw Error({fault.what, step, fault.advice});
      throw Error({"the state is not finite: " + name + " is " + (std::isnan(x[j]) ? "nan" : "inf"), step,
                   "reduce dt, check the inputs of that world, or set on_divergence = mask_world to go on "
                   "without it"},
                  Error::Kind::numerics);
    }
    if (k == steps_) break;
    system_.advance(run(k, k + 1), states, nullptr, *work_);
    states.start = (states.start + 1) % 2;
  }
  throw Error(
      {"the state went bad, but not when replayed: this physics does not repeat its own steps", {}, {}},
      Error::Kind::numerics);
}

// --- snapshots --------------------------------------------------------------------------------------------------------------

template <class Real>
void Block<Real>::snapshot(std::int64_t slot) {
  const Real* x = state_.base + state_.start * n_;
  if (!options_.checkpoints.single_precision) return copy(snapshots_.data() + slot * n_, x, n_);
  float* to = snapshots_single_.data() + slot * n_;
  for (std::int64_t j = 0; j < n_; ++j) to[j] = static_cast<float>(x[j]);
}

template <class Real>
void Block<Real>::restore(std::int64_t slot) {
  Real* x = state_.base + state_.start * n_;
  if (!options_.checkpoints.single_precision) return copy(x, snapshots_.data() + slot * n_, n_);
  const float* from = snapshots_single_.data() + slot * n_;
  for (std::int64_t j = 0; j < n_; ++j) x[j] = static_cast<Real>(from[j]);
}

// --- backward ---------------------------------------------------------------------------------------------------------------

template <class Real>
void Block<Real>::begin_reverse(const Objective<Real>& objective, std::int64_t slots) {
  objective_ = &objective;
  lambda_buffer_.reserve(slots * n_);
  u_bar_.reserve(knots_ * nu_);
  p_bar_.reserve(np_);
  lambda_ = {lambda_buffer_.data(), slots, 0};
  fill_zero(lambda_.base, n_);
  fill_zero(u_bar_.data(), knots_ * nu_);
  fill_zero(p_bar_.data(), np_);
  norm2_.assign(static_cast<std::size_t>(samples(steps_)), 0.0);
  inject(steps_, final_);
}

template <class Real>
void Block<Real>::backward(const Objective<Real>& objective) {
  begin_reverse(objective, optional_tape_ ? kLongRun + 1 : 2);
  if (steps_ == 0) return;
  if (options_.checkpoints.kind == Checkpoints::Kind::reversible) return reverse_by_inverse_steps();
  while (const auto action = schedule_->next()) execute(*action);
}

// The cotangent at step k is complete but for the objective's own term there.
template <class Real>
void Block<Real>::inject(std::int64_t k, const Real* x) {
  Real* lambda = lambda_.base + lambda_.start * n_;
  const std::int64_t window = options_.checkpoints.window;
  if (window > 0 && k > 0 && k < steps_ && (steps_ - k) % window == 0) fill_zero(lambda, n_);
  if (objective_->previous(k, steps_) == k) {
    const bool controls = k < steps_ && nu_ > 0;
    objective_->vjp(at(k, x),
                    {lambda, controls ? u_bar_.data() + (k / options_.hold) * nu_ : nullptr, p_bar_.data()});
  }
  sample(k, lambda);
}

template <class Real>
void Block<Real>::sample(std::int64_t k, const Real* lambda) {
  if (k % sample_spacing(steps_) != 0 && k != steps_) return;
  const double norm2 = adjoint_norm2(lambda);
  norm2_[static_cast<std::size_t>(k == steps_ ? samples(steps_) - 1 : k / sample_spacing(steps_))] = norm2;
  if (!finite(norm2)) {
    throw Error({"the gradient is not finite although the states are",
                 "step " + std::to_string(k) + " of " + std::to_string(steps_),
                 "the adjoint has overflowed: shorten the rollout, or use truncated(h); if it has not grown "
                 "before (see the report of a "
                 "shorter rollout), the physics has a wrong derivative here"},
                Error::Kind::numerics);
  }
}

template <class Real>
double Block<Real>::adjoint_norm2(const Real* lambda) {
  if (lanes_ == 1) {
    if (diverged_[0]) return 0;  // masked, like a lane below
    return parallel_sum(n_, kGrain, 0.0, [&](std::int64_t begin, std::int64_t end) {
      double sum = 0;
      for (std::int64_t j = begin; j < end; ++j) sum += double(lambda[j]) * double(lambda[j]);
      return sum;
    });
  }
  // Lane by lane in columns, which the compiler turns into packs.
  lane_sums_.assign(static_cast<std::size_t>(lanes_), 0.0);
  double* sums = lane_sums_.data();
  for (std::int64_t j = 0; j < n_; j += lanes_) {
    for (int l = 0; l < lanes_; ++l) sums[l] += double(lambda[j + l]) * double(lambda[j + l]);
  }
  double sum = 0;
  for (int l = 0; l < live_lanes_; ++l) {
    if (!diverged_[static_cast<std::size_t>(l)]) sum += sums[l];
  }
  return sum;
}

// Nearest step <= k at which the backward pass has something to do.
template <class Real>
std::int64_t Block<Real>::previous_stop(std::int64_t k) const {
  const std::int64_t spacing = sample_spacing(steps_), window = options_.checkpoints.window;
  std::int64_t stop = objective_->previous(k, steps_);
  stop = std::max(stop, optional_tape_ ? k + 1 - kLongRun : k / spacing * spacing);
  if (window > 0) stop = std::max(stop, steps_ - (steps_ - k + window - 1) / window * window);
  return stop;
}

template <class Real>
void Block<Real>::reverse(std::int64_t begin, std::int64_t end, const Real* states, const Real* tape) {
  for (std::int64_t k = end; k > begin;) {
    const std::int64_t stop = std::max(begin, previous_stop(k - 1));
    system_.reverse(run(stop, k), states ? states + (stop - begin) * n_ : nullptr,
                    tape ? tape + (stop - begin) * tape_n_ : nullptr, lambda_,
                    nu_ > 0 && activity_.controls ? u_bar_.data() : nullptr, p_bar_.data(), activity_,
                    *work_);
    // What a long run has left on its way.
    for (std::int64_t m = k - 1; optional_tape_ && m > stop; --m)
      sample(m, lambda_.base + (lambda_.start + (k - m)) % lambda_.slots * n_);
    lambda_.start = (lambda_.start + (k - stop)) % lambda_.slots;
    k = stop;
    stop_if_interrupted();
    inject(k, states ? states + (k - begin) * n_ : nullptr);
  }
}

template <class Real>
void Block<Real>::reverse_by_inverse_steps() {
  for (std::int64_t k = steps_; k > 0; --k) {
    const Real* y = state_.base + state_.start * n_;
    state_.start = (state_.start + 1) % 2;
    Real* x = state_.base + state_.start * n_;
    system_.step_back(run(k - 1, k).context(k - 1), at(k - 1, nullptr).in, y, x, *work_);
    reverse(k - 1, k, x, nullptr);
  }
}

template class Block<float>;
template class Block<double>;

}  // namespace costate

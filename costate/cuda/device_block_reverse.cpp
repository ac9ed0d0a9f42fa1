// Cotangents of a block on a device, from the last step to the first:
//
//   lambda_T = l_T,x;  lambda_k = l_k,x + step_x' lambda_{k+1};  u_bar_k, p_bar on the way (rollout.h)
//
// The kernels go from one term of the objective to the next; inject() adds the term. What all worlds share is
// added up on the device, in an order that does not depend on its threads.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/core/progress.h"
#include "costate/cuda/device_block.h"
#include "costate/system/block_memory.h"

namespace costate::cuda {

template <class Real>
void DeviceBlock<Real>::begin_reverse(const Objective<Real>& objective) {
  device_.enter();
  objective_ = &objective;
  lambda_.zero(n_ * worlds_);
  u_bar_.zero(knots_ * nu_ * worlds_);
  p_bar_.zero(np_ * worlds_);
  norms_.zero(adjoint_samples(steps_) * worlds_ * parts_);
  note_memory();
  if (objective_->previous(steps_, steps_) == steps_) add_cotangents(steps_, state_.data());
  sample(steps_);
}

template <class Real>
void DeviceBlock<Real>::backward(const Objective<Real>& objective) {
  begin_reverse(objective);
  reverse_all();
  collect_norms();
  collect_cotangents();
}

template <class Real>
void DeviceBlock<Real>::reverse_all() {
  if (steps_ > 0 && options_.checkpoints.kind == Checkpoints::Kind::reversible) {
    reverse_by_inverse_steps();
  } else if (steps_ > 0) {
    while (const auto action = schedule_->next()) execute(*action);
  }
}

// The cotangent at step k is complete except for the objective's own term there. The state x_k follows from
// the nearest one on the tape.
template <class Real>
void DeviceBlock<Real>::inject(Index k, Index begin, Real* tape) {
  const Index window = options_.checkpoints.window;
  if (window > 0 && k > 0 && k < steps_ && (steps_ - k) % window == 0) lambda_.zero(n_ * worlds_);
  if (objective_->previous(k, steps_) == k) {
    std::vector<PlainTerm<Real>> terms;
    const Real* x = nullptr;
    if (!plain(k, terms) || needs_state(terms)) {
      const Index segment = parts_of_.physics->segment(), past = (k - begin) % segment;
      x = tape + (k - begin) / segment * (n_ + extra_) * worlds_;
      if (past > 0) {
        scratch_.reserve(n_ * worlds_);
        parts_of_.physics->advance(run(k - past, k), x, scratch_.data(), diverged_.data());
        x = scratch_.data();
      }
    }
    add_cotangents(k, x);
  }
  sample(k);
}

// The norm of the cotangent, if k is one of the steps where it is taken.
template <class Real>
void DeviceBlock<Real>::sample(Index k) {
  const Index spacing = adjoint_sample_spacing(steps_);
  if (k % spacing != 0 && k != steps_) return;
  const Index place = k == steps_ ? adjoint_samples(steps_) - 1 : k / spacing;
  parts_of_.block->norms(lambda_.data(), n_, worlds_, norms_of(place));
}

// Nearest step <= k at which something is added to the cotangent, or taken from it.
template <class Real>
std::int64_t DeviceBlock<Real>::previous_term(Index k) const {
  const Index term = objective_->previous(k, steps_), window = options_.checkpoints.window;
  if (window == 0) return term;
  return std::max(term, steps_ - (steps_ - k + window - 1) / window * window);
}

template <class Real>
void DeviceBlock<Real>::reverse(Index begin, Index end, Real* tape) {
  const Index spacing = adjoint_sample_spacing(steps_);
  const bool samples = parts_of_.physics->samples_norms() && parts_ == 1;
  Real* const u_bar = nu_ > 0 && activity_.controls ? u_bar_.data() : nullptr;
  Real* const p_bar = wants_parameters_ ? p_bar_.data() : nullptr;
  for (Index k = end; k > begin;) {
    const Index term = std::max(begin, previous_term(k - 1));
    while (k > term) {
      const Index stop = samples ? term : std::max(term, (k - 1) / spacing * spacing);
      parts_of_.physics->reverse(run(stop, k), {tape, begin, extra_},
                                 {lambda_.data(), u_bar, p_bar, norms_.data(), spacing});
      Progress::advance(Progress::kBack * (k - stop));
      k = stop;
      stop_if_interrupted();
      if (k > term) sample(k);
    }
    inject(k, begin, tape);
  }
}

template <class Real>
void DeviceBlock<Real>::reverse_by_inverse_steps() {
  for (Index k = steps_; k > 0; --k) {
    parts_of_.physics->step_back(run(k - 1, k), state_.data());
    reverse(k - 1, k, state_.data());
  }
}

// --- results ----------------------------------------------------------------------------------------------

template <class Real>
void DeviceBlock<Real>::collect_norms() {
  const Index samples = adjoint_samples(steps_), spacing = adjoint_sample_spacing(steps_);
  partials_.reserve(samples * kPartials);
  // A single world's parts are all of that world.
  const char* const diverged = worlds_ == 1 ? nullptr : diverged_.data();
  parts_of_.block->sums_of_norms(norms_.data(), samples, worlds_ * parts_, diverged, partials_.data());
  device_.finish("differentiate on " + device_.name());
  const std::vector<double> partials = partials_.download(samples * kPartials);
  std::vector<double>& norm2 = this->results_.adjoint_norm2;
  norm2.assign(std::size_t(samples), 0.0);
  const bool masked = worlds_ == 1 && this->results_.diverged[0];
  for (Index s = samples - 1; s >= 0 && !masked; --s) {
    const auto first = partials.begin() + s * kPartials;
    norm2[std::size_t(s)] = std::accumulate(first, first + kPartials, 0.0);
    if (finite_bits(norm2[std::size_t(s)])) continue;
    throw Error({"the gradient is not finite although the states are",
                 "step " + std::to_string(std::min(s * spacing, steps_)) + " of " + std::to_string(steps_),
                 "the adjoint has overflowed: shorten the rollout, or use truncated(h); if it has not grown "
                 "before (see the report of a "
                 "shorter rollout), the physics has a wrong derivative here"},
                Error::Kind::numerics);
  }
}

// Each row's sum over the worlds that have not diverged.
template <class Real>
std::vector<double> DeviceBlock<Real>::sums(const Real* columns, Index rows) {
  if (worlds_ == 1) {
    std::vector<Real> only(static_cast<std::size_t>(rows));
    device_.download(only.data(), columns, rows * Index(sizeof(Real)));
    if (this->results_.diverged[0]) only.assign(only.size(), Real(0));
    return {only.begin(), only.end()};
  }
  partials_.reserve(rows * kPartials);
  parts_of_.block->sums(columns, rows, worlds_, diverged_.data(), partials_.data());
  const std::vector<double> partials = partials_.download(rows * kPartials);
  std::vector<double> result(static_cast<std::size_t>(rows));
  for (Index r = 0; r < rows; ++r)
    result[std::size_t(r)] =
        std::accumulate(partials.begin() + r * kPartials, partials.begin() + (r + 1) * kPartials, 0.0);
  return result;
}

template <class Real>
std::vector<Real> DeviceBlock<Real>::rows(const Real* columns, Index row) {
  staging_.reserve(row * worlds_);
  parts_of_.block->to_rows(columns, row, worlds_, staging_.data());
  return staging_.download(row * worlds_);
}

// Rows of worlds for what each world has of its own, sums for what all share.
template <class Real>
void DeviceBlock<Real>::collect_cotangents() {
  BlockResults<Real>& results = this->results_;
  const bool several = options_.worlds > 1;
  const auto deliver = [&](const Real* columns, Index row, bool shared, std::vector<Real>& to,
                           std::vector<double>& sum, const Real*& found, const double*& found_sum) {
    if (shared)
      sum = sums(columns, row), found_sum = sum.data();
    else
      to = rows(columns, row), found = to.data();
  };
  results.x0_bar_sum = results.u_bar_sum = results.p_bar_sum = nullptr;
  deliver(lambda_.data(), n_, several && Index(arguments_->x0.size()) == n_, x0_rows_, x0_sum_,
          results.x0_bar, results.x0_bar_sum);
  if (nu_ > 0)
    deliver(u_bar_.data(), knots_ * nu_, several && shared_controls_, u_rows_, u_sum_, results.u_bar,
            results.u_bar_sum);
  p_sum_.assign(std::size_t(np_), 0.0);
  p_rows_.assign(std::size_t(np_ * room_), Real(0));
  const auto& fields = system_.signature().fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (!activity_.parameters[f]) continue;
    const Index offset = fields[f].offset, size = fields[f].size;
    if (several && !arguments_->parameters.per_world(f))
      std::ranges::copy(sums(p_bar_.data() + offset * worlds_, size), p_sum_.begin() + offset);
    else
      std::ranges::copy(rows(p_bar_.data() + offset * worlds_, size), p_rows_.begin() + offset * room_);
  }
  results.p_bar = p_rows_.data();
  results.p_bar_sum = p_sum_.data();
}

template class DeviceBlock<float>;
template class DeviceBlock<double>;

}  // namespace costate::cuda

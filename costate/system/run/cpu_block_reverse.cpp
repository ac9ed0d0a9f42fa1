// Cotangents of a block, from the last step to the first:
//
//   lambda_T = l_T,x;  lambda_k = l_k,x + step_x' lambda_{k+1};  u_bar_k, p_bar on the way (rollout.h)
//
// System::reverse goes from one term of the objective to the next; inject() adds the term.
#include <cmath>
#include <string>

#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/core/parallel.h"
#include "costate/core/progress.h"
#include "costate/system/block_memory.h"
#include "costate/system/run/cpu_block.h"

namespace costate {
namespace {

constexpr std::int64_t kGrain = 1 << 15;  // numbers per chunk of a large array

}  // namespace

template <class Real>
void CpuBlock<Real>::zero_cotangents() {
  lambda_buffer_.reserve(2 * n_);
  u_bar_.reserve(knots_ * nu_);
  p_bar_.reserve(np_);
  lambda_ = {lambda_buffer_.data(), 2, 0};
  fill_zero(lambda_.base, n_);
  fill_zero(u_bar_.data(), knots_ * nu_);
  fill_zero(p_bar_.data(), np_);
  this->results_.adjoint_norm2.assign(adjoint_samples(steps_), 0.0);
  note_memory();
}

template <class Real>
void CpuBlock<Real>::begin_reverse(const Objective<Real>& objective) {
  objective_ = &objective;
  zero_cotangents();
  inject(steps_, this->results_.final_state);
}

template <class Real>
void CpuBlock<Real>::backward(const Objective<Real>& objective) {
  if (is_masked()) {
    zero_cotangents();
  } else {
    begin_reverse(objective);
    if (steps_ > 0) reverse_steps();
  }
  this->results_.x0_bar = lambda();
  this->results_.u_bar = u_bar_.data();
  this->results_.p_bar = p_bar_.data();
}

template <class Real>
void CpuBlock<Real>::reverse_steps() {
  if (options_.checkpoints.kind == Checkpoints::Kind::reversible) return reverse_by_inverse_steps();
  while (const auto action = schedule_->next()) execute(*action);
}

// The cotangent at step k is complete except for the objective's own term there.
template <class Real>
void CpuBlock<Real>::inject(std::int64_t k, const Real* x) {
  if (is_dropped_at(k)) fill_zero(lambda(), n_);
  if (objective_->previous(k, steps_) == k) {
    const bool controls = k < steps_ && nu_ > 0;
    objective_->vjp(
        at(k, x), {lambda(), controls ? u_bar_.data() + (k / options_.hold) * nu_ : nullptr, p_bar_.data()});
  }
  sample(k);
}

// Truncation: no signal passes from step k on to earlier ones.
template <class Real>
bool CpuBlock<Real>::is_dropped_at(std::int64_t k) const {
  const std::int64_t window = options_.checkpoints.window;
  return window > 0 && k > 0 && k < steps_ && (steps_ - k) % window == 0;
}

// The norm of the cotangent, if k is one of the steps where it is taken.
template <class Real>
void CpuBlock<Real>::sample(std::int64_t k) {
  const std::int64_t spacing = adjoint_sample_spacing(steps_);
  if (k % spacing != 0 && k != steps_) return;
  const double norm2 = adjoint_norm2();
  const std::int64_t place = k == steps_ ? adjoint_samples(steps_) - 1 : k / spacing;
  this->results_.adjoint_norm2[place] = norm2;
  if (!finite_bits(norm2)) {
    throw Error({"the gradient is not finite although the states are",
                 "step " + std::to_string(k) + " of " + std::to_string(steps_),
                 "the adjoint has overflowed: shorten the rollout, or use truncated(h); if it has not grown "
                 "before (see the report of a "
                 "shorter rollout), the physics has a wrong derivative here"},
                Error::Kind::numerics);
  }
}

template <class Real>
double CpuBlock<Real>::adjoint_norm2() {
  const BlockResults<Real>& results = this->results_;
  const Real* lambda = this->lambda();
  if (lanes_ == 1) {
    if (results.diverged[0]) return 0;  // masked, like a lane below
    // In columns, which the compiler turns into packs.
    return parallel_sum(n_, kGrain, 0.0, [&](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t kColumns = 16;
      double sums[kColumns] = {};
      std::int64_t j = begin;
      for (; j + kColumns <= end; j += kColumns) {
        for (std::int64_t c = 0; c < kColumns; ++c) sums[c] += double(lambda[j + c]) * double(lambda[j + c]);
      }
      for (std::int64_t c = 0; j < end; ++j, ++c) sums[c] += double(lambda[j]) * double(lambda[j]);
      double sum = 0;
      for (const double column : sums) sum += column;
      return sum;
    });
  }
  // Lane by lane in columns, which the compiler turns into packs.
  lane_sums_.assign(lanes_, 0.0);
  double* sums = lane_sums_.data();
  for (std::int64_t j = 0; j < n_; j += lanes_) {
    for (int l = 0; l < lanes_; ++l) sums[l] += double(lambda[j + l]) * double(lambda[j + l]);
  }
  double sum = 0;
  for (int l = 0; l < results.live_lanes; ++l) {
    if (!results.diverged[l]) sum += sums[l];
  }
  return sum;
}

// Nearest step <= k at which something is added to the cotangent, or taken from it.
template <class Real>
std::int64_t CpuBlock<Real>::previous_term(std::int64_t k) const {
  const std::int64_t term = objective_->previous(k, steps_), window = options_.checkpoints.window;
  if (window == 0) return term;
  return std::max(term, steps_ - (steps_ - k + window - 1) / window * window);
}

template <class Real>
void CpuBlock<Real>::reverse(std::int64_t begin, std::int64_t end, const Real* states,
                             const Tape<const Real>& tape) {
  const std::int64_t spacing = adjoint_sample_spacing(steps_);
  Real* const u_bar = nu_ > 0 && activity_.controls ? u_bar_.data() : nullptr;
  Real* const p_bar = wants_parameters_ ? p_bar_.data() : nullptr;
  for (std::int64_t k = end; k > begin;) {
    const std::int64_t term = std::max(begin, previous_term(k - 1));
    system_.begin_run(p_.data(), p_bar, activity_, *work_);
    while (k > term) {
      const std::int64_t stop = std::max(term, (k - 1) / spacing * spacing);
      system_.reverse(run(stop, k), states ? states + (stop - begin) * n_ : nullptr,
                      {tape.at(stop - begin), tape.stride}, lambda_, u_bar, p_bar, activity_, *work_);
      lambda_.start = lambda_.slot(k - stop);
      Progress::advance(Progress::kBack * (k - stop));
      k = stop;
      stop_if_interrupted();
      if (k > term) sample(k);
    }
    system_.end_run(p_.data(), p_bar, activity_, *work_);
    inject(k, states ? states + (k - begin) * n_ : nullptr);
  }
}

template <class Real>
void CpuBlock<Real>::reverse_by_inverse_steps() {
  for (std::int64_t k = steps_; k > 0; --k) {
    const Real* y = state();
    state_.start = state_.slot(1);
    Real* x = state();
    system_.step_back(run(k - 1, k).context(k - 1), at(k - 1, nullptr).in, y, x, *work_);
    reverse(k - 1, k, x, {});
  }
}

template class CpuBlock<float>;
template class CpuBlock<double>;

}  // namespace costate

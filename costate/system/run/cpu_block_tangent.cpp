// Forward mode and second order of a block: states with their tangents, cotangents with theirs.
#include "costate/core/interrupt.h"
#include "costate/system/block_memory.h"
#include "costate/system/run/cpu_block.h"

namespace costate {

template <class Real>
void CpuBlock<Real>::zero_tangent() {
  x_dot_.reserve(n_);
  u_dot_.reserve(knots_ * nu_);
  p_dot_.reserve(np_);
  fill_zero(x_dot_.data(), n_);
  fill_zero(u_dot_.data(), knots_ * nu_);
  fill_zero(p_dot_.data(), np_);
}

template <class Real>
void CpuBlock<Real>::load_copies(const Arguments<Real>& arguments, std::int64_t world) {
  load(arguments, world, 0);
  zero_tangent();
}

template <class Real>
void CpuBlock<Real>::load_tangent(const Arguments<Real>& direction) {
  zero_tangent();
  const Signature& signature = system_.signature();
  const std::int64_t first_world = this->results_.first_world, worlds = options_.worlds;
  gather_lanes<Real>(direction.x0, signature.states(), first_world, world_stride_, worlds, lanes_,
                     x_dot_.data());
  gather_lanes<Real>(direction.controls, knots_ * signature.controls(), first_world, world_stride_, worlds,
                     lanes_, u_dot_.data());
  const auto& fields = signature.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    gather_lanes<Real>(direction.parameters.values(f), fields[f].size, first_world, world_stride_, worlds,
                       lanes_, p_dot_.data() + fields[f].offset * lanes_);
  }
}

// <grad l, dot> of the objective's term at step k, with the gradient in scratch.
template <class Real>
void CpuBlock<Real>::add_loss_dot(std::int64_t k, const Real* x, const Real* x_dot) {
  if (!objective_ || objective_->next(k, steps_) != k) return;
  lambda_buffer_.reserve(2 * n_);
  u_bar_.reserve(knots_ * nu_);
  p_bar_.reserve(np_);
  const bool controls = k < steps_ && nu_ > 0;
  fill_zero(lambda_buffer_.data(), n_);
  fill_zero(u_bar_.data(), nu_);
  fill_zero(p_bar_.data(), np_);
  objective_->vjp(at(k, x), {lambda_buffer_.data(), controls ? u_bar_.data() : nullptr, p_bar_.data()});
  const auto dot_product = [&](const Real* a, const Real* b, std::int64_t size) {
    for (std::int64_t j = 0; j < size; ++j)
      this->results_.loss_dot[j % lanes_] += double(a[j]) * double(b[j]);
  };
  dot_product(lambda_buffer_.data(), x_dot, n_);
  if (controls) dot_product(u_bar_.data(), u_dot_.data() + (k / options_.hold) * nu_, nu_);
  dot_product(p_bar_.data(), p_dot_.data(), np_);
}

template <class Real>
Inputs<Real> CpuBlock<Real>::inputs_dot(std::int64_t k, const Real* x_dot) const {
  return {x_dot, nu_ > 0 && k < steps_ ? u_dot_.data() + (k / options_.hold) * nu_ : nullptr, p_dot_.data()};
}

template <class Real>
void CpuBlock<Real>::simulate_tangent(const Arguments<Real>& direction, const Objective<Real>* objective) {
  load_tangent(direction);
  simulate_tangents(objective);
}

template <class Real>
void CpuBlock<Real>::simulate_tangents(const Objective<Real>* objective) {
  begin(objective, nullptr);
  this->results_.loss_dot.assign(lanes_, 0.0);
  masked_if_it_fails([&] { march_tangents(); });
}

template <class Real>
void CpuBlock<Real>::march_tangents() {
  working_dot_.reserve(2 * n_);
  copy(working_dot_.data(), x_dot_.data(), n_);
  Ring<Real> dot{working_dot_.data(), 2, 0};
  for (std::int64_t k = 0;; ++k) {
    const Real* x = state();
    const Real* x_dot = dot.base + dot.start * n_;
    visit(k, x);
    add_loss_dot(k, x, x_dot);
    if (k == steps_) {
      this->results_.final_state_dot = x_dot;
      return;
    }
    stop_if_interrupted();
    const std::int64_t next = state_.next(state_.start);
    system_.step_jvp(run(k, k + 1).context(k), at(k, x).in, inputs_dot(k, x_dot), state_.base + next * n_,
                     dot.base + next * n_, *work_);
    state_.start = dot.start = next;
  }
}

// States and their tangents, all kept.
template <class Real>
void CpuBlock<Real>::record_with_tangents() {
  tape_states_.reserve((steps_ + 1) * n_);
  tape_states_dot_.reserve((steps_ + 1) * n_);
  copy(tape_states_.data(), state(), n_);
  copy(tape_states_dot_.data(), x_dot_.data(), n_);
  for (std::int64_t k = 0; k <= steps_; ++k) {
    const Real* x = tape_states_.data() + k * n_;
    const Real* x_dot = tape_states_dot_.data() + k * n_;
    visit(k, x);
    if (k == steps_) break;
    stop_if_interrupted();
    system_.step_jvp(run(k, k + 1).context(k), at(k, x).in, inputs_dot(k, x_dot),
                     tape_states_.data() + (k + 1) * n_, tape_states_dot_.data() + (k + 1) * n_, *work_);
  }
}

template <class Real>
void CpuBlock<Real>::inject_dot(std::int64_t k) {
  if (is_dropped_at(k)) fill_zero(lambda_dot_.base + lambda_dot_.start * n_, n_);
  if (objective_->previous(k, steps_) != k) return;
  Real* u_bar_dot = k < steps_ && nu_ > 0 ? u_bar_dot_.data() + (k / options_.hold) * nu_ : nullptr;
  objective_->hvp(at(k, tape_states_.data() + k * n_), inputs_dot(k, tape_states_dot_.data() + k * n_),
                  {lambda_dot_.base + lambda_dot_.start * n_, u_bar_dot, p_bar_dot_.data()});
}

// Forward: states and their tangents. Backward: cotangents and theirs.
template <class Real>
void CpuBlock<Real>::hessian_vector(const Arguments<Real>& direction, const Objective<Real>& objective) {
  load_tangent(direction);
  begin(&objective, nullptr);
  masked_if_it_fails([&] { record_with_tangents(); });

  lambda_dot_buffer_.reserve(2 * n_);
  u_bar_dot_.reserve(knots_ * nu_);
  p_bar_dot_.reserve(np_);
  lambda_dot_ = {lambda_dot_buffer_.data(), 2, 0};
  fill_zero(lambda_dot_.base, n_);
  fill_zero(u_bar_dot_.data(), knots_ * nu_);
  fill_zero(p_bar_dot_.data(), np_);
  if (is_masked()) {
    zero_cotangents();
  } else {
    inject_dot(steps_);
    begin_reverse(objective);
    reverse_tangents();
  }
  BlockResults<Real>& results = this->results_;
  results.x0_bar = lambda(), results.u_bar = u_bar_.data(), results.p_bar = p_bar_.data();
  results.x0_bar_dot = lambda_dot_.base + lambda_dot_.start * n_;
  results.u_bar_dot = u_bar_dot_.data(), results.p_bar_dot = p_bar_dot_.data();
}

template <class Real>
void CpuBlock<Real>::reverse_tangents() {
  for (std::int64_t k = steps_ - 1; k >= 0; --k) {
    stop_if_interrupted();
    const std::int64_t next = lambda_.next(lambda_.start), knot = (k / options_.hold) * nu_;
    const Real* x = tape_states_.data() + k * n_;
    const bool controls = nu_ > 0;
    system_.step_hvp(
        run(k, k + 1).context(k), at(k, x).in, inputs_dot(k, tape_states_dot_.data() + k * n_), lambda(),
        lambda_dot_.base + lambda_dot_.start * n_,
        {lambda_.base + next * n_, controls ? u_bar_.data() + knot : nullptr, p_bar_.data()},
        {lambda_dot_.base + next * n_, controls ? u_bar_dot_.data() + knot : nullptr, p_bar_dot_.data()},
        activity_, *work_);
    lambda_.start = lambda_dot_.start = next;
    inject_dot(k);
    inject(k, x);
  }
}

template class CpuBlock<float>;
template class CpuBlock<double>;

}  // namespace costate

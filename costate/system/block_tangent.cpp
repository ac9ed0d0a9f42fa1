// Forward mode and second order of a block: states with their tangents, cotangents with theirs.
#include "costate/core/interrupt.h"
#include "costate/system/block.h"
#include "costate/system/block_memory.h"

namespace costate {

template <class Real>
void Block<Real>::simulate_tangent(const Objective<Real>* objective) {
  begin(objective, nullptr);
  loss_dot_.assign(static_cast<std::size_t>(lanes_), 0.0);
  working_dot_.reserve(2 * n_);
  copy(working_dot_.data(), x_dot_.data(), n_);
  Ring<Real> dot{working_dot_.data(), 2, 0};

  // <grad l, dot>, with the gradient in scratch.
  const auto add_loss_dot = [&](std::int64_t k, const Real* x, const Real* x_dot) {
    if (!objective || objective->next(k, steps_) != k) return;
    lambda_buffer_.reserve(2 * n_);
    u_bar_.reserve(knots_ * nu_);
    p_bar_.reserve(np_);
    const bool controls = k < steps_ && nu_ > 0;
    fill_zero(lambda_buffer_.data(), n_);
    fill_zero(u_bar_.data(), nu_);
    fill_zero(p_bar_.data(), np_);
    objective->vjp(at(k, x), {lambda_buffer_.data(), controls ? u_bar_.data() : nullptr, p_bar_.data()});
    const auto dot_product = [&](const Real* a, const Real* b, std::int64_t size) {
      for (std::int64_t j = 0; j < size; ++j)
        loss_dot_[static_cast<std::size_t>(j % lanes_)] += double(a[j]) * double(b[j]);
    };
    dot_product(lambda_buffer_.data(), x_dot, n_);
    if (controls) dot_product(u_bar_.data(), u_dot_.data() + (k / options_.hold) * nu_, nu_);
    dot_product(p_bar_.data(), p_dot_.data(), np_);
  };

  for (std::int64_t k = 0;; ++k) {
    const Real* x = state_.base + state_.start * n_;
    const Real* x_dot = dot.base + dot.start * n_;
    visit(k, x);
    add_loss_dot(k, x, x_dot);
    if (k == steps_) {
      final_dot_ = x_dot;
      return;
    }
    stop_if_interrupted();
    const std::int64_t next = 1 - state_.start;
    const std::int64_t knot = (k / options_.hold) * nu_;
    system_.step_jvp({k, first_world_, options_.seed}, at(k, x).in,
                     {x_dot, nu_ > 0 ? u_dot_.data() + knot : nullptr, p_dot_.data()},
                     state_.base + next * n_, dot.base + next * n_, *work_);
    state_.start = dot.start = next;
  }
}

// Forward: states and their tangents, all kept. Backward: cotangents and theirs.
template <class Real>
void Block<Real>::hessian_vector(const Objective<Real>& objective) {
  begin(&objective, nullptr);
  tape_states_.reserve((steps_ + 1) * n_);
  tape_states_dot_.reserve((steps_ + 1) * n_);
  copy(tape_states_.data(), state_.base + state_.start * n_, n_);
  copy(tape_states_dot_.data(), x_dot_.data(), n_);
  const auto inputs_dot = [&](std::int64_t k) {
    return Inputs<Real>{tape_states_dot_.data() + k * n_,
                        nu_ > 0 && k < steps_ ? u_dot_.data() + (k / options_.hold) * nu_ : nullptr,
                        p_dot_.data()};
  };
  for (std::int64_t k = 0; k <= steps_; ++k) {
    const Real* x = tape_states_.data() + k * n_;
    visit(k, x);
    if (k == steps_) break;
    stop_if_interrupted();
    system_.step_jvp({k, first_world_, options_.seed}, at(k, x).in, inputs_dot(k),
                     tape_states_.data() + (k + 1) * n_, tape_states_dot_.data() + (k + 1) * n_, *work_);
  }

  lambda_dot_buffer_.reserve(2 * n_);
  u_bar_dot_.reserve(knots_ * nu_);
  p_bar_dot_.reserve(np_);
  lambda_dot_ = {lambda_dot_buffer_.data(), 2, 0};
  fill_zero(lambda_dot_.base, n_);
  fill_zero(u_bar_dot_.data(), knots_ * nu_);
  fill_zero(p_bar_dot_.data(), np_);
  const auto inject_dot = [&](std::int64_t k) {
    if (objective.previous(k, steps_) != k) return;
    Real* u_bar_dot = k < steps_ && nu_ > 0 ? u_bar_dot_.data() + (k / options_.hold) * nu_ : nullptr;
    objective.hvp(at(k, tape_states_.data() + k * n_), inputs_dot(k),
                  {lambda_dot_.base + lambda_dot_.start * n_, u_bar_dot, p_bar_dot_.data()});
  };
  inject_dot(steps_);
  begin_reverse(objective);
  for (std::int64_t k = steps_ - 1; k >= 0; --k) {
    stop_if_interrupted();
    const std::int64_t next = 1 - lambda_.start, knot = (k / options_.hold) * nu_;
    const bool controls = nu_ > 0;
    system_.step_hvp(
        {k, first_world_, options_.seed}, at(k, tape_states_.data() + k * n_).in, inputs_dot(k),
        lambda_.base + lambda_.start * n_, lambda_dot_.base + lambda_dot_.start * n_,
        {lambda_.base + next * n_, controls ? u_bar_.data() + knot : nullptr, p_bar_.data()},
        {lambda_dot_.base + next * n_, controls ? u_bar_dot_.data() + knot : nullptr, p_bar_dot_.data()},
        activity_, *work_);
    lambda_.start = lambda_dot_.start = next;
    inject_dot(k);
    inject(k, tape_states_.data() + k * n_);
  }
}

template void Block<float>::simulate_tangent(const Objective<float>*);
template void Block<double>::simulate_tangent(const Objective<double>*);
template void Block<float>::hessian_vector(const Objective<float>&);
template void Block<double>::hessian_vector(const Objective<double>&);

}  // namespace costate

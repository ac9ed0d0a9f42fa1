#include "costate/control/plant.h"

#include <algorithm>
#include <string>
#include <utility>

#include "costate/core/error.h"
#include "costate/rigid/step_jacobian.h"
#include "costate/system/ranges.h"
#include "costate/system/step_columns.h"

namespace costate::control {
namespace {

constexpr int kLargest = 2000;  // states: matrices of 32 MB per step

int copies_of(const Plant& plant, int lanes) {
  if (lanes == 1) return 1;
  auto block = plant.take();
  // Away from rest, so that noise that scales with something shows.
  for (int i = 0; i < plant.states(); ++i)
    std::fill_n(block->x.data() + i * lanes, lanes, 0.3 + 0.1 / double(i + 1));
  for (int i = 0; i < plant.controls(); ++i) std::fill_n(block->u.data() + i * lanes, lanes, 0.01);
  plant.step(0, *block);
  const bool same = same_in_all_lanes(block->y.data(), plant.states(), lanes);
  plant.give_back(std::move(block));
  return same ? lanes : 1;
}

}  // namespace

Jacobians rigid_jacobians(const rigid::Model& model, const rigid::SystemOptions& options,
                          const Parameters<double>& parameters) {
  const auto jacobian = std::make_shared<rigid::StepJacobian<double>>(model, options);
  return [jacobian, parameters](std::int64_t steps, const double* x, const double* u, double* A, double* B) {
    (*jacobian)(steps, x, u, parameters, A, B);
  };
}

Plant::Block::Block(const Plant& plant) : work(plant.system().make_workspace()) {
  const auto lanes = std::int64_t(plant.lanes()), n = plant.states() * lanes,
             m = std::max<std::int64_t>(1, plant.controls() * lanes);
  for (auto* buffer : {&x, &y, &x_dot, &y_dot, &x_bar, &x_bar_dot, &y_bar, &y_bar_dot}) buffer->reserve(n);
  for (auto* buffer : {&u, &u_dot, &u_bar, &u_bar_dot}) buffer->reserve(m);
  state.resize(std::size_t(plant.states())), tangent.resize(std::size_t(plant.tangents()));
  loss.resize(std::size_t(lanes));
}

Plant::Plant(std::shared_ptr<const System<double>> system, const Parameters<double>& parameters,
             StateSpace space, std::uint64_t seed)
    : system_(std::move(system)), space_(std::move(space)), seed_(seed) {
  if (!system_) throw Error("there is no system to control");
  const Signature& s = system_->signature();
  if (space_.states() == 0) space_ = StateSpace(int(s.states()));
  if (space_.states() != s.states())
    throw Error("a space of " + std::to_string(space_.states()) + " states for a system of " +
                std::to_string(s.states()));
  if (s.states() > kLargest)
    throw Error({"a system of " + std::to_string(s.states()) + " states is too large for dense matrices",
                 {},
                 "use sampling, or an optimiser with gradients of a rollout"});
  if (!system_->capabilities().jvp)
    throw Error({"the system has no tangents, which linearise a step", {}, "use sampling"});
  controls_ = int(s.controls()), lanes_ = system_->lanes(), copies_ = lanes_;
  p_.reserve(std::max<std::int64_t>(1, system_->parameter_size()));
  nothing_ = {std::vector<bool>(s.fields(Role::parameter).size(), false), true};
  set_parameters(parameters);
  copies_ = copies_of(*this, lanes_);
}

void Plant::set_parameters(const Parameters<double>& parameters) {
  const Signature& s = system_->signature();
  if (!same_fields(s, parameters.signature(), Role::parameter) || parameters.worlds() != 1)
    throw Error("these are not the parameters of one world of the system");
  check_ranges(s, parameters);
  const auto& fields = s.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f)
    gather_lanes(parameters.values(f), fields[f].size, 0, 1, 1, lanes_,
                 p_.data() + fields[f].offset * lanes_);
  pool_ = std::make_unique<Pool<Block>>([this] {
    auto block = std::make_unique<Block>(*this);
    system_->begin_run(p_.data(), nullptr, nothing_, *block->work);
    return block;
  });
}

void Plant::spread(const double* numbers, int count, AlignedBuffer<double>& to) const {
  for (int i = 0; i < count; ++i) std::fill_n(to.data() + i * lanes_, lanes_, numbers[i]);
}

void Plant::step(std::int64_t k, Block& b) const {
  system_->step({k, 0, seed_}, {b.x.data(), b.u.data(), p_.data()}, b.y.data(), nullptr, *b.work);
}

void Plant::step(std::int64_t k, const double* x, const double* u, double* y, Block& b) const {
  spread(x, states(), b.x), spread(u, controls_, b.u);
  step(k, b);
  take_lane(b.y.data(), states(), lanes_, 0, y);
}

// Lane l of x_dot and u_dot, which are zero, along tangent or control j.
void Plant::set_direction(const double* x, int j, int l, Block& b) const {
  const int n = tangents();
  if (j >= n) {
    b.u_dot.data()[(j - n) * lanes_ + l] = 1;
    return;
  }
  std::fill(b.tangent.begin(), b.tangent.end(), 0.0);
  b.tangent[std::size_t(j)] = 1;
  space_.rate_of(x, b.tangent.data(), b.state.data());
  for (int i = 0; i < states(); ++i) b.x_dot.data()[i * lanes_ + l] = b.state[std::size_t(i)];
}

int Plant::load_directions(const double* x, int first, bool with_controls, Block& b) const {
  const int all = tangents() + (with_controls ? controls_ : 0), count = std::min(copies_, all - first);
  fill_zero(b.x_dot.data(), std::int64_t(states()) * lanes_);
  fill_zero(b.u_dot.data(), std::int64_t(controls_) * lanes_);
  for (int l = 0; l < count; ++l) set_direction(x, first + l, l, b);
  return count;
}

void Plant::linearise(std::int64_t k, const double* x, const double* u, double* A, double* B,
                      Block& b) const {
  const int n = tangents(), m = controls_;
  spread(x, states(), b.x), spread(u, m, b.u);
  std::vector<double> y(b.state.size());
  step_columns<double>(
      *system_, {k, 0, seed_}, {b.x.data(), b.u.data(), p_.data()}, {b.x_dot.data(), b.u_dot.data(), nullptr},
      n + m, copies_, b.y.data(), b.y_dot.data(), *b.work,
      [&](std::int64_t j, int l) { set_direction(x, int(j), l, b); },
      [&](std::int64_t column, int l) {
        const int j = int(column);
        if (l == 0) take_lane(b.y.data(), states(), lanes_, 0, y.data());
        take_lane(b.y_dot.data(), states(), lanes_, l, b.state.data());
        space_.tangent_of(y.data(), b.state.data(), b.tangent.data());
        for (int i = 0; i < n; ++i) (j < n ? A[i * n + j] : B[i * m + j - n]) = b.tangent[std::size_t(i)];
      });
}

// Lane l of x_bar_dot and u_bar_dot is column first + l of a Hessian, in the numbers of the state.
void Plant::read_columns(const double* x, int first, int count, const Quadratic& to, double weight,
                         bool with_controls, Block& b) const {
  const int n = tangents(), m = controls_;
  for (int l = 0; l < count; ++l) {
    const int j = first + l;
    if (j < n) {
      take_lane(b.x_bar_dot.data(), states(), lanes_, l, b.state.data());
      space_.pull(x, b.state.data(), b.tangent.data());
      for (int i = 0; i < n; ++i) to.Q[i * n + j] += weight * b.tangent[std::size_t(i)];
    }
    for (int i = 0; with_controls && i < m; ++i) {
      const double h = weight * b.u_bar_dot.data()[i * lanes_ + l];
      (j < n ? to.S[i * n + j] : to.R[i * m + j - n]) += h;
    }
  }
}

void Plant::add_curvature(std::int64_t k, const double* x, const double* u, const double* y,
                          const double* lambda, double* Q, double* S, double* R, Block& b) const {
  const int n = tangents(), m = controls_;
  spread(x, states(), b.x), spread(u, m, b.u);
  std::vector<double> bar(b.state.size());
  space_.lift(y, lambda, bar.data());
  spread(bar.data(), states(), b.y_bar);
  fill_zero(b.y_bar_dot.data(), std::int64_t(states()) * lanes_);
  for (int first = 0; first < n + m; first += copies_) {
    const int count = load_directions(x, first, true, b);
    for (auto* buffer : {&b.u_bar, &b.u_bar_dot}) fill_zero(buffer->data(), std::int64_t(m) * lanes_);
    system_->step_hvp({k, 0, seed_}, {b.x.data(), b.u.data(), p_.data()},
                      {b.x_dot.data(), b.u_dot.data(), nullptr}, b.y_bar.data(), b.y_bar_dot.data(),
                      {b.x_bar.data(), b.u_bar.data(), nullptr},
                      {b.x_bar_dot.data(), b.u_bar_dot.data(), nullptr}, nothing_, *b.work);
    read_columns(x, first, count, {nullptr, nullptr, Q, S, R}, 1, true, b);
  }
  take_lane(b.x_bar.data(), states(), lanes_, 0, b.state.data());
  space_.bend(x, b.state.data(), Q, n);
}

Objective<double>::At Plant::at(std::int64_t k, std::int64_t steps, const Block& b, bool last) const {
  Objective<double>::At at;
  at.k = k, at.steps = steps, at.lanes = lanes_;
  at.in = {b.x.data(), last ? nullptr : b.u.data(), p_.data()};
  return at;
}

double Plant::value(const Objective<double>& objective, std::int64_t k, std::int64_t steps, const double* x,
                    const double* u, Block& b) const {
  spread(x, states(), b.x);
  if (u) spread(u, controls_, b.u);
  std::fill(b.loss.begin(), b.loss.end(), 0.0);
  objective.value(at(k, steps, b, !u), b.loss.data());
  return b.loss[0];
}

void Plant::add_gradient(const Objective<double>& objective, std::int64_t k, std::int64_t steps,
                         const double* x, const double* u, double weight, const Quadratic& to,
                         Block& b) const {
  spread(x, states(), b.x);
  if (u) spread(u, controls_, b.u);
  fill_zero(b.x_bar.data(), std::int64_t(states()) * lanes_);
  fill_zero(b.u_bar.data(), std::int64_t(controls_) * lanes_);
  objective.vjp(at(k, steps, b, !u), {b.x_bar.data(), u ? b.u_bar.data() : nullptr, nullptr});
  take_lane(b.x_bar.data(), states(), lanes_, 0, b.state.data());
  space_.pull(x, b.state.data(), b.tangent.data());
  for (int i = 0; i < tangents(); ++i) to.q[i] += weight * b.tangent[std::size_t(i)];
  for (int i = 0; u && i < controls_; ++i) to.r[i] += weight * b.u_bar.data()[i * lanes_];
  if (!to.Q) return;
  for (double& number : b.state) number *= weight;
  space_.bend(x, b.state.data(), to.Q, tangents());
}

void Plant::add_hessian(const Objective<double>& objective, std::int64_t k, std::int64_t steps,
                        const double* x, const double* u, double weight, const Quadratic& to,
                        Block& b) const {
  spread(x, states(), b.x);
  if (u) spread(u, controls_, b.u);
  const int all = tangents() + (u ? controls_ : 0);
  for (int first = 0; first < all; first += copies_) {
    const int count = load_directions(x, first, u != nullptr, b);
    fill_zero(b.x_bar_dot.data(), std::int64_t(states()) * lanes_);
    fill_zero(b.u_bar_dot.data(), std::int64_t(controls_) * lanes_);
    objective.hvp(at(k, steps, b, !u), {b.x_dot.data(), u ? b.u_dot.data() : nullptr, nullptr},
                  {b.x_bar_dot.data(), u ? b.u_bar_dot.data() : nullptr, nullptr});
    read_columns(x, first, count, to, weight, u != nullptr, b);
  }
}

}  // namespace costate::control

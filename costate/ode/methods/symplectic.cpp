#include "costate/ode/methods/symplectic.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "costate/core/error.h"

namespace costate::ode {
namespace {

// Cubic Hermite basis for q and, divided by h, its derivative for v. Coefficients of (q0, h v0, q1, h v1)
// with derivatives by theta.
struct Hermite {
  double q0, v0, q1, v1;
};
Hermite value_basis(double s) {
  return {1 + s * s * (2 * s - 3), s * (1 - s) * (1 - s), s * s * (3 - 2 * s), s * s * (s - 1)};
}
Hermite slope_basis(double s) {
  return {6 * s * (s - 1), (1 - s) * (1 - 3 * s), 6 * s * (1 - s), s * (3 * s - 2)};
}
Hermite curvature_basis(double s) { return {12 * s - 6, 6 * s - 4, 6 - 12 * s, 6 * s - 2}; }

}  // namespace

const Splitting& symplectic_euler_splitting() {
  static const Splitting s{"symplectic_euler", 1, 1, {{1, 1}}};
  return s;
}

const Splitting& velocity_verlet_splitting() {
  static const Splitting s{"verlet", 2, 2, {{0.5, 1}, {0.5, 0}}};
  return s;
}

const Splitting& yoshida4_splitting() {
  static const double w1 = 1 / (2 - std::cbrt(2.0)), w0 = 1 - 2 * w1;
  static const Splitting s{
      "yoshida4", 4, 3, {{0, w1 / 2}, {w1, (w0 + w1) / 2}, {w0, (w0 + w1) / 2}, {w1, w1 / 2}}};
  return s;
}

SymplecticStepper::SymplecticStepper(const Splitting& splitting, const VectorField& field)
    : splitting_(splitting), field_(field), n_(field.states()), half_(field.states() / 2) {
  if (n_ % 2 != 0) {
    throw Error({"the vector field has " + std::to_string(n_) + " states, an odd number",
                 std::string("method ") + splitting.name,
                 "symplectic methods take x = (q, v) with q' = v; use rk4 or dopri5 for other systems"});
  }
  if (!field.mass().empty()) {
    throw Error({"the vector field has a mass matrix, which explicit methods do not take",
                 std::string("method ") + splitting.name, "use an implicit method (rodas5p, radau5)"});
  }
  const std::size_t stages = splitting.stages.size(), n = n_;
  for (auto* v : {&x_, &y_, &seed_, &dot_, &bar_, &f_dot_}) v->assign(n, 0.0);
  before_.assign(stages * n, 0.0);
  f_.assign(stages * n, 0.0);
  after_.assign(stages * half_, 0.0);
  scratch_.resize(field.scratch_size());
}

void SymplecticStepper::check_second_order(const double* x, const double* dx) const {
  for (int i = 0; i < half_; ++i) {
    const double v = x[half_ + i];
    if (!(std::abs(dx[i] - v) <= 1e-10 * (std::abs(v) + std::abs(dx[i])))) {
      throw Error({"the field is not of second order: the rate of state " + std::to_string(i) + " is " +
                       std::to_string(dx[i]) + ", not state " + std::to_string(half_ + i) + " = " +
                       std::to_string(v),
                   std::string("method ") + name(),
                   "order the states as x = (q, v) with q' = v, or use rk4 or dopri5"});
    }
  }
}

void SymplecticStepper::run_stages(const StepInput& in) {
  h_ = in.h;
  std::copy_n(in.x, n_, x_.begin());
  std::copy_n(in.x, n_, y_.begin());
  double tau = 0;
  for (int s = 0; s < int(splitting_.stages.size()); ++s) {
    const auto [kick, drift] = splitting_.stages[s];
    double* before = before_.data() + s * n_;
    double* f = f_.data() + s * n_;
    std::copy_n(y_.begin(), n_, before);
    if (kick != 0) {
      field_.value(in.t + tau * in.h, before, in.p, f, scratch_.data());
      ++counts_.rhs;
      for (int i = 0; i < half_; ++i) y_[half_ + i] += kick * in.h * f[half_ + i];
    }
    std::copy_n(y_.begin() + half_, half_, after_.begin() + s * half_);
    for (int i = 0; i < half_; ++i) y_[i] += drift * in.h * y_[half_ + i];
    tau += drift;
  }
}

bool SymplecticStepper::step(const StepInput& in, double* y, double*) {
  run_stages(in);
  for (std::size_t s = 0; s < splitting_.stages.size(); ++s) {
    if (splitting_.stages[s].kick != 0) {
      check_second_order(before_.data() + s * n_, f_.data() + s * n_);
      break;
    }
  }
  std::copy_n(y_.begin(), n_, y);
  return true;
}

void SymplecticStepper::step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot) {
  run_stages(in);
  if (in_dot.x)
    std::copy_n(in_dot.x, n_, dot_.begin());
  else
    std::fill(dot_.begin(), dot_.end(), 0.0);
  double tau = 0;
  for (int s = 0; s < int(splitting_.stages.size()); ++s) {
    const auto [kick, drift] = splitting_.stages[s];
    if (kick != 0) {
      const double* f = f_.data() + s * n_;
      field_.jvp(in.t + tau * in.h, before_.data() + s * n_, in.p, in_dot.t + tau * in_dot.h, dot_.data(),
                 in_dot.p, f_dot_.data(), scratch_.data());
      for (int i = half_; i < n_; ++i) dot_[i] += kick * (in_dot.h * f[i] + in.h * f_dot_[i]);
    }
    const double* v = after_.data() + s * half_;
    for (int i = 0; i < half_; ++i) dot_[i] += drift * (in_dot.h * v[i] + in.h * dot_[half_ + i]);
    tau += drift;
  }
  std::copy_n(dot_.begin(), n_, y_dot);
}

void SymplecticStepper::step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar) {
  run_stages(in);
  std::copy_n(y_bar, n_, bar_.begin());
  double tau = 0;
  for (const auto& stage : splitting_.stages) tau += stage.drift;
  for (int s = int(splitting_.stages.size()) - 1; s >= 0; --s) {
    const auto [kick, drift] = splitting_.stages[s];
    tau -= drift;
    const double* v = after_.data() + s * half_;
    for (int i = 0; i < half_; ++i) {  // drift
      *in_bar.h += drift * v[i] * bar_[i];
      bar_[half_ + i] += drift * in.h * bar_[i];
    }
    if (kick == 0) continue;
    const double* f = f_.data() + s * n_;
    double t_bar = 0;
    for (int i = 0; i < half_; ++i) {  // kick
      seed_[i] = 0;
      seed_[half_ + i] = kick * in.h * bar_[half_ + i];
      *in_bar.h += kick * f[half_ + i] * bar_[half_ + i];
    }
    field_.vjp(in.t + tau * in.h, before_.data() + s * n_, in.p, seed_.data(), &t_bar, bar_.data(), in_bar.p,
               scratch_.data());
    *in_bar.t += t_bar;
    *in_bar.h += tau * t_bar;
  }
  for (int i = 0; i < n_; ++i) in_bar.x[i] += bar_[i];
}

void SymplecticStepper::interpolate(double theta, double* y) const {
  const Hermite a = value_basis(theta), b = slope_basis(theta);
  for (int i = 0; i < half_; ++i) {
    const double q0 = x_[i], q1 = y_[i], v0 = x_[half_ + i], v1 = y_[half_ + i];
    y[i] = a.q0 * q0 + a.q1 * q1 + h_ * (a.v0 * v0 + a.v1 * v1);
    y[half_ + i] = (b.q0 * q0 + b.q1 * q1) / h_ + b.v0 * v0 + b.v1 * v1;
  }
}

void SymplecticStepper::interpolate_jvp(const StepInput& in, const StepTangent& in_dot, double theta,
                                        double theta_dot, double* y_dot) {
  step_jvp(in, in_dot, seed_.data());  // seed_: tangent of the end of the step
  const Hermite a = value_basis(theta), b = slope_basis(theta), c = curvature_basis(theta);
  for (int i = 0; i < half_; ++i) {
    const double q0 = x_[i], q1 = y_[i], v0 = x_[half_ + i], v1 = y_[half_ + i];
    const double q0_dot = in_dot.x ? in_dot.x[i] : 0.0, v0_dot = in_dot.x ? in_dot.x[half_ + i] : 0.0;
    const double q1_dot = seed_[i], v1_dot = seed_[half_ + i];
    y_dot[i] = a.q0 * q0_dot + a.q1 * q1_dot + h_ * (a.v0 * v0_dot + a.v1 * v1_dot) +
               in_dot.h * (a.v0 * v0 + a.v1 * v1) +
               theta_dot * (b.q0 * q0 + b.q1 * q1 + h_ * (b.v0 * v0 + b.v1 * v1));
    y_dot[half_ + i] = (b.q0 * q0_dot + b.q1 * q1_dot) / h_ + b.v0 * v0_dot + b.v1 * v1_dot -
                       in_dot.h * (b.q0 * q0 + b.q1 * q1) / (h_ * h_) +
                       theta_dot * ((c.q0 * q0 + c.q1 * q1) / h_ + c.v0 * v0 + c.v1 * v1);
  }
}

void SymplecticStepper::interpolate_vjp(const StepInput& in, double theta, const double* y_bar,
                                        const StepCotangent& in_bar, double* theta_bar) {
  run_stages(in);
  const Hermite a = value_basis(theta), b = slope_basis(theta), c = curvature_basis(theta);
  double theta_sum = 0;
  for (int i = 0; i < half_; ++i) {
    const double q0 = x_[i], q1 = y_[i], v0 = x_[half_ + i], v1 = y_[half_ + i];
    const double q_bar = y_bar[i], v_bar = y_bar[half_ + i];
    in_bar.x[i] += a.q0 * q_bar + b.q0 / h_ * v_bar;
    in_bar.x[half_ + i] += h_ * a.v0 * q_bar + b.v0 * v_bar;
    dot_[i] = a.q1 * q_bar + b.q1 / h_ * v_bar;  // dot_: cotangent of the end of the step
    dot_[half_ + i] = h_ * a.v1 * q_bar + b.v1 * v_bar;
    *in_bar.h += (a.v0 * v0 + a.v1 * v1) * q_bar - (b.q0 * q0 + b.q1 * q1) / (h_ * h_) * v_bar;
    theta_sum += (b.q0 * q0 + b.q1 * q1 + h_ * (b.v0 * v0 + b.v1 * v1)) * q_bar +
                 ((c.q0 * q0 + c.q1 * q1) / h_ + c.v0 * v0 + c.v1 * v1) * v_bar;
  }
  if (theta_bar) *theta_bar += theta_sum;
  step_vjp(in, dot_.data(), in_bar);
}

}  // namespace costate::ode

// Tangent, transpose and second derivatives of explicit Runge-Kutta steps: equations in explicit_rk.h.
#include <algorithm>

#include "costate/ode/methods/explicit_rk.h"
#include "costate/ode/methods/rk_rows.h"

namespace costate::ode {
namespace {

// Weights of the solution as a plain array, so that step and interpolant share one code.
int solution_weights(const Tableau& tableau, double* w) {
  std::fill(w, w + tableau.stages, 0.0);
  for (const auto& term : tableau.b) w[term.stage] = term.value;
  return tableau.stages;
}

}  // namespace

void ExplicitRk::tangent_stages(const StepTangent& in_dot, int count) {
  compute_stages(count);
  for (int i = 0; i < count; ++i) {
    const double* S = S_.data() + i * n_;
    double* X_dot = X_dot_.data() + i * n_;
    double* S_dot = S_dot_.data() + i * n_;
    combine(tableau_.a[i], k_dot_.data(), S_dot);
    for (int j = 0; j < n_; ++j) X_dot[j] = (in_dot.x ? in_dot.x[j] : 0.0) + in_dot.h * S[j] + h_ * S_dot[j];
    const double c = tableau_.c[i];
    field_.jvp(t_ + c * h_, X_.data() + i * n_, p_.data(), in_dot.t + c * in_dot.h, X_dot, in_dot.p,
               k_dot_.data() + i * n_, scratch_.data());
  }
}

void ExplicitRk::step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot) {
  take_inputs(in);
  tangent_stages(in_dot, tableau_.stages);
  combine(tableau_.b, k_.data(), sum_.data());
  combine(tableau_.b, k_dot_.data(), sum_dot_.data());
  for (int j = 0; j < n_; ++j) {
    y_dot[j] = (in_dot.x ? in_dot.x[j] : 0.0) + in_dot.h * sum_[j] + h_ * sum_dot_[j];
  }
}

void ExplicitRk::interpolate_jvp(const StepInput& in, const StepTangent& in_dot, double theta,
                                 double theta_dot, double* y_dot) {
  double w[kMaxStages], dw[kMaxStages], ddw[kMaxStages];
  const int count = tableau_.dense_stages;
  take_inputs(in);
  tangent_stages(in_dot, count);
  tableau_.weights(theta, w, dw, ddw);
  combine(w, count, k_.data(), sum_.data());
  combine(w, count, k_dot_.data(), sum_dot_.data());
  for (int j = 0; j < n_; ++j) {
    y_dot[j] = (in_dot.x ? in_dot.x[j] : 0.0) + in_dot.h * sum_[j] + h_ * sum_dot_[j];
  }
  combine(dw, count, k_.data(), sum_.data());
  for (int j = 0; j < n_; ++j) y_dot[j] += h_ * theta_dot * sum_[j];
}

void ExplicitRk::reverse_stages(const double* weights, const double* y_bar, const StepCotangent& in_bar,
                                int count) {
  field_.rk_stages_vjp(stages(), count, weights, y_bar,
                       {in_bar.t, in_bar.h, in_bar.x, in_bar.p, X_bar_.data(), k_bar_.data()});
}

void ExplicitRk::step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar) {
  double w[kMaxStages];
  take_inputs(in);
  const int count = solution_weights(tableau_, w);
  compute_stages(count);
  combine(tableau_.b, k_.data(), sum_.data());
  *in_bar.h += dot(sum_.data(), y_bar);
  reverse_stages(w, y_bar, in_bar, count);
}

void ExplicitRk::interpolate_vjp(const StepInput& in, double theta, const double* y_bar,
                                 const StepCotangent& in_bar, double* theta_bar) {
  double w[kMaxStages], dw[kMaxStages], ddw[kMaxStages];
  const int count = tableau_.dense_stages;
  take_inputs(in);
  compute_stages(count);
  tableau_.weights(theta, w, dw, ddw);
  combine(w, count, k_.data(), sum_.data());
  *in_bar.h += dot(sum_.data(), y_bar);
  combine(dw, count, k_.data(), sum_.data());
  if (theta_bar) *theta_bar += h_ * dot(sum_.data(), y_bar);
  reverse_stages(w, y_bar, in_bar, count);
}

// The tangent of reverse_stages: every line of it, differentiated. k_bar_, k_bar_dot_ and the tangents of the
// stages are set.
void ExplicitRk::reverse_stages_tangent(const StepTangent& in_dot, const StepCotangent& in_bar_dot,
                                        int count) {
  for (int i = count - 1; i >= 0; --i) {
    if (!reached_[i]) continue;
    const double c = tableau_.c[i], t = t_ + c * h_;
    const double* X = X_.data() + i * n_;
    double t_bar = 0, t_bar_dot = 0;
    double* X_bar = X_bar_.data();  // of this stage alone
    double* X_bar_dot = X_bar_dot_.data();
    std::fill_n(X_bar, n_, 0.0);
    std::fill_n(X_bar_dot, n_, 0.0);
    field_.vjp(t, X, p_.data(), k_bar_.data() + i * n_, &t_bar, X_bar, nullptr, scratch_.data());
    field_.vjp_jvp(t, X, p_.data(), k_bar_.data() + i * n_, in_dot.t + c * in_dot.h, X_dot_.data() + i * n_,
                   in_dot.p, k_bar_dot_.data() + i * n_, &t_bar_dot, X_bar_dot, in_bar_dot.p,
                   scratch_.data());
    *in_bar_dot.t += t_bar_dot;
    *in_bar_dot.h += c * t_bar_dot;
    if (i > 0) *in_bar_dot.h += dot(S_dot_.data() + i * n_, X_bar) + dot(S_.data() + i * n_, X_bar_dot);
    for (int j = 0; j < n_; ++j) in_bar_dot.x[j] += X_bar_dot[j];
    for (const auto& term : tableau_.a[i]) {
      double* k_bar = k_bar_.data() + term.stage * n_;
      double* k_bar_dot = k_bar_dot_.data() + term.stage * n_;
      for (int j = 0; j < n_; ++j) {
        k_bar[j] += h_ * term.value * X_bar[j];
        k_bar_dot[j] += term.value * (in_dot.h * X_bar[j] + h_ * X_bar_dot[j]);
      }
      reached_[term.stage] = 1;
    }
  }
}

void ExplicitRk::step_vjp_jvp(const StepInput& in, const StepTangent& in_dot, const double* y_bar,
                              const double* y_bar_dot, const StepCotangent& in_bar_dot) {
  double w[kMaxStages];
  take_inputs(in);
  const int count = solution_weights(tableau_, w);
  tangent_stages(in_dot, count);
  combine(w, count, k_.data(), sum_.data());
  combine(w, count, k_dot_.data(), sum_dot_.data());
  *in_bar_dot.h += dot(sum_dot_.data(), y_bar) + dot(sum_.data(), y_bar_dot);
  for (int i = 0; i < count; ++i) {
    reached_[i] = w[i] != 0;
    for (int j = 0; j < n_; ++j) {
      k_bar_[i * n_ + j] = h_ * w[i] * y_bar[j];
      k_bar_dot_[i * n_ + j] = w[i] * (in_dot.h * y_bar[j] + h_ * y_bar_dot[j]);
    }
  }
  for (int j = 0; j < n_; ++j) in_bar_dot.x[j] += y_bar_dot[j];
  reverse_stages_tangent(in_dot, in_bar_dot, count);
}

void ExplicitRk::interpolate_vjp_jvp(const StepInput& in, const StepTangent& in_dot, double theta,
                                     double theta_dot, const double* y_bar, const double* y_bar_dot,
                                     const StepCotangent& in_bar_dot, double* theta_bar_dot) {
  double w[kMaxStages], dw[kMaxStages], ddw[kMaxStages];
  const int count = tableau_.dense_stages;
  take_inputs(in);
  compute_end();
  tangent_stages(in_dot, count);
  tableau_.weights(theta, w, dw, ddw);
  combine(w, count, k_.data(), sum_.data());
  combine(w, count, k_dot_.data(), sum_dot_.data());
  *in_bar_dot.h += dot(sum_dot_.data(), y_bar) + dot(sum_.data(), y_bar_dot);
  combine(dw, count, k_.data(), sum_.data());
  combine(dw, count, k_dot_.data(), sum_dot_.data());
  *in_bar_dot.h += theta_dot * dot(sum_.data(), y_bar);
  if (theta_bar_dot) {
    *theta_bar_dot +=
        in_dot.h * dot(sum_.data(), y_bar) + h_ * (dot(sum_dot_.data(), y_bar) + dot(sum_.data(), y_bar_dot));
    combine(ddw, count, k_.data(), sum_.data());
    *theta_bar_dot += h_ * theta_dot * dot(sum_.data(), y_bar);
  }
  for (int i = 0; i < count; ++i) {
    reached_[i] = w[i] != 0 || dw[i] != 0;
    for (int j = 0; j < n_; ++j) {
      k_bar_[i * n_ + j] = h_ * w[i] * y_bar[j];
      k_bar_dot_[i * n_ + j] =
          w[i] * (in_dot.h * y_bar[j] + h_ * y_bar_dot[j]) + h_ * dw[i] * theta_dot * y_bar[j];
    }
  }
  for (int j = 0; j < n_; ++j) in_bar_dot.x[j] += y_bar_dot[j];
  reverse_stages_tangent(in_dot, in_bar_dot, count);
}

}  // namespace costate::ode

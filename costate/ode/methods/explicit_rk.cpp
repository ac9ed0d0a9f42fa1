#include "costate/ode/methods/explicit_rk.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "costate/core/error.h"
#include "costate/ode/methods/rk_rows.h"

namespace costate::ode {
namespace {

bool same(const double* a, const std::vector<double>& b) {
  return b.empty() || std::memcmp(a, b.data(), b.size() * sizeof(double)) == 0;
}

}  // namespace

ExplicitRk::ExplicitRk(const Tableau& tableau, const VectorField& field)
    : tableau_(tableau), field_(field), n_(field.states()), np_(field.parameters()) {
  if (!field.mass().empty()) {
    throw Error({"the vector field has a mass matrix, which explicit methods do not take",
                 std::string("method ") + name(),
                 "use an implicit method (rodas5p, radau5), or divide by the mass matrix in the equations"});
  }
  const std::size_t stages = tableau.dense_stages, n = n_;
  x_.resize(n);
  p_.resize(np_);
  y_.resize(n);
  for (auto* v : {&k_, &X_, &S_, &k_dot_, &X_dot_, &S_dot_, &k_bar_, &k_bar_dot_, &X_bar_})
    v->assign(stages * n, 0.0);
  for (auto* v : {&sum_, &sum_dot_, &X_bar_dot_, &error_auxiliary_}) v->assign(n, 0.0);
  scratch_.resize(field.scratch_size());
  reached_.resize(stages);
}

void ExplicitRk::combine(const Tableau::Row& row, const double* k, double* out) const {
  with_states(n_, [&]<int N>() { combine_row<N>(row, k, out, n_); });
}

void ExplicitRk::combine(const double* weights, int count, const double* k, double* out) const {
  std::fill(out, out + n_, 0.0);
  for (int s = 0; s < count; ++s) {
    for (int i = 0; i < n_; ++i) out[i] += weights[s] * k[s * n_ + i];
  }
}

double ExplicitRk::dot(const double* a, const double* b) const {
  double sum = 0;
  for (int i = 0; i < n_; ++i) sum += a[i] * b[i];
  return sum;
}

void ExplicitRk::take_inputs(const StepInput& in) {
  const bool same_p = valid_ && same(in.p, p_);
  const bool same_start = same_p && in.t == t_ && same(in.x, x_);
  if (same_start && in.h == h_) return;
  const int last = tableau_.last;
  if (same_start) {
    known_ = std::min(known_, 1);
  } else if (same_p && last >= 0 && known_ > last && in.t == t_ + h_ &&
             std::memcmp(in.x, X_.data() + last * n_, n_ * sizeof(double)) == 0) {
    std::copy_n(k_.begin() + last * n_, n_, k_.begin());
    std::copy_n(X_.begin() + last * n_, n_, X_.begin());
    known_ = 1;
  } else {
    known_ = 0;
  }
  end_known_ = false;
  loaded_ = 0;
  valid_ = true;
  t_ = in.t;
  h_ = in.h;
  std::copy_n(in.x, n_, x_.begin());
  if (!same_p) std::copy_n(in.p, np_, p_.begin());
}

RkStages ExplicitRk::stages() const {
  return {tableau_, t_, h_, x_.data(), p_.data(), k_.data(), X_.data(), S_.data(), scratch_.data()};
}

void ExplicitRk::compute_stages(int count) const {
  if (known_ >= count) return;
  field_.rk_stages(stages(), known_, count, loaded_);
  rhs_ += std::max(0, count - std::max(known_, loaded_));
  known_ = count;
}

void ExplicitRk::compute_end() const {
  if (end_known_) return;
  compute_stages(tableau_.stages);
  if (const int last = tableau_.last; last >= 0) {
    // The argument of the last stage is the end of the step. It comes from the same code as when that stage
    // is evaluated, so that it has the same bits and k of it may serve as the first of the next step.
    if (known_ <= last) field_.rk_stages(stages(), last, last + 1, last + 1);
    std::copy_n(X_.begin() + last * n_, n_, y_.begin());
  } else {
    combine(tableau_.b, k_.data(), sum_.data());
    for (int j = 0; j < n_; ++j) y_[j] = x_[j] + h_ * sum_[j];
  }
  end_known_ = true;
}

bool ExplicitRk::step(const StepInput& in, double* y, double* error) {
  take_inputs(in);
  compute_end();
  std::copy_n(y_.begin(), n_, y);
  if (error && tableau_.error_order > 0) {
    compute_stages(tableau_.error_stages);
    combine(tableau_.error, k_.data(), error);
    for (int j = 0; j < n_; ++j) error[j] *= h_;
    if (!tableau_.error_auxiliary.empty()) {
      combine(tableau_.error_auxiliary, k_.data(), error_auxiliary_.data());
      for (double& e : error_auxiliary_) e *= h_;
    }
  }
  counts_.rhs = rhs_;
  return true;
}

void ExplicitRk::save_stages(double* stages) const { std::copy_n(k_.begin(), stage_size(), stages); }

void ExplicitRk::load_stages(const StepInput& in, const double* stages) {
  take_inputs(in);
  if (known_ >= tableau_.stages) return;
  std::copy_n(stages, stage_size(), k_.begin());
  known_ = 0;
  loaded_ = tableau_.stages;
}

// DOP853: err = |e5| |e5| / sqrt(|e5|^2 + 0.01 |e3|^2), which behaves as h^8 [HNW II.10].
double ExplicitRk::error_norm(const double* error, const double* scale, int components) const {
  if (tableau_.error_auxiliary.empty()) return Stepper::error_norm(error, scale, components);
  double fifth = 0, third = 0;
  for (int i = 0; i < components; ++i) {
    const double e5 = error[i] / scale[i], e3 = error_auxiliary_[i] / scale[i];
    fifth += e5 * e5;
    third += e3 * e3;
  }
  const double denominator = fifth + 0.01 * third;
  return denominator > 0 ? fifth / std::sqrt(denominator * components) : 0.0;
}

double ExplicitRk::fastest_mode() const {
  const int last = tableau_.last;
  if (last < 1 || known_ <= last || tableau_.c[last - 1] != 1) return 0;
  double of_f = 0, of_x = 0;
  for (int i = 0; i < n_; ++i) {
    const int a = last * n_ + i, b = a - n_;
    of_f += (k_[a] - k_[b]) * (k_[a] - k_[b]);
    of_x += (X_[a] - X_[b]) * (X_[a] - X_[b]);
  }
  return of_x > 0 ? std::abs(h_) * std::sqrt(of_f / of_x) : 0.0;
}

void ExplicitRk::interpolate(double theta, double* y) const {
  double w[kMaxStages], dw[kMaxStages], ddw[kMaxStages];
  compute_end();
  compute_stages(tableau_.dense_stages);
  tableau_.weights(theta, w, dw, ddw);
  combine(w, tableau_.dense_stages, k_.data(), sum_.data());
  for (int j = 0; j < n_; ++j) y[j] = x_[j] + h_ * sum_[j];
}

}  // namespace costate::ode

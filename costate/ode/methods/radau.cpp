#include "costate/ode/methods/radau.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/ode/methods/radau_tableau.h"

namespace costate::ode {

using namespace radau;

namespace {

// An update this many times the tolerance, or the rounding of the largest state, that no longer shrinks is
// round-off, not divergence.
constexpr double kRoundOffUpdate = 100;
constexpr double kEps = std::numeric_limits<double>::epsilon();

bool finite(const std::vector<double>& v) {
  return std::all_of(v.begin(), v.end(), [](double e) { return std::isfinite(e); });
}

}  // namespace

Radau5::Radau5(const VectorField& field, RadauOptions options)
    : ImplicitStepper(field, 3),
      options_(options),
      real_(n_),
      complex_(n_),
      k_(3 * n_),
      w_(3 * n_),
      f_(3 * n_),
      jacobian_(std::size_t(n_) * n_),
      right_(3 * n_),
      sum_(n_),
      x_bar_(n_),
      pair_(n_),
      z_dot_(3 * n_),
      mu_(3 * n_),
      scratch_(field.scratch_size()),
      previous_z_(3 * n_),
      previous_end_(n_) {}

void Radau5::evaluate_jacobian(const StepInput& in) {
  field_.newton_jacobian(in.t, in.x, in.p, jacobian_.data(), scratch_.data());
  if (!field_.constant_newton_jacobian()) ++counts_.jacobians;
  jacobian_known_ = jacobian_fresh_ = true;
  factorised_h_ = 0;
}

// The real and the complex Newton matrix.
bool Radau5::factorise(double h) {
  double* real = real_.matrix();
  std::complex<double>* pair = complex_.matrix();
  for (int k = 0; k < n_ * n_; ++k) real[k] = -jacobian_[k], pair[k] = -jacobian_[k];
  mass_.add_matrix(kGamma / h, real, n_);
  mass_.add_matrix(std::complex<double>(kAlpha / h, kBeta / h), pair, n_);
  counts_.factorisations += 2;
  factorised_h_ = h;
  return real_.factorise() && complex_.factorise();
}

void Radau5::guess(const StepInput& in) {
  std::fill(w_.begin(), w_.end(), 0.0);
  std::fill(z_.begin(), z_.end(), 0.0);
  if (previous_h_ == 0) return;
  for (int i = 0; i < 3; ++i) {
    const double theta = 1 + kC[i] * in.h / previous_h_;
    double* z_i = stage(z_, i);
    for (int j = 0; j < 3; ++j) {
      const double l = weight(j, theta) - (j == 2 ? 1 : 0);  // less the end of that step, which is x
      const double* z_j = stage(previous_z_, j);
      for (int k = 0; k < n_; ++k) z_i[k] += l * z_j[k];
    }
  }
  for (int i = 0; i < 3; ++i) {
    double* w_i = stage(w_, i);
    for (int j = 0; j < 3; ++j) {
      const double* z_j = stage(z_, j);
      for (int k = 0; k < n_; ++k) w_i[k] += kInverseT[i][j] * z_j[k];
    }
  }
}

// Simplified Newton for W = T^-1 Z:  (Lambda/h (x) M - I (x) J) dW = T^-1 F(T W) - Lambda/h (x) M W.
bool Radau5::converge_stages(const StepInput& in) {
  const double h = in.h;
  guess(in);
  double *w1 = stage(w_, 0), *w2 = stage(w_, 1), *w3 = stage(w_, 2);
  double *r1 = stage(right_, 0), *r2 = stage(right_, 1), *r3 = stage(right_, 2);
  double last = 0;
  for (int iteration = 0; iteration < options_.max_newton; ++iteration) {
    ++counts_.newton_iterations;
    for (int i = 0; i < 3; ++i) {
      double *x_i = stage(x_stage_, i), *z_i = stage(z_, i);
      for (int k = 0; k < n_; ++k) x_i[k] = in.x[k] + z_i[k];
      field_.value(in.t + kC[i] * h, x_i, in.p, stage(f_, i), scratch_.data());
    }
    counts_.rhs += 3;
    const double *f1 = stage(f_, 0), *f2 = stage(f_, 1), *f3 = stage(f_, 2);
    for (int k = 0; k < n_; ++k) {
      r1[k] = kInverseT[0][0] * f1[k] + kInverseT[0][1] * f2[k] + kInverseT[0][2] * f3[k];
      r2[k] = kInverseT[1][0] * f1[k] + kInverseT[1][1] * f2[k] + kInverseT[1][2] * f3[k];
      r3[k] = kInverseT[2][0] * f1[k] + kInverseT[2][1] * f2[k] + kInverseT[2][2] * f3[k];
    }
    mass_.add(-kGamma / h, w1, r1);
    mass_.add(-kAlpha / h, w2, r2);
    mass_.add(kBeta / h, w3, r2);
    mass_.add(-kBeta / h, w2, r3);
    mass_.add(-kAlpha / h, w3, r3);

    real_.solve(r1, r1);
    for (int k = 0; k < n_; ++k) pair_[k] = {r2[k], r3[k]};
    complex_.solve(pair_.data(), pair_.data());

    double update = 0, largest = 0, size = 0;
    for (int k = 0; k < n_; ++k) {
      const double scale = 1 / (options_.newton_atol + options_.newton_rtol * std::abs(in.x[k]));
      const double d1 = r1[k] * scale, d2 = pair_[k].real() * scale, d3 = pair_[k].imag() * scale;
      update += d1 * d1 + d2 * d2 + d3 * d3;
      largest = std::max({largest, std::abs(r1[k]), std::abs(pair_[k].real()), std::abs(pair_[k].imag())});
      size = std::max({size, std::abs(in.x[k]), std::abs(stage(z_, 2)[k])});
      w1[k] += r1[k];
      w2[k] += pair_[k].real();
      w3[k] += pair_[k].imag();
    }
    update = std::sqrt(update / (3 * n_));
    if (!std::isfinite(update)) return false;
    for (int i = 0; i < 3; ++i) {
      double* z_i = stage(z_, i);
      for (int k = 0; k < n_; ++k) z_i[k] = kT[i][0] * w1[k] + kT[i][1] * w2[k] + kT[i][2] * w3[k];
    }
    iterations_ = iteration + 1;
    contraction_ = iteration > 0 ? update / last : 0;
    if (update == 0) return true;
    if (iteration > 0 && options_.carry) {
      const double theta = contraction_, left = options_.max_newton - 1 - iteration;
      if (theta >= 1 || std::pow(theta, left) / (1 - theta) * update > 1) return false;
      if (theta / (1 - theta) * update < 1) return true;
    } else if (iteration > 0) {
      // With a contraction of theta per iteration, theta/(1 - theta) of this update is still to come.
      const double theta = update / last;
      if (theta < 1 && theta / (1 - theta) * update < 1) return true;
      if (theta >= 0.9 && (update < kRoundOffUpdate || largest < kRoundOffUpdate * kEps * size)) return true;
      if (theta >= 2 || (theta >= 0.99 && iteration > 2)) return false;
    }
    last = update;
  }
  return false;
}

bool Radau5::estimate_error(const StepInput& in, double* error) {
  std::fill(sum_.begin(), sum_.end(), 0.0);
  const double *z1 = stage(z_, 0), *z2 = stage(z_, 1), *z3 = stage(z_, 2);
  double *combined = stage(right_, 0), *value = stage(right_, 1), *filtered = stage(right_, 2);
  for (int k = 0; k < n_; ++k) combined[k] = (kE[0] * z1[k] + kE[1] * z2[k] + kE[2] * z3[k]) / in.h;
  mass_.add(1.0, combined, sum_.data());
  const bool known =
      !known_x_.empty() && in.t == known_t_ && std::equal(known_x_.begin(), known_x_.end(), in.x);
  if (known) {
    std::copy_n(known_f_.begin(), n_, value);
  } else {
    field_.value(in.t, in.x, in.p, value, scratch_.data());
    ++counts_.rhs;
    know_rate(in.t, in.x, value);
  }
  for (int k = 0; k < n_; ++k) value[k] += sum_[k];
  real_.solve(value, error);
  // A second filter rescues steps that the first rejects too easily: after a rejection only, as in [1].
  if (options_.carry && !again_)
    return std::all_of(error, error + n_, [](double e) { return std::isfinite(e); });

  double* moved = stage(x_stage_, 0);
  for (int k = 0; k < n_; ++k) moved[k] = in.x[k] + error[k];
  field_.value(in.t, moved, in.p, value, scratch_.data());
  ++counts_.rhs;
  for (int k = 0; k < n_; ++k) value[k] += sum_[k];
  real_.solve(value, filtered);
  const bool usable = std::all_of(filtered, filtered + n_, [](double e) { return std::isfinite(e); });
  if (usable) std::copy(filtered, filtered + n_, error);
  return std::all_of(error, error + n_, [](double e) { return std::isfinite(e); });
}

// With the matrices of an earlier step, as long as they lead anywhere.
bool Radau5::carried_stages(const StepInput& in) {
  if (!jacobian_known_) evaluate_jacobian(in);
  for (;;) {
    if (factorised_h_ != in.h && !factorise(in.h)) return false;
    if (converge_stages(in)) return true;
    if (jacobian_fresh_ || field_.constant_newton_jacobian()) return false;
    evaluate_jacobian(in);
  }
}

void Radau5::know_rate(double t, const double* x, const double* f) {
  if (!options_.carry) return;
  known_t_ = t;
  known_x_.assign(x, x + n_);
  known_f_.assign(f, f + n_);
}

// The predictive controller of [1, eq. IV.8.25]: the error is expected to go on changing as it did over the
// last step.
double Radau5::settle(double*, const double*, int, double err, double factor) {
  if (!options_.carry) return factor;
  err = std::max(err, 1e-10);
  const double trend =
      accepted_h_ != 0 ? std::abs(h_ / accepted_h_) * std::pow(accepted_error_ / err, 0.25) : 1;
  const double safety = 0.9 * (2 * options_.max_newton + 1) / (2 * options_.max_newton + iterations_);
  factor = std::min(10.0, safety * std::min(1.0, trend) * std::pow(err, -0.25));
  accepted_h_ = h_;
  accepted_error_ = err;
  if (iterations_ > 2 && contraction_ > 1e-3 && !field_.constant_newton_jacobian()) {
    jacobian_known_ = false;
    return factor;
  }
  return factor < 1.2 ? 1 : factor;  // the factors of the matrices serve again
}

bool Radau5::step(const StepInput& in, double* y, double* error) {
  if (options_.carry) {
    // Does this step go on from the last one, or is it that one with another length?
    const bool goes_on =
        known_ != Known::nothing && std::equal(previous_end_.begin(), previous_end_.end(), in.x);
    again_ = in.t == t_ && h_ != 0 && std::equal(x_.begin(), x_.end(), in.x);
    if (goes_on) {
      previous_h_ = h_;
      previous_z_ = z_;
    } else if (!again_) {
      previous_h_ = 0;
    }
    if (!again_) jacobian_fresh_ = false;
    hold(in);
    if (!carried_stages(in) || !finite(z_)) return false;
  } else {
    hold(in);
    evaluate_jacobian(in);
    if (!factorise(in.h) || !converge_stages(in) || !finite(z_)) return false;
  }
  known_ = Known::stages;
  const double* z3 = stage(z_, 2);
  for (int k = 0; k < n_; ++k) y[k] = in.x[k] + z3[k];
  if (options_.carry) std::copy_n(y, n_, previous_end_.begin());
  return !error || estimate_error(in, error);
}

void Radau5::interpolate(double theta, double* y) const {
  std::copy(x_.begin(), x_.end(), y);
  for (int i = 0; i < 3; ++i) {
    const double l = weight(i, theta);
    const double* z_i = stage(z_, i);
    for (int k = 0; k < n_; ++k) y[k] += l * z_i[k];
  }
}

}  // namespace costate::ode

#include "costate/ode/methods/bdf.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/core/error.h"
#include "costate/ode/methods/bdf_coefficients.h"

namespace costate::ode {

using namespace bdf;

namespace {

constexpr int kIterations = 4;
constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kShrinkMost = 0.2, kGrowMost = 10;

double rms(const double* v, double factor, const double* scale, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += std::pow(factor * v[i] / scale[i], 2);
  return std::sqrt(sum / count);
}

}  // namespace

Bdf::Bdf(const VectorField& field, const MethodTolerance& tolerance)
    : field_(field),
      n_(field.states()),
      rtol_(tolerance.rtol),
      atol_(tolerance.atol),
      newton_tolerance_(std::max(10 * kEps / std::max(rtol_, kEps), std::min(0.03, std::sqrt(rtol_)))),
      x_(kRows * n_ + 3),
      p_(field.parameters()),
      differences_(kRows * n_),
      updated_(kRows * n_),
      predicted_(n_),
      psi_(n_),
      d_(n_),
      y_(n_),
      f_(n_),
      start_f_(n_),
      right_(n_),
      scratch_(field.scratch_size()),
      derivative_lu_(n_),
      jacobian_(std::size_t(n_) * n_),
      lu_(n_),
      differences_dot_(kRows * n_),
      updated_dot_(kRows * n_),
      updated_bar_(kRows * n_),
      differences_bar_(kRows * n_),
      mu_(n_),
      predicted_bar_(n_),
      fx_(std::size_t(n_) * n_) {
  if (!field.mass().empty())
    throw Error({"bdf solves x' = f(t, x, p), without a mass matrix", "", "use radau5 or rodas5p"});
}

Bdf::Square Bdf::rescaling(int order, double rho, Square* rate) {
  Square map{}, at{}, at_rate{};
  for (int j = 0; j <= order; ++j) {  // P and its motion at -j rho
    at[0][j] = 1;
    for (int i = 1; i <= order; ++i) {
      const double factor = (i - 1 - j * rho) / i, factor_rate = -double(j) / i;
      at[i][j] = at[i - 1][j] * factor;
      at_rate[i][j] = at_rate[i - 1][j] * factor + at[i - 1][j] * factor_rate;
    }
  }
  if (rate) *rate = {};
  for (int k = 0; k <= order; ++k) {
    double signed_binomial = 1;  // (-1)^j C(k, j)
    for (int j = 0; j <= k; ++j) {
      for (int i = 0; i <= order; ++i) {
        map[i][k] += signed_binomial * at[i][j];
        if (rate) (*rate)[i][k] += signed_binomial * at_rate[i][j];
      }
      signed_binomial *= -double(k - j) / (j + 1);
    }
  }
  return map;
}

std::array<double, Bdf::kMaxOrder + 1> Bdf::newton_basis(int order, double s,
                                                         std::array<double, kMaxOrder + 1>* rate) {
  std::array<double, kMaxOrder + 1> basis{1};
  if (rate) *rate = {};
  for (int j = 1; j <= order; ++j) {
    basis[j] = basis[j - 1] * (j - 1 + s) / j;
    if (rate) (*rate)[j] = ((*rate)[j - 1] * (j - 1 + s) + basis[j - 1]) / j;
  }
  return basis;
}

bool Bdf::holds(const StepInput& in) const {
  return known_ && in.t == t_ && in.h == h_ && std::equal(x_.begin(), x_.end(), in.x) &&
         std::equal(p_.begin(), p_.end(), in.p);
}

void Bdf::hold(const StepInput& in) {
  t_ = in.t, h_ = in.h;
  std::copy_n(in.x, x_.size(), x_.begin());
  std::copy_n(in.p, p_.size(), p_.begin());
  known_ = linearised_ = false;
}

void Bdf::predict(const StepInput& in) {
  order_ = int(x_[order_place()]);
  std::fill(differences_.begin(), differences_.end(), 0.0);
  if (order_ == 0) {
    order_ = 1;
    if (known_x_.empty() || in.t != known_t_ || !std::equal(known_x_.begin(), known_x_.end(), in.x)) {
      field_.value(in.t, in.x, in.p, start_f_.data(), scratch_.data());
      ++counts_.rhs;
      known_x_.clear();
    }
    for (int i = 0; i < n_; ++i) {
      differences_[i] = in.x[i];
      differences_[n_ + i] = in.h * start_f_[i];
    }
  } else if (in.h == x_[old_spacing()]) {
    std::copy_n(in.x, differences_.size(), differences_.begin());
  } else {
    const Square map = rescaling(order_, in.h / x_[old_spacing()], nullptr);
    for (int k = 0; k <= order_; ++k) {
      double* to = row(differences_, k);
      for (int j = 0; j <= order_; ++j) {
        const double* from = row(x_, j);
        for (int i = 0; i < n_; ++i) to[i] += map[j][k] * from[i];
      }
    }
    std::copy_n(row(x_, order_ + 1), n_, row(differences_, order_ + 1));
  }
  std::copy_n(row(differences_, 0), n_, predicted_.begin());
  std::fill(psi_.begin(), psi_.end(), 0.0);
  for (int j = 1; j <= order_; ++j) {
    const double* d = row(differences_, j);
    for (int i = 0; i < n_; ++i) {
      predicted_[i] += d[i];
      psi_[i] += kGamma[j] / alpha(order_) * d[i];
    }
  }
  c_ = in.h / alpha(order_);
}

// Simplified Newton for d, from zero.
bool Bdf::iterate(const StepInput& in) {
  std::fill(d_.begin(), d_.end(), 0.0);
  std::copy(predicted_.begin(), predicted_.end(), y_.begin());
  double last = 0;
  for (iterations_ = 1; iterations_ <= kIterations; ++iterations_) {
    field_.value(in.t + in.h, y_.data(), in.p, f_.data(), scratch_.data());
    ++counts_.rhs;
    ++counts_.newton_iterations;
    for (int i = 0; i < n_; ++i) right_[i] = c_ * f_[i] - psi_[i] - d_[i];
    lu_.solve(right_.data(), right_.data());
    double update = 0;
    for (int i = 0; i < n_; ++i) update += std::pow(right_[i] / (atol_ + rtol_ * std::abs(predicted_[i])), 2);
    update = std::sqrt(update / n_);
    if (!std::isfinite(update)) return false;
    // With a contraction of theta per iteration, theta / (1 - theta) of this update is still to come.
    const double theta = iterations_ > 1 ? update / last : 0;
    if (iterations_ > 1 &&
        (theta >= 1 ||
         std::pow(theta, kIterations - iterations_ + 1) / (1 - theta) * update > newton_tolerance_))
      return false;
    for (int i = 0; i < n_; ++i) {
      d_[i] += right_[i];
      y_[i] = predicted_[i] + d_[i];
    }
    if (update == 0 || (iterations_ > 1 && theta / (1 - theta) * update < newton_tolerance_)) return true;
    last = update;
  }
  return false;
}

bool Bdf::converge(const StepInput& in) {
  const auto evaluate_jacobian = [&](double t, const double* x) {
    field_.newton_jacobian(t, x, in.p, jacobian_.data(), scratch_.data());
    if (!field_.constant_newton_jacobian()) ++counts_.jacobians;
    jacobian_known_ = jacobian_fresh_ = true;
    factorised_c_ = 0;
  };
  jacobian_fresh_ = false;
  if (!jacobian_known_) {
    evaluate_jacobian(in.t, in.x);
    jacobian_fresh_ = false;  // of the start, not of the end that the equation is about
  }
  for (;;) {
    if (factorised_c_ != c_) {
      double* a = lu_.matrix();
      for (int k = 0; k < n_ * n_; ++k) a[k] = -c_ * jacobian_[k];
      for (int i = 0; i < n_; ++i) a[i * n_ + i] += 1;
      ++counts_.factorisations;
      if (!lu_.factorise()) return false;
      factorised_c_ = c_;
    }
    if (iterate(in)) return true;
    if (jacobian_fresh_ || field_.constant_newton_jacobian()) return false;
    evaluate_jacobian(in.t + in.h, predicted_.data());
  }
}

void Bdf::update() {
  const int q = order_;
  std::fill(updated_.begin(), updated_.end(), 0.0);
  for (int i = 0; i < n_; ++i) {
    row(updated_, q + 2)[i] = d_[i] - row(differences_, q + 1)[i];
    double above = row(updated_, q + 1)[i] = d_[i];
    for (int j = q; j >= 0; --j) above = row(updated_, j)[i] = row(differences_, j)[i] + above;
  }
}

bool Bdf::step(const StepInput& in, double* y, double* error) {
  hold(in);
  predict(in);
  if (!converge(in)) return false;
  update();
  known_ = true;
  std::copy(updated_.begin(), updated_.end(), y);
  y[old_spacing()] = in.h;
  y[order_place()] = order_;
  y[count_place()] = in.h == x_[old_spacing()] ? x_[count_place()] + 1 : 1;
  if (error)
    for (int i = 0; i < n_; ++i) error[i] = error_constant(order_) * d_[i];
  return true;
}

void Bdf::know_rate(double t, const double* x, const double* f) {
  known_t_ = t;
  known_x_.assign(x, x + n_);
  std::copy_n(f, n_, start_f_.begin());
}

double Bdf::shrink(double err, double) {
  const double safety = 0.9 * (2 * kIterations + 1) / (2 * kIterations + iterations_);
  return std::max(kShrinkMost, safety * std::pow(err, -1.0 / (order_ + 1)));
}

// The order that allows the longest step, once as many equal steps lie behind as the differences need.
double Bdf::settle(double* y, const double* scale, int components, double, double) {
  const int q = order_;
  if (y[count_place()] < q + 1) return 1;
  constexpr double kNever = 0;
  const auto factor_of = [&](int order, const double* differences) {
    const double err = rms(differences, error_constant(order), scale, components);
    return err > 0 ? std::pow(err, -1.0 / (order + 1)) : std::numeric_limits<double>::infinity();
  };
  const double same = factor_of(q, d_.data());
  const double lower = q > 1 ? factor_of(q - 1, row(updated_, q)) : kNever;
  const double higher = q < kMaxOrder ? factor_of(q + 1, row(updated_, q + 2)) : kNever;
  const double best = std::max({same, lower, higher});
  if (best == lower)
    y[order_place()] = q - 1;
  else if (best != same)
    y[order_place()] = q + 1;
  y[count_place()] = 0;
  const double safety = 0.9 * (2 * kIterations + 1) / (2 * kIterations + iterations_);
  return std::min(kGrowMost, safety * best);
}

double Bdf::jacobian_norm() const {
  if (!jacobian_known_) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (int i = 0; i < n_; ++i) {
    double sum = 0;
    for (int j = 0; j < n_; ++j) sum += std::abs(jacobian_[std::size_t(i) * n_ + j]);
    largest = std::max(largest, sum);
  }
  return largest;
}

void Bdf::interpolate(double theta, double* y) const {
  const auto basis = newton_basis(order_, theta - 1, nullptr);
  std::copy_n(row(updated_, 0), n_, y);
  for (int j = 1; j <= order_; ++j) {
    const double* d = row(updated_, j);
    for (int i = 0; i < n_; ++i) y[i] += basis[j] * d[i];
  }
}

void Bdf::save_stages(double* stages) const { std::copy(d_.begin(), d_.end(), stages); }

void Bdf::load_stages(const StepInput& in, const double* stages) {
  if (holds(in)) return;
  hold(in);
  predict(in);
  std::copy_n(stages, n_, d_.begin());
  update();
  known_ = true;
}

}  // namespace costate::ode

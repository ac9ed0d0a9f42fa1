#include "costate/ode/methods/rosenbrock.h"

#include <algorithm>
#include <cmath>

#include "costate/ode/methods/rodas5p_tableau.h"

namespace costate::ode {

using namespace rodas5p;

Rosenbrock::Rosenbrock(const VectorField& field)
    : ImplicitStepper(field, kStages),
      g_(n_),
      jacobian_(std::size_t(n_) * n_),
      f_t_(n_),
      right_(n_),
      sum_(n_),
      u_dot_(kStages * n_),
      u_bar_(kStages * n_),
      jacobian_dot_(std::size_t(n_) * n_),
      f_t_dot_(n_),
      zero_(std::max(n_, field.parameters())),
      row_(n_),
      lambda_(n_),
      x_bar_(n_),
      scratch_(field.scratch_size()) {}

bool Rosenbrock::factorise(const StepInput& in) {
  field_.jacobian(in.t, in.x, in.p, jacobian_.data(), scratch_.data());
  ++counts_.jacobians;
  double* g = g_.matrix();
  for (int k = 0; k < n_ * n_; ++k) g[k] = -jacobian_[k];
  mass_.add_matrix(1 / (in.h * kGamma), g, n_);
  ++counts_.factorisations;
  if (!g_.factorise()) return false;
  field_.jvp(in.t, in.x, in.p, 1.0, nullptr, nullptr, f_t_.data(), scratch_.data());
  return true;
}

void Rosenbrock::stage_argument(const StepInput& in, int i) {
  double* x_i = stage(x_stage_, i);
  std::copy(in.x, in.x + n_, x_i);
  for (int j = 0; j < i; ++j) {
    const double* u_j = stage(u_, j);
    for (int k = 0; k < n_; ++k) x_i[k] += kA[i][j] * u_j[k];
  }
}

// U_1 ... U_8 at `in`. False: G is singular or a stage is not finite.
bool Rosenbrock::compute_stages(const StepInput& in) {
  const double h = in.h;
  if (!factorise(in)) return false;
  for (int i = 0; i < kStages; ++i) {
    stage_argument(in, i);
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (int j = 0; j < i; ++j) {
      const double* u_j = stage(u_, j);
      const double coupling = kCoupling[i][j] / h;
      for (int k = 0; k < n_; ++k) sum_[k] += coupling * u_j[k];
    }
    field_.value(in.t + kC[i] * h, stage(x_stage_, i), in.p, right_.data(), scratch_.data());
    for (int k = 0; k < n_; ++k) right_[k] += h * kD[i] * f_t_[k];
    mass_.add(1.0, sum_.data(), right_.data());
    g_.solve(right_.data(), stage(u_, i));
  }
  counts_.rhs += kStages;
  return std::all_of(u_.begin(), u_.end(), [](double e) { return std::isfinite(e); });
}

bool Rosenbrock::step(const StepInput& in, double* y, double* error) {
  hold(in);
  if (!compute_stages(in)) return false;
  known_ = Known::all;
  // The last stage's argument already is x + sum b_i U_i without U_8.
  const double *almost = stage(x_stage_, kStages - 1), *last = stage(u_, kStages - 1);
  for (int k = 0; k < n_; ++k) y[k] = almost[k] + last[k];
  if (error) std::copy(last, last + n_, error);
  return true;
}

void Rosenbrock::interpolate(double theta, double* y) const {
  std::copy(x_.begin(), x_.end(), y);
  for (int i = 0; i < kStages; ++i) {
    const double w = weight(i, theta);
    const double* u_i = stage(u_, i);
    for (int k = 0; k < n_; ++k) y[k] += w * u_i[k];
  }
}

}  // namespace costate::ode

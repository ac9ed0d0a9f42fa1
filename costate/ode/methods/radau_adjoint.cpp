// Tangent and transpose of a Radau5 step by the implicit function theorem: the equations are in radau.h.
#include <algorithm>

#include "costate/core/error.h"
#include "costate/ode/methods/radau.h"
#include "costate/ode/methods/radau_tableau.h"

namespace costate::ode {

using namespace radau;

void Radau5::linearise(const StepInput& in) {
  if (holds(in)) {
    if (known_ == Known::all) return;
  } else {
    hold(in);
    evaluate_jacobian(in);
    if (factorise(in.h) && converge_stages(in)) known_ = Known::stages;
  }
  if (known_ == Known::nothing) {
    throw Error({"the stages of a Radau5 step that is to be differentiated did not converge",
                 "t = " + std::to_string(in.t) + ", h = " + std::to_string(in.h),
                 "differentiate accepted steps only"},
                Error::Kind::numerics);
  }
  double* k = k_.matrix();
  const int rows = 3 * n_;
  std::fill(k, k + rows * rows, 0.0);
  for (int i = 0; i < 3; ++i) {
    double *x_i = stage(x_stage_, i), *z_i = stage(z_, i);
    for (int m = 0; m < n_; ++m) x_i[m] = in.x[m] + z_i[m];
    const double t_i = in.t + kC[i] * in.h;
    field_.value(t_i, x_i, in.p, stage(f_, i), scratch_.data());
    field_.jacobian(t_i, x_i, in.p, jacobian_.data(), scratch_.data());
    jacobian_known_ = false;
    for (int j = 0; j < 3; ++j) mass_.add_matrix(kInverseA[i][j], k + (i * n_) * rows + j * n_, rows);
    double* block = k + (i * n_) * rows + i * n_;
    for (int r = 0; r < n_; ++r) {
      for (int c = 0; c < n_; ++c) block[r * rows + c] -= in.h * jacobian_[r * n_ + c];
    }
  }
  counts_.rhs += 3;
  counts_.jacobians += 3;
  ++counts_.factorisations;
  if (!k_.factorise()) {
    throw Error({"the stage equations of a Radau5 step are singular, so its derivative does not exist",
                 "t = " + std::to_string(in.t) + ", h = " + std::to_string(in.h),
                 "a differential-algebraic problem must have index 1: its algebraic equations must determine "
                 "the algebraic states"},
                Error::Kind::numerics);
  }
  known_ = Known::all;
}

void Radau5::interpolate_jvp(const StepInput& in, const StepTangent& in_dot, double theta, double theta_dot,
                             double* y_dot) {
  linearise(in);
  for (int i = 0; i < 3; ++i) {
    double* right = stage(right_, i);
    const double* f_i = stage(f_, i);
    field_.jvp(in.t + kC[i] * in.h, stage(x_stage_, i), in.p, in_dot.t + kC[i] * in_dot.h, in_dot.x, in_dot.p,
               right, scratch_.data());
    for (int k = 0; k < n_; ++k) right[k] = in_dot.h * f_i[k] + in.h * right[k];
  }
  k_.solve(right_.data(), z_dot_.data());
  for (int k = 0; k < n_; ++k) y_dot[k] = in_dot.x ? in_dot.x[k] : 0;
  for (int i = 0; i < 3; ++i) {
    const double l = weight(i, theta), l_dot = weight_rate(i, theta) * theta_dot;
    const double *z_i = stage(z_, i), *z_i_dot = stage(z_dot_, i);
    for (int k = 0; k < n_; ++k) y_dot[k] += l * z_i_dot[k] + l_dot * z_i[k];
  }
}

void Radau5::interpolate_vjp(const StepInput& in, double theta, const double* y_bar,
                             const StepCotangent& in_bar, double* theta_bar) {
  linearise(in);
  for (int i = 0; i < 3; ++i) {
    const double l = weight(i, theta);
    double *z_i_bar = stage(mu_, i), rate = 0;
    const double* z_i = stage(z_, i);
    for (int k = 0; k < n_; ++k) z_i_bar[k] = l * y_bar[k], rate += z_i[k] * y_bar[k];
    if (theta_bar) *theta_bar += weight_rate(i, theta) * rate;
  }
  for (int k = 0; k < n_; ++k) in_bar.x[k] += y_bar[k];

  k_.solve_transposed(mu_.data(), mu_.data());
  for (int i = 0; i < 3; ++i) {
    double *mu_i = stage(mu_, i), t_bar = 0, h_bar = 0;
    const double* f_i = stage(f_, i);
    for (int k = 0; k < n_; ++k) h_bar += mu_i[k] * f_i[k], mu_i[k] *= in.h;
    field_.vjp(in.t + kC[i] * in.h, stage(x_stage_, i), in.p, mu_i, &t_bar, in_bar.x, in_bar.p,
               scratch_.data());
    *in_bar.t += t_bar;
    *in_bar.h += h_bar + kC[i] * t_bar;
  }
}

}  // namespace costate::ode

// Tangent and transpose of a Rosenbrock step: the equations are in rosenbrock.h.
#include <algorithm>

#include "costate/core/error.h"
#include "costate/ode/methods/rodas5p_tableau.h"
#include "costate/ode/methods/rosenbrock.h"

namespace costate::ode {

using namespace rodas5p;

void Rosenbrock::stages_for_derivative(const StepInput& in) {
  if (!field_.has_second_order()) {
    throw Error(
        {"the derivative of a Rosenbrock step needs second derivatives of the vector field, which this field "
         "does not give",
         "",
         "use method = \"radau5\", which needs first derivatives alone, or a field with has_second_order()"});
  }
  if (!holds(in)) {
    hold(in);
    if (compute_stages(in)) known_ = Known::all;
  } else if (known_ == Known::stages && factorise(in)) {
    for (int i = 0; i < kStages; ++i) stage_argument(in, i);
    known_ = Known::all;
  }
  if (known_ != Known::all) {
    throw Error({"a Rosenbrock step that is to be differentiated has a singular stage matrix or stages that "
                 "are not finite",
                 "t = " + std::to_string(in.t) + ", h = " + std::to_string(in.h),
                 "differentiate accepted steps only"},
                Error::Kind::numerics);
  }
}

void Rosenbrock::jacobian_rate(const StepInput& in, const StepTangent& in_dot) {
  const double* x_dot = in_dot.x ? in_dot.x : zero_.data();
  const double* p_dot = in_dot.p ? in_dot.p : zero_.data();
  std::fill(jacobian_dot_.begin(), jacobian_dot_.end(), 0.0);
  std::fill(f_t_dot_.begin(), f_t_dot_.end(), 0.0);
  for (int i = 0; i < n_; ++i) {
    row_[i] = 1;
    field_.vjp_jvp(in.t, in.x, in.p, row_.data(), in_dot.t, x_dot, p_dot, zero_.data(), &f_t_dot_[i],
                   jacobian_dot_.data() + std::size_t(i) * n_, nullptr, scratch_.data());
    row_[i] = 0;
  }
}

void Rosenbrock::interpolate_jvp(const StepInput& in, const StepTangent& in_dot, double theta,
                                 double theta_dot, double* y_dot) {
  stages_for_derivative(in);
  std::fill(row_.begin(), row_.end(), 0.0);
  jacobian_rate(in, in_dot);
  const double h = in.h, h_dot = in_dot.h;
  for (int k = 0; k < n_; ++k) y_dot[k] = in_dot.x ? in_dot.x[k] : 0;

  for (int i = 0; i < kStages; ++i) {
    // The argument of f and the coupling to earlier stages move...
    for (int k = 0; k < n_; ++k) x_bar_[k] = in_dot.x ? in_dot.x[k] : 0, sum_[k] = 0;
    for (int j = 0; j < i; ++j) {
      const double *u_j = stage(u_, j), *u_j_dot = stage(u_dot_, j);
      const double coupling = kCoupling[i][j] / h;
      for (int k = 0; k < n_; ++k) {
        x_bar_[k] += kA[i][j] * u_j_dot[k];
        sum_[k] += coupling * (u_j_dot[k] - h_dot / h * u_j[k]);
      }
    }
    field_.jvp(in.t + kC[i] * h, stage(x_stage_, i), in.p, in_dot.t + kC[i] * h_dot, x_bar_.data(), in_dot.p,
               right_.data(), scratch_.data());
    // ... and so does G: minus its rate times U_i.
    const double* u_i = stage(u_, i);
    for (int k = 0; k < n_; ++k) {
      sum_[k] += h_dot / (h * h * kGamma) * u_i[k];
      right_[k] += kD[i] * (h_dot * f_t_[k] + h * f_t_dot_[k]);
      for (int l = 0; l < n_; ++l) right_[k] += jacobian_dot_[k * n_ + l] * u_i[l];
    }
    mass_.add(1.0, sum_.data(), right_.data());
    double* u_i_dot = stage(u_dot_, i);
    g_.solve(right_.data(), u_i_dot);

    const double w = weight(i, theta), w_dot = weight_rate(i, theta) * theta_dot;
    for (int k = 0; k < n_; ++k) y_dot[k] += w * u_i_dot[k] + w_dot * u_i[k];
  }
}

void Rosenbrock::interpolate_vjp(const StepInput& in, double theta, const double* y_bar,
                                 const StepCotangent& in_bar, double* theta_bar) {
  stages_for_derivative(in);
  const double h = in.h;
  for (int i = 0; i < kStages; ++i) {
    const double w = weight(i, theta), w_rate = weight_rate(i, theta);
    const double* u_i = stage(u_, i);
    double *u_i_bar = stage(u_bar_, i), rate = 0;
    for (int k = 0; k < n_; ++k) u_i_bar[k] = w * y_bar[k], rate += u_i[k] * y_bar[k];
    if (theta_bar) *theta_bar += w_rate * rate;
  }
  for (int k = 0; k < n_; ++k) in_bar.x[k] += y_bar[k];

  for (int i = kStages - 1; i >= 0; --i) {
    g_.solve_transposed(stage(u_bar_, i), lambda_.data());
    const double* u_i = stage(u_, i);

    // f at the stage's argument.
    double t_bar = 0;
    std::fill(x_bar_.begin(), x_bar_.end(), 0.0);
    field_.vjp(in.t + kC[i] * h, stage(x_stage_, i), in.p, lambda_.data(), &t_bar, x_bar_.data(), in_bar.p,
               scratch_.data());
    *in_bar.t += t_bar;
    double h_bar = kC[i] * t_bar;
    for (int k = 0; k < n_; ++k) in_bar.x[k] += x_bar_[k];

    // Coupling to earlier stages: through the argument and through C_ij/h.
    std::fill(sum_.begin(), sum_.end(), 0.0);
    mass_.add_transposed(1.0, lambda_.data(), sum_.data());
    for (int j = 0; j < i; ++j) {
      const double coupling = kCoupling[i][j] / h;
      const double* u_j = stage(u_, j);
      double *u_j_bar = stage(u_bar_, j), moved = 0;
      for (int k = 0; k < n_; ++k) {
        u_j_bar[k] += kA[i][j] * x_bar_[k] + coupling * sum_[k];
        moved += sum_[k] * u_j[k];
      }
      h_bar -= coupling / h * moved;
    }

    // G and f_t: M/(h gamma), then the second derivatives of f.
    double moved = 0;
    for (int k = 0; k < n_; ++k) {
      moved += sum_[k] * u_i[k];
      h_bar += kD[i] * lambda_[k] * f_t_[k];
    }
    *in_bar.h += h_bar + moved / (h * h * kGamma);
    field_.vjp_jvp(in.t, in.x, in.p, lambda_.data(), h * kD[i], u_i, zero_.data(), zero_.data(), in_bar.t,
                   in_bar.x, in_bar.p, scratch_.data());
  }
}

}  // namespace costate::ode

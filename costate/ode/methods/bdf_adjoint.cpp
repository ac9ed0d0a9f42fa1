// Tangent and transpose of a Bdf step: the equations are in bdf.h.
//
// predict, converge and update are the stages of a step; tangents() goes through them in this order,
// transpose() back.
//
//   rho_dot = h_dot / h_old - h h_old_dot / h_old^2,   D~_dot_k = map_ik D_dot_i + map'_ik rho_dot D_i
//   (I - c f_x) d_dot = c_dot f + c (f_t (t_dot + h_dot) + f_x x^_dot + f_p p_dot) - psi_dot
#include <algorithm>
#include <numeric>

#include "costate/core/error.h"
#include "costate/ode/methods/bdf.h"
#include "costate/ode/methods/bdf_coefficients.h"

namespace costate::ode {

using namespace bdf;

void Bdf::linearise(const StepInput& in) {
  if (!holds(in)) {
    hold(in);
    predict(in);
    known_ = converge(in);
    if (!known_) {
      throw Error({"a step of bdf that is to be differentiated did not converge",
                   "t = " + std::to_string(in.t) + ", h = " + std::to_string(in.h),
                   "differentiate accepted steps only"},
                  Error::Kind::numerics);
    }
    update();
  }
  if (linearised_) return;
  for (int i = 0; i < n_; ++i) y_[i] = predicted_[i] + d_[i];
  field_.value(in.t + in.h, y_.data(), in.p, f_.data(), scratch_.data());
  field_.jacobian(in.t + in.h, y_.data(), in.p, fx_.data(), scratch_.data());
  ++counts_.rhs;
  ++counts_.jacobians;
  ++counts_.factorisations;
  double* a = derivative_lu_.matrix();
  for (int k = 0; k < n_ * n_; ++k) a[k] = -c_ * fx_[k];
  for (int i = 0; i < n_; ++i) a[i * n_ + i] += 1;
  if (!derivative_lu_.factorise()) {
    throw Error({"the equation of a step of bdf is singular, so its derivative does not exist",
                 "t = " + std::to_string(in.t) + ", h = " + std::to_string(in.h), "use radau5"},
                Error::Kind::numerics);
  }
  linearised_ = true;
}

void Bdf::tangents(const StepInput& in, const StepTangent& in_dot) {
  linearise(in);
  const int q = order_;
  const auto x_dot = [&](int place) { return in_dot.x ? in_dot.x[place] : 0.0; };
  std::fill(differences_dot_.begin(), differences_dot_.end(), 0.0);
  if (x_[order_place()] == 0) {
    field_.jvp(in.t, in.x, in.p, in_dot.t, in_dot.x, in_dot.p, row(differences_dot_, 1), scratch_.data());
    for (int i = 0; i < n_; ++i) {
      differences_dot_[i] = x_dot(i);
      differences_dot_[n_ + i] = in_dot.h * start_f_[i] + in.h * differences_dot_[n_ + i];
    }
  } else {
    const double old = x_[old_spacing()], rho_dot = (in_dot.h - in.h / old * x_dot(old_spacing())) / old;
    Square rate;
    const Square map = rescaling(q, in.h / old, &rate);
    for (int k = 0; k <= q; ++k) {
      for (int j = 0; j <= q; ++j) {
        for (int i = 0; i < n_; ++i)
          row(differences_dot_, k)[i] +=
              map[j][k] * x_dot(j * n_ + i) + rate[j][k] * rho_dot * x_[j * n_ + i];
      }
    }
    for (int i = 0; i < n_; ++i) row(differences_dot_, q + 1)[i] = x_dot((q + 1) * n_ + i);
  }

  std::fill(predicted_bar_.begin(), predicted_bar_.end(), 0.0);  // holds x^_dot here
  for (int j = 0; j <= q; ++j)
    for (int i = 0; i < n_; ++i) predicted_bar_[i] += row(differences_dot_, j)[i];
  field_.jvp(in.t + in.h, y_.data(), in.p, in_dot.t + in_dot.h, predicted_bar_.data(), in_dot.p, mu_.data(),
             scratch_.data());
  const double c_dot = in_dot.h / alpha(q);
  for (int i = 0; i < n_; ++i) {
    double psi_dot = 0;
    for (int j = 1; j <= q; ++j) psi_dot += kGamma[j] / alpha(q) * row(differences_dot_, j)[i];
    mu_[i] = c_dot * f_[i] + c_ * mu_[i] - psi_dot;
  }
  derivative_lu_.solve(mu_.data(), mu_.data());

  std::fill(updated_dot_.begin(), updated_dot_.end(), 0.0);
  for (int i = 0; i < n_; ++i) {
    row(updated_dot_, q + 2)[i] = mu_[i] - row(differences_dot_, q + 1)[i];
    double above = row(updated_dot_, q + 1)[i] = mu_[i];
    for (int j = q; j >= 0; --j) above = row(updated_dot_, j)[i] = row(differences_dot_, j)[i] + above;
  }
}

// From updated_bar_.
void Bdf::transpose(const StepInput& in, const StepCotangent& in_bar) {
  const int q = order_;
  std::fill(differences_bar_.begin(), differences_bar_.end(), 0.0);
  for (int i = 0; i < n_; ++i) {
    double sum = 0;
    for (int j = 0; j <= q; ++j) {
      sum += row(updated_bar_, j)[i];
      row(differences_bar_, j)[i] = sum;
    }
    mu_[i] = sum + row(updated_bar_, q + 1)[i] + row(updated_bar_, q + 2)[i];
    row(differences_bar_, q + 1)[i] = -row(updated_bar_, q + 2)[i];
  }

  derivative_lu_.solve_transposed(mu_.data(), mu_.data());
  double h_bar = std::inner_product(mu_.begin(), mu_.end(), f_.begin(), 0.0) / alpha(q), t_bar = 0;
  for (int i = 0; i < n_; ++i) right_[i] = c_ * mu_[i];
  std::fill(predicted_bar_.begin(), predicted_bar_.end(), 0.0);
  field_.vjp(in.t + in.h, y_.data(), in.p, right_.data(), &t_bar, predicted_bar_.data(), in_bar.p,
             scratch_.data());
  h_bar += t_bar;
  *in_bar.t += t_bar;
  for (int j = 0; j <= q; ++j) {
    for (int i = 0; i < n_; ++i)
      row(differences_bar_, j)[i] += predicted_bar_[i] - kGamma[j] / alpha(q) * mu_[i];  // gamma_0 = 0
  }

  if (x_[order_place()] == 0) {
    double* first = row(differences_bar_, 1);
    h_bar += std::inner_product(first, first + n_, start_f_.begin(), 0.0);
    for (int i = 0; i < n_; ++i) first[i] *= in.h;
    for (int i = 0; i < n_; ++i) in_bar.x[i] += differences_bar_[i];
    field_.vjp(in.t, in.x, in.p, first, in_bar.t, in_bar.x, in_bar.p, scratch_.data());
  } else {
    const double old = x_[old_spacing()];
    Square rate;
    const Square map = rescaling(q, in.h / old, &rate);
    double rho_bar = 0;
    for (int k = 0; k <= q; ++k) {
      const double* bar = row(differences_bar_, k);
      for (int j = 0; j <= q; ++j) {
        for (int i = 0; i < n_; ++i) {
          in_bar.x[j * n_ + i] += map[j][k] * bar[i];
          rho_bar += rate[j][k] * x_[j * n_ + i] * bar[i];
        }
      }
    }
    for (int i = 0; i < n_; ++i) in_bar.x[(q + 1) * n_ + i] += row(differences_bar_, q + 1)[i];
    h_bar += rho_bar / old;
    in_bar.x[old_spacing()] -= rho_bar * in.h / (old * old);
  }
  *in_bar.h += h_bar;
}

void Bdf::step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot) {
  tangents(in, in_dot);
  std::copy(updated_dot_.begin(), updated_dot_.end(), y_dot);
  y_dot[old_spacing()] = in_dot.h;
  y_dot[order_place()] = y_dot[count_place()] = 0;
}

void Bdf::step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar) {
  linearise(in);
  std::copy_n(y_bar, updated_bar_.size(), updated_bar_.begin());
  std::fill(updated_bar_.begin() + (order_ + 3) * n_, updated_bar_.end(), 0.0);  // rows that are always zero
  *in_bar.h += y_bar[old_spacing()];
  transpose(in, in_bar);
}

void Bdf::interpolate_jvp(const StepInput& in, const StepTangent& in_dot, double theta, double theta_dot,
                          double* y_dot) {
  tangents(in, in_dot);
  std::array<double, kMaxOrder + 1> rate;
  const auto basis = newton_basis(order_, theta - 1, &rate);
  std::copy_n(row(updated_dot_, 0), n_, y_dot);
  for (int j = 1; j <= order_; ++j) {
    for (int i = 0; i < n_; ++i)
      y_dot[i] += basis[j] * row(updated_dot_, j)[i] + rate[j] * theta_dot * row(updated_, j)[i];
  }
}

void Bdf::interpolate_vjp(const StepInput& in, double theta, const double* y_bar, const StepCotangent& in_bar,
                          double* theta_bar) {
  linearise(in);
  std::array<double, kMaxOrder + 1> rate;
  const auto basis = newton_basis(order_, theta - 1, &rate);
  std::fill(updated_bar_.begin(), updated_bar_.end(), 0.0);
  for (int j = 0; j <= order_; ++j) {
    for (int i = 0; i < n_; ++i) {
      row(updated_bar_, j)[i] = basis[j] * y_bar[i];
      if (theta_bar) *theta_bar += rate[j] * row(updated_, j)[i] * y_bar[i];
    }
  }
  transpose(in, in_bar);
}

}  // namespace costate::ode

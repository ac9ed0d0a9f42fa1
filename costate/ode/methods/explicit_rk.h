// Explicit Runge-Kutta steps over any tableau, with tangent, transpose and the tangent of the transpose.
//
//   S_i = sum_j a_ij k_j,   X_i = x + h S_i,   k_i = f(t + c_i h, X_i, p),   y = x + h sum_i b_i k_i
//
// Transpose: stages in reverse, with K_i the cotangent of k_i:
//
//   K_i = h (b_i y_bar + sum_j>i a_ji X_j_bar)   (t_i, X_i)_bar = f'(t_i, X_i, p)' K_i      x_bar += X_i_bar
//   t_bar += t_i_bar                             h_bar += c_i t_i_bar + <S_i, X_i_bar>
//
// The interpolant is the same map with weights w_i(theta) in place of b_i [HNW II.6].
//
// Every call names its inputs; stages that are already known for those inputs are kept: after a rejected step
// the first stage, after an accepted one its last (FSAL), between tangents and transposes of one step all of
// them. What is kept are bits that the same code would compute again, so a step is a pure function of its
// inputs.
// Tests: tests/ode/methods/explicit_rk_test.cpp.
#pragma once

#include <vector>

#include "costate/ode/methods/rk_stages.h"
#include "costate/ode/methods/stepper.h"

namespace costate::ode {

class ExplicitRk final : public Stepper {
 public:
  // The field must outlive the stepper and have the identity as its mass matrix.
  ExplicitRk(const Tableau& tableau, const VectorField& field);

  const char* name() const override { return tableau_.name; }
  int order() const override { return tableau_.order; }
  int error_order() const override { return tableau_.error_order; }
  int dense_order() const override { return tableau_.dense_order; }
  bool has_second_order() const override { return field_.has_second_order(); }

  bool step(const StepInput& in, double* y, double* error) override;
  std::size_t stage_size() const override { return std::size_t(tableau_.stages * n_); }
  void save_stages(double* stages) const override;
  void load_stages(const StepInput& in, const double* stages) override;
  void interpolate(double theta, double* y) const override;
  double error_norm(const double* error, const double* scale, int components) const override;
  // h times the speed of the fastest mode, roughly, from the two stages at the end of the step taken last
  // with an error estimate. 0 where the method has no such two.
  double fastest_mode() const;

  void step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot) override;
  void step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar) override;
  void interpolate_jvp(const StepInput& in, const StepTangent& in_dot, double theta, double theta_dot,
                       double* y_dot) override;
  void interpolate_vjp(const StepInput& in, double theta, const double* y_bar, const StepCotangent& in_bar,
                       double* theta_bar) override;

  void step_vjp_jvp(const StepInput& in, const StepTangent& in_dot, const double* y_bar,
                    const double* y_bar_dot, const StepCotangent& in_bar_dot) override;
  void interpolate_vjp_jvp(const StepInput& in, const StepTangent& in_dot, double theta, double theta_dot,
                           const double* y_bar, const double* y_bar_dot, const StepCotangent& in_bar_dot,
                           double* theta_bar_dot) override;

 private:
  void take_inputs(const StepInput& in);
  void compute_stages(int count) const;
  void compute_end() const;
  RkStages stages() const;
  // out = sum over terms of value * k[stage]
  void combine(const Tableau::Row& row, const double* k, double* out) const;
  void combine(const double* weights, int count, const double* k, double* out) const;

  void tangent_stages(const StepTangent& in_dot, int count);
  // The transpose of y = x + h sum_i w_i k_i.
  void reverse_stages(const double* weights, const double* y_bar, const StepCotangent& in_bar, int count);
  void reverse_stages_tangent(const StepTangent& in_dot, const StepCotangent& in_bar_dot, int count);
  double dot(const double* a, const double* b) const;

  const Tableau& tableau_;
  const VectorField& field_;
  const int n_, np_;

  // The step whose stages are held.
  double t_ = 0, h_ = 0;
  std::vector<double> x_, p_;
  bool valid_ = false;
  // Filled on demand, also from interpolate(), which needs the stages of the interpolant.
  mutable int known_ = 0;
  int loaded_ = 0;  // stages whose k came from load_stages
  mutable bool end_known_ = false;
  mutable long rhs_ = 0;
  mutable std::vector<double> y_;          // end of the step
  mutable std::vector<double> k_, X_, S_;  // [stage][state]
  mutable std::vector<double> scratch_, sum_;

  std::vector<double> k_dot_, X_dot_, S_dot_;  // tangents
  std::vector<double> k_bar_, k_bar_dot_;      // cotangents
  std::vector<double> X_bar_, X_bar_dot_, sum_dot_, error_auxiliary_;
  std::vector<char> reached_;  // stages with a cotangent
};

}  // namespace costate::ode

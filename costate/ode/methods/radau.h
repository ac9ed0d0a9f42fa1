// Radau5: Radau IIA with three stages for stiff M x' = f(t, x, p), order 5, L-stable, stiffly accurate, so
// also for differential-algebraic problems of index 1 (singular M).
//
//   stages       R_i = sum_j (A^-1)_ij M Z_j - h f(t + c_i h, x + Z_i, p) = 0                i = 1..3
//   step         y = x + Z_3;
//                dense output y(theta) = x + sum l_i(theta) Z_i (the collocation polynomial, order 3)
//   error        E err = f(t, x) + M sum e_i Z_i / h,  E = gamma/h M - f_x(t, x), filtered once more as
//                E err = f(t, x + err) + M sum e_i Z_i / h                            [1, eqs. IV.8.19, 8.20]
//
// Stages by simplified Newton with f_x at (t, x), in W = T^-1 Z, where A^-1 falls apart into a real and a
// complex system of the size of x [1, eqs. IV.8.4, 8.5]. Unless it carries
// (RadauOptions::carry), it starts from Z = 0 and knows nothing of earlier steps: a step is a function of its
// inputs.
//
// Derivatives by the implicit function theorem at the converged stages, with f_x fresh at each of them:
//
//   K = A^-1 (x) M - h diag(f_x(stage i))
//   jvp:  (K Z_dot)_i = h_dot f_i + h (f_t (t_dot + c_i h_dot) + f_x x_dot + f_p p_dot)_i
//   vjp:  K' mu = Z_bar;  h mu_i goes back through f at stage i;  h_bar += mu_i' f_i
//
// First derivatives of f suffice. The Jacobian inside Newton does not enter: it changes the way to Z, not Z.
//
// [1] Hairer, Wanner: Solving Ordinary Differential Equations II, 2nd ed.
// Derivatives: radau_adjoint.cpp. Tests: tests/ode/methods/radau_test.cpp, implicit_stepper_test.cpp.
#pragma once

#include "costate/ode/methods/implicit_stepper.h"
#include "costate/solve/dense_lu.h"

namespace costate::ode {

struct RadauOptions {
  // The stages are converged until what is left is below newton_atol + newton_rtol |x_i|. Values and
  // derivatives agree with each other to about that: keep it well below the tolerance of the solution.
  double newton_rtol = 1e-12;
  double newton_atol = 1e-14;
  int max_newton = 25;
  // Newton's matrix and first guess come from the step before, as far as they serve. The way to the stages
  // then depends on it; the stages do to the tolerance above. See MethodTolerance::carry.
  bool carry = false;
};

class Radau5 final : public ImplicitStepper {
 public:
  explicit Radau5(const VectorField& field, RadauOptions options = {});  // field must outlive it

  const char* name() const override { return "radau5"; }
  int order() const override { return 5; }
  int error_order() const override { return 3; }
  int dense_order() const override { return 3; }

  bool step(const StepInput& in, double* y, double* error) override;
  double settle(double* y, const double* scale, int components, double err, double factor) override;
  void know_rate(double t, const double* x, const double* f) override;
  bool needs_stages() const override { return options_.carry; }
  void interpolate(double theta, double* y) const override;
  void interpolate_jvp(const StepInput& in, const StepTangent& in_dot, double theta, double theta_dot,
                       double* y_dot) override;
  void interpolate_vjp(const StepInput& in, double theta, const double* y_bar, const StepCotangent& in_bar,
                       double* theta_bar) override;

 private:
  void evaluate_jacobian(const StepInput& in);
  bool factorise(double h);
  void guess(const StepInput& in);  // the first, from the polynomial of the step before
  bool converge_stages(const StepInput& in);
  bool carried_stages(const StepInput& in);
  bool estimate_error(const StepInput& in, double* error);
  // Stages, f at them, and the factors of K.
  void linearise(const StepInput& in);

  RadauOptions options_;
  solve::DenseLu<double> real_;                   // gamma/h M - J
  solve::DenseLu<std::complex<double>> complex_;  // (alpha + i beta)/h M - J
  solve::DenseLu<double> k_;                      // 3n x 3n
  std::vector<double>& z_ = stages_;              // Z
  std::vector<double> w_, f_;                     // stage by stage
  std::vector<double> jacobian_, right_, sum_, x_bar_;
  std::vector<std::complex<double>> pair_;
  std::vector<double> z_dot_, mu_;
  std::vector<double> scratch_;

  // Carried from step to step.
  bool again_ = false;                                    // the step before started here, too
  bool jacobian_known_ = false, jacobian_fresh_ = false;  // fresh: of this step's start
  double factorised_h_ = 0;                               // of the matrices; 0: none
  double previous_h_ = 0;  // of the step that ended where this one starts; 0: none
  std::vector<double> previous_z_, previous_end_;
  double accepted_h_ = 0, accepted_error_ = 0;  // of the step before; 0: none
  double known_t_ = 0;                          // known_f_ is f(known_t_, known_x_)
  std::vector<double> known_x_, known_f_;
  int iterations_ = 0;
  double contraction_ = 0;
};

}  // namespace costate::ode

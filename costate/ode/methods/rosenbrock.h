// Rosenbrock: the linearly implicit method Rodas5P for stiff M x' = f(t, x, p), order 5, L-stable, stiffly
// accurate, so also for differential-algebraic problems of index 1 (singular M). One Jacobian, one
// factorisation and eight solves a step; no Newton.
//
//   G = M/(h gamma) - f_x(t, x)
//   G U_i = f(t + c_i h, x + sum_j<i a_ij U_j) + M sum_j<i C_ij/h U_j + h d_i f_t(t, x)          i = 1..8
//   y = x + sum b_i U_i,   error = U_8,   y(theta) = x + sum w_i(theta) U_i          [1; 2, IV.7 eq. 7.25]
//
// Tangent:    G U_i' = (right side)' - G' U_i,     G' = -M h'/(h^2 gamma) - (f_x)'
// Transpose:  G^T lambda_i = U_i_bar;  lambda_i goes back through the right side, and - lambda_i U_i^T is the
// cotangent of G.
//
// The method contains f_x, so its exact derivative contains second derivatives of f. In reverse they enter
// only as the gradient of lambda_i^T (f_x U_i + h d_i f_t) with respect to (t, x, p), which is one vjp_jvp
// along (h d_i, U_i) per stage; forward, as the rate of f_x, one vjp_jvp per row. A field without them
// (has_second_order() false) can be stepped, but its derivatives are an Error, never an approximation: Radau5
// needs first derivatives alone.
//
// [1] Steinebach: BIT Numerical Mathematics 63:27 (2023): see rodas5p_tableau.h.
// [2] Hairer, Wanner: Solving Ordinary Differential Equations II, 2nd ed.
// Derivatives: rosenbrock_adjoint.cpp. Tests: tests/ode/methods/rosenbrock_test.cpp,
// implicit_stepper_test.cpp.
#pragma once

#include "costate/ode/methods/implicit_stepper.h"
#include "costate/solve/dense_lu.h"

namespace costate::ode {

class Rosenbrock final : public ImplicitStepper {
 public:
  explicit Rosenbrock(const VectorField& field);  // field must outlive it

  const char* name() const override { return "rodas5p"; }
  int order() const override { return 5; }
  int error_order() const override { return 4; }
  int dense_order() const override { return 4; }

  bool step(const StepInput& in, double* y, double* error) override;
  void interpolate(double theta, double* y) const override;
  void interpolate_jvp(const StepInput& in, const StepTangent& in_dot, double theta, double theta_dot,
                       double* y_dot) override;
  void interpolate_vjp(const StepInput& in, double theta, const double* y_bar, const StepCotangent& in_bar,
                       double* theta_bar) override;

 private:
  bool compute_stages(const StepInput& in);
  bool factorise(const StepInput& in);              // f_x, f_t and the factors of G
  void stage_argument(const StepInput& in, int i);  // x + sum_j<i a_ij U_j
  void stages_for_derivative(const StepInput& in);
  // f_x and f_t along (t_dot, x_dot, p_dot).
  void jacobian_rate(const StepInput& in, const StepTangent& in_dot);

  solve::DenseLu<double> g_;
  std::vector<double>& u_ = stages_;  // U
  std::vector<double> jacobian_, f_t_, right_, sum_;
  std::vector<double> u_dot_, u_bar_, jacobian_dot_, f_t_dot_, zero_, row_, lambda_, x_bar_;
  std::vector<double> scratch_;
};

}  // namespace costate::ode

// Bdf: numerical differentiation formulas of orders 1 to 5 for stiff x' = f(t, x, p), with steps and order
// chosen by the error.
//
//   D_j         backward differences of the solution on a grid of spacing h; D_0 = x
//   predictor   x^ = sum_0^q D_j
//   step        c f(t + h, x^ + d) - psi - d = 0                                            [1, section 2]
//               psi = sum_1^q gamma_j D_j / alpha_q,   c = h / alpha_q
//   update      D_{q+2}' = d - D_{q+1},  D_{q+1}' = d,  D_j' = D_j + D_{j+1}'  (j = q..0);   y = D_0'
//   error       (kappa_q gamma_q + 1 / (q + 1)) d;  of the orders beside q from D_q' and D_{q+2}'
//   other h     rho = h / h_old:  D~_k = sum_j (-1)^j C(k, j) P(-j rho)
//               P(s) = sum_i D_i prod_{l=1..i} (l - 1 + s) / l
//
//   gamma_j = sum_{l=1..j} 1/l,  alpha_q = (1 - kappa_q) gamma_q; kappa = -0.1850, -1/9, -0.0823, -0.0415, 0
//   [1, table 1]
//
// The memory that follows the state (stepper.h): D_1 .. D_7, then h_old, the order q and the number of equal
// steps. The order and the count are constants of a step; all else has derivatives. Without memory (q = 0) a
// step starts with D_1 = h f(t, x, p) and order 1.
//
// Newton carries f_x and the factors of I - c f_x from step to step, and stops at 3 % of the tolerance.
// Derivatives are those of the equation that it solves, by the implicit function theorem with f_x at its
// solution d, and agree with the values to that 3 %.
//
// [1] Shampine, Reichelt: The MATLAB ODE suite, SIAM J. Sci. Comput. 18 (1997).
// Derivatives: bdf_adjoint.cpp. Tests: tests/ode/methods/bdf_test.cpp.
#pragma once

#include <array>

#include "costate/ode/methods/method.h"
#include "costate/solve/dense_lu.h"

namespace costate::ode {

class Bdf final : public Stepper {
 public:
  static constexpr int kMaxOrder = 5;
  static constexpr int kRows = kMaxOrder + 3;  // of differences

  // The field must outlive the stepper and have the identity as its mass matrix.
  Bdf(const VectorField& field, const MethodTolerance& tolerance);

  const char* name() const override { return "bdf"; }
  int order() const override { return kMaxOrder; }
  int error_order() const override { return 1; }  // where it starts
  int dense_order() const override { return 1; }
  bool implicit() const override { return true; }
  int memory() const override { return (kRows - 1) * n_ + 3; }

  bool step(const StepInput& in, double* y, double* error) override;
  double settle(double* y, const double* scale, int components, double err, double factor) override;
  void know_rate(double t, const double* x, const double* f) override;
  double shrink(double err, double factor) override;
  void interpolate(double theta, double* y) const override;

  bool holds(const StepInput& in) const override;
  std::size_t stage_size() const override { return std::size_t(n_); }
  void save_stages(double* stages) const override;
  void load_stages(const StepInput& in, const double* stages) override;

  void step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot) override;
  void step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar) override;
  void interpolate_jvp(const StepInput& in, const StepTangent& in_dot, double theta, double theta_dot,
                       double* y_dot) override;
  void interpolate_vjp(const StepInput& in, double theta, const double* y_bar, const StepCotangent& in_bar,
                       double* theta_bar) override;

  // Largest row sum of the Jacobian that Newton uses: no mode of the system is faster. Infinite before the
  // first step.
  double jacobian_norm() const;

 private:
  using Square = std::array<std::array<double, kMaxOrder + 1>, kMaxOrder + 1>;
  // D~_k = sum_i map[i][k] D_i for a grid rho times as wide, and its derivative by rho.
  static Square rescaling(int order, double rho, Square* rate);
  // prod_{l=1..j} (l - 1 + s) / l for j = 0..q, and its derivative.
  static std::array<double, kMaxOrder + 1> newton_basis(int order, double s,
                                                        std::array<double, kMaxOrder + 1>* rate);

  void hold(const StepInput& in);
  void predict(const StepInput& in);                              // order_, differences_, predicted_, psi_
  bool converge(const StepInput& in);                             // d_
  bool iterate(const StepInput& in);                              // with the matrix at hand
  void update();                                                  // updated_
  void linearise(const StepInput& in);                            // f_, f_x and the factors at the solution
  void tangents(const StepInput& in, const StepTangent& in_dot);  // updated_dot_
  void transpose(const StepInput& in, const StepCotangent& in_bar);  // of updated_bar_
  double* row(std::vector<double>& v, int j) const { return v.data() + std::size_t(j) * n_; }
  const double* row(const std::vector<double>& v, int j) const { return v.data() + std::size_t(j) * n_; }
  int old_spacing() const { return kRows * n_; }  // places in the memory
  int order_place() const { return kRows * n_ + 1; }
  int count_place() const { return kRows * n_ + 2; }

  const VectorField& field_;
  const int n_;
  double rtol_, atol_, newton_tolerance_;

  // The step taken last.
  double t_ = 0, h_ = 0;
  std::vector<double> x_, p_;  // x_ with its memory
  bool known_ = false, linearised_ = false;
  int order_ = 1;
  double c_ = 0;
  std::vector<double> differences_, updated_;  // rows of states, on the grid of this step: before and after
  std::vector<double> predicted_, psi_, d_, y_, f_, start_f_, right_, scratch_;
  double known_t_ = 0;  // of start_f_, if x is known_x_
  std::vector<double> known_x_;
  solve::DenseLu<double> derivative_lu_;  // I - c f_x at the solution

  // Carried by Newton.
  std::vector<double> jacobian_;
  solve::DenseLu<double> lu_;
  double factorised_c_ = 0;  // 0: none
  bool jacobian_known_ = false, jacobian_fresh_ = false;
  int iterations_ = 0;

  std::vector<double> differences_dot_, updated_dot_, updated_bar_, differences_bar_, mu_, predicted_bar_,
      fx_;
};

}  // namespace costate::ode

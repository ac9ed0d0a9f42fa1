#include "costate/ode/fields/consistent_state.h"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/solve/linear_solve.h"

namespace costate::ode {
namespace {

constexpr double kRankTolerance = 1e-12;  // of the largest singular value
constexpr int kMaxNewton = 50;

[[noreturn]] void not_index_one() {
  throw Error(
      {"the algebraic equations do not determine the algebraic states: the problem is not of index 1 here",
       "", "differentiate constraints until they contain the algebraic states, or check the mass matrix"},
      Error::Kind::numerics);
}

}  // namespace

ConsistentState::ConsistentState(const VectorField& field) : field_(field), n_(field.states()) {
  const std::vector<double>& mass = field.mass();
  if (mass.empty()) return;
  if (mass.size() != std::size_t(n_) * n_) {
    throw Error("the mass matrix has " + std::to_string(mass.size()) + " entries, " + std::to_string(n_) +
                " states need " + std::to_string(n_ * n_));
  }
  const Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> m(
      mass.data(), n_, n_);
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(m, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const double largest = svd.singularValues()[0];
  inverse_.assign(mass.size(), 0.0);
  for (int k = 0; k < n_; ++k) {
    const double singular = svd.singularValues()[k];
    if (singular > kRankTolerance * largest) {
      for (int i = 0; i < n_; ++i) {
        for (int j = 0; j < n_; ++j)
          inverse_[i * n_ + j] += svd.matrixV()(i, k) * svd.matrixU()(j, k) / singular;
      }
      continue;
    }
    ++algebraic_;
    for (int i = 0; i < n_; ++i) left_.push_back(svd.matrixU()(i, k)), right_.push_back(svd.matrixV()(i, k));
  }
}

void ConsistentState::algebraic(double t, const double* x, const double* p, std::vector<double>& residual,
                                std::vector<double>& s) const {
  std::vector<double> f(n_), f_x(std::size_t(n_) * n_), scratch(field_.scratch_size());
  field_.value(t, x, p, f.data(), scratch.data());
  field_.jacobian(t, x, p, f_x.data(), scratch.data());
  residual.assign(algebraic_, 0.0);
  s.assign(std::size_t(algebraic_) * algebraic_, 0.0);
  for (int a = 0; a < algebraic_; ++a) {
    for (int i = 0; i < n_; ++i) {
      const double n_ia = left_[a * n_ + i];
      residual[a] += n_ia * f[i];
      for (int b = 0; b < algebraic_; ++b) {
        for (int j = 0; j < n_; ++j) s[a * algebraic_ + b] += n_ia * f_x[i * n_ + j] * right_[b * n_ + j];
      }
    }
  }
}

void ConsistentState::require_consistent(double t, const double* x, const double* p, double rtol,
                                         double atol) const {
  if (algebraic_ == 0) return;
  std::vector<double> residual, s, c(algebraic_);
  algebraic(t, x, p, residual, s);
  solve::LinearSolve linear(algebraic_);
  if (!linear.try_factorise(s.data())) not_index_one();
  linear.solve(residual.data(), c.data());
  for (int i = 0; i < n_; ++i) {
    double correction = 0;
    for (int a = 0; a < algebraic_; ++a) correction -= right_[a * n_ + i] * c[a];
    if (std::abs(correction) <= atol + rtol * std::abs(x[i])) continue;
    double worst = 0;
    for (double r : residual) worst = std::max(worst, std::abs(r));
    throw Error({"the initial state does not satisfy the algebraic equations (residual " + number(worst, 3) +
                     "): state " + std::to_string(i) + " is " + number(x[i], 9) + " and should be about " +
                     number(x[i] + correction, 9),
                 "t = " + std::to_string(t),
                 "start from a consistent state, or let make_consistent() find it"});
  }
}

void ConsistentState::make_consistent(double t, double* x, const double* p) const {
  if (algebraic_ == 0) return;
  std::vector<double> residual, s, c(algebraic_);
  solve::LinearSolve linear(algebraic_);
  double last = INFINITY;
  for (int iteration = 0; iteration < kMaxNewton; ++iteration) {
    algebraic(t, x, p, residual, s);
    if (!linear.try_factorise(s.data())) not_index_one();
    linear.solve(residual.data(), c.data());
    double largest = 0;
    for (int i = 0; i < n_; ++i) {
      double correction = 0;
      for (int a = 0; a < algebraic_; ++a) correction -= right_[a * n_ + i] * c[a];
      x[i] += correction;
      largest = std::max(largest, std::abs(correction) / (1e-8 + std::abs(x[i])));
    }
    if (largest <= 1e-15 || (largest <= 1e-10 && largest >= 0.5 * last))
      return;  // no better in this arithmetic
    last = largest;
  }
  throw Error({"no consistent state found near the one given: Newton's method did not converge",
               "t = " + std::to_string(t), "start closer to a state that satisfies the algebraic equations"},
              Error::Kind::numerics);
}

void ConsistentState::rate(double t, const double* x, const double* p, double* x_dot) const {
  std::vector<double> f(n_), w(n_, 0.0), scratch(field_.scratch_size());
  field_.value(t, x, p, f.data(), scratch.data());
  if (inverse_.empty()) {
    std::copy(f.begin(), f.end(), x_dot);
    return;
  }
  for (int i = 0; i < n_; ++i) {
    for (int j = 0; j < n_; ++j) w[i] += inverse_[i * n_ + j] * f[j];
  }
  make_consistent_jvp(t, x, p, 1, w.data(), nullptr, x_dot);
}

void ConsistentState::make_consistent_jvp(double t, const double* x, const double* p, double t_dot,
                                          const double* x0_dot, const double* p_dot, double* x_dot) const {
  for (int i = 0; i < n_; ++i) x_dot[i] = x0_dot ? x0_dot[i] : 0;
  if (algebraic_ == 0) return;
  std::vector<double> residual, s, f_dot(n_), c(algebraic_), scratch(field_.scratch_size());
  algebraic(t, x, p, residual, s);
  field_.jvp(t, x, p, t_dot, x0_dot, p_dot, f_dot.data(), scratch.data());
  for (int a = 0; a < algebraic_; ++a) {
    residual[a] = 0;
    for (int i = 0; i < n_; ++i) residual[a] += left_[a * n_ + i] * f_dot[i];
  }
  solve::LinearSolve linear(algebraic_);
  if (!linear.try_factorise(s.data())) not_index_one();
  linear.solve(residual.data(), c.data());
  for (int i = 0; i < n_; ++i) {
    for (int a = 0; a < algebraic_; ++a) x_dot[i] -= right_[a * n_ + i] * c[a];
  }
}

void ConsistentState::make_consistent_vjp(double t, const double* x, const double* p, const double* x_bar,
                                          double* t_bar, double* x0_bar, double* p_bar) const {
  for (int i = 0; i < n_; ++i) x0_bar[i] += x_bar[i];
  if (algebraic_ == 0) return;
  std::vector<double> residual, s, f_bar(n_, 0.0), q(algebraic_), scratch(field_.scratch_size());
  algebraic(t, x, p, residual, s);
  for (int a = 0; a < algebraic_; ++a) {
    residual[a] = 0;
    for (int i = 0; i < n_; ++i) residual[a] += right_[a * n_ + i] * x_bar[i];
  }
  solve::LinearSolve linear(algebraic_);
  if (!linear.try_factorise(s.data())) not_index_one();
  linear.solve_transposed(residual.data(), q.data());
  for (int a = 0; a < algebraic_; ++a) {
    for (int i = 0; i < n_; ++i) f_bar[i] -= left_[a * n_ + i] * q[a];
  }
  field_.vjp(t, x, p, f_bar.data(), t_bar, x0_bar, p_bar, scratch.data());
}

}  // namespace costate::ode

// Controls: inputs u(t) of a solution that are given piece by piece over its time span.
//
// The field, guards, jumps and costs see (p, u) as their parameters, u last. The span is cut at knots, which
// stand at fixed fractions of it,
//
//   tau_k = t0 + w_k (t1 - t0),   0 = w_0 < w_1 < ... < w_K = 1
//
//   hold     u(t) = u_k                                                        in [tau_k, tau_{k+1})
//   linear   u(t) = (1 - s) u_k + s u_{k+1},  s = (t - tau_k) / (tau_{k+1} - tau_k)
//
// No step crosses a knot, so every step sees a smooth right-hand side, and the state is continuous there.
// What the steps of one interval see is one row of a table, which is a linear function of p, u, t0 and t1:
//
//   hold     (p, u_k)
//   linear   (p, u_k, u_{k+1}, tau_k, tau_{k+1})         the map from (t, row) to (p, u(t)): linear_control.h
//
// Derivatives by p, u, t0 and t1 are therefore those by the rows, carried through that linear function and
// its transpose: tangent() and transpose().
// Tests: tests/ode/controls_test.cpp.
#pragma once

#include <vector>

namespace costate::ode {

struct Controls {
  enum class Interpolation { hold, linear };

  // Row-major, one row of controls per interval (hold), or per knot with both ends of the span (linear).
  // Empty: none.
  std::vector<double> values = {};
  std::vector<double> fractions = {};  // w_1 ... w_{K-1}, inside (0, 1); empty: intervals of equal length
  Interpolation interpolation = Interpolation::hold;
};

// The parameters that each interval's steps see.
class ParameterRows {
 public:
  ParameterRows() = default;
  // A field that takes `field_parameters`: those that p does not fill are controls. Error where they do not
  // fit.
  ParameterRows(const std::vector<double>& p, const Controls& controls, int field_parameters, double t0,
                double t1);

  int count() const { return count_; }
  std::size_t width() const { return width_; }
  const double* row(int k) const { return table_.data() + k * width_; }

  std::size_t parameters() const { return np_; }
  std::size_t controls() const { return nu_; }  // at one time
  std::size_t control_values() const { return values_; }
  bool linear() const { return linear_; }

  // Where row k ends.
  double end_fraction(int k) const { return fractions_[k + 1]; }
  double end(int k) const;
  int row_at(double t) const;  // at a knot: the one that ends there

  std::vector<double> zeros() const { return std::vector<double>(table_.size(), 0.0); }
  // The table's motion. Null: zero. Empty where nothing moves it.
  std::vector<double> tangent(const double* p_dot, const double* u_dot, double t0_dot, double t1_dot) const;
  // Adds. u_bar has control_values() elements.
  void transpose(const std::vector<double>& table_bar, double* p_bar, double* u_bar, double& t0_bar,
                 double& t1_bar) const;

 private:
  int count_ = 0;
  std::size_t np_ = 0, nu_ = 0, values_ = 0, width_ = 0;
  bool linear_ = false;
  double t0_ = 0, t1_ = 0;
  std::vector<double> fractions_;  // w_0 ... w_K
  std::vector<double> table_;      // [row][width]
};

}  // namespace costate::ode

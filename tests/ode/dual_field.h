// DualField: a vector field from one templated formula, every derivative by forward duals. Slow and plainly
// right: the oracle for steppers, which must not depend on how a field computes its derivatives.
//
// Formula: static constants kStates, kParameters, and
//   template <class S> void operator()(S t, const S* x, const S* p, S* dx) const
#pragma once

#include <cmath>
#include <utility>

#include "costate/ode/fields/vector_field.h"

namespace costate::ode::test {

template <class S>
struct D {
  S v{}, d{};
  D() = default;
  D(double value) : v(value) {}  // NOLINT: formulas mix constants and variables
  D(S value, S rate) : v(value), d(rate) {}
  friend D operator+(D a, D b) { return {a.v + b.v, a.d + b.d}; }
  friend D operator-(D a, D b) { return {a.v - b.v, a.d - b.d}; }
  friend D operator-(D a) { return {S(0.0) - a.v, S(0.0) - a.d}; }
  friend D operator*(D a, D b) { return {a.v * b.v, a.v * b.d + a.d * b.v}; }
  friend D operator/(D a, D b) { return {a.v / b.v, (a.d - a.v / b.v * b.d) / b.v}; }
};
using std::cos;
using std::exp;
using std::sin;
template <class S>
D<S> sin(D<S> a) {
  return {sin(a.v), cos(a.v) * a.d};
}
template <class S>
D<S> cos(D<S> a) {
  return {cos(a.v), S(0.0) - sin(a.v) * a.d};
}
template <class S>
D<S> exp(D<S> a) {
  return {exp(a.v), exp(a.v) * a.d};
}

template <class Formula, bool second_order = true>
class DualField : public VectorField {
 public:
  static constexpr int kN = Formula::kStates, kP = Formula::kParameters, kInputs = 1 + kN + kP;

  explicit DualField(Formula formula = {}, std::vector<double> mass = {})
      : formula_(std::move(formula)), mass_(std::move(mass)) {}
  int states() const override { return kN; }
  int parameters() const override { return kP; }
  const std::vector<double>& mass() const override { return mass_; }
  bool has_second_order() const override { return second_order; }

  void value(double t, const double* x, const double* p, double* dx, double*) const override {
    formula_(t, x, p, dx);
  }
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* dx_dot, double*) const override {
    D<double> in[kInputs], out[kN];
    load(t, x, p, in);
    in[0].d = t_dot;
    for (int i = 0; i < kN; ++i) in[1 + i].d = x_dot ? x_dot[i] : 0;
    for (int i = 0; i < kP; ++i) in[1 + kN + i].d = p_dot ? p_dot[i] : 0;
    formula_(in[0], in + 1, in + 1 + kN, out);
    for (int i = 0; i < kN; ++i) dx_dot[i] = out[i].d;
  }
  void vjp(double t, const double* x, const double* p, const double* dx_bar, double* t_bar, double* x_bar,
           double* p_bar, double*) const override {
    for (int k = 0; k < kInputs; ++k) {
      D<double> in[kInputs], out[kN];
      load(t, x, p, in);
      in[k].d = 1;
      formula_(in[0], in + 1, in + 1 + kN, out);
      double sum = 0;
      for (int i = 0; i < kN; ++i) sum += dx_bar[i] * out[i].d;
      add(k, sum, t_bar, x_bar, p_bar);
    }
  }
  void vjp_jvp(double t, const double* x, const double* p, const double* dx_bar, double t_dot,
               const double* x_dot, const double* p_dot, const double* dx_bar_dot, double* t_bar_dot,
               double* x_bar_dot, double* p_bar_dot, double*) const override {
    using DD = D<D<double>>;
    for (int k = 0; k < kInputs; ++k) {
      DD in[kInputs], out[kN];
      D<double> plain[kInputs];
      load(t, x, p, plain);
      plain[0].d = t_dot;
      for (int i = 0; i < kN; ++i) plain[1 + i].d = x_dot[i];
      for (int i = 0; i < kP; ++i) plain[1 + kN + i].d = p_dot[i];
      for (int i = 0; i < kInputs; ++i) in[i].v = plain[i];
      in[k].d = D<double>(1.0);
      formula_(in[0], in + 1, in + 1 + kN, out);
      double sum = 0;
      for (int i = 0; i < kN; ++i) sum += dx_bar[i] * out[i].d.d + dx_bar_dot[i] * out[i].d.v;
      add(k, sum, t_bar_dot, x_bar_dot, p_bar_dot);
    }
  }

 private:
  static void load(double t, const double* x, const double* p, D<double>* in) {
    in[0].v = t;
    for (int i = 0; i < kN; ++i) in[1 + i].v = x[i];
    for (int i = 0; i < kP; ++i) in[1 + kN + i].v = p[i];
  }
  static void add(int k, double value, double* t_bar, double* x_bar, double* p_bar) {
    if (k == 0) {
      if (t_bar) *t_bar += value;
    } else if (k <= kN) {
      x_bar[k - 1] += value;
    } else if (p_bar) {
      p_bar[k - 1 - kN] += value;
    }
  }

  Formula formula_;
  std::vector<double> mass_;
};

}  // namespace costate::ode::test

// Robertson's kinetics with derivatives by hand, as fast as a field gets: for timings.
#pragma once

#include "costate/ode/fields/vector_field.h"

namespace costate::ode::test {

class RobertsonByHand final : public VectorField {
 public:
  int states() const override { return 3; }
  int parameters() const override { return 3; }
  bool has_second_order() const override { return true; }

  void value(double, const double* x, const double* p, double* dx, double*) const override {
    const double a = p[0] * x[0], b = p[1] * x[1] * x[2], c = p[2] * x[1] * x[1];
    dx[0] = b - a, dx[1] = a - b - c, dx[2] = c;
  }
  void jacobian(double, const double* x, const double* p, double* f_x, double*) const override {
    const double b1 = p[1] * x[2], b2 = p[1] * x[1], c1 = 2 * p[2] * x[1];
    f_x[0] = -p[0], f_x[1] = b1, f_x[2] = b2;
    f_x[3] = p[0], f_x[4] = -b1 - c1, f_x[5] = -b2;
    f_x[6] = 0, f_x[7] = c1, f_x[8] = 0;
  }
  void jvp(double, const double* x, const double* p, double, const double* x_dot, const double* p_dot,
           double* dx_dot, double*) const override {
    double a = 0, b = 0, c = 0;
    if (x_dot) {
      a += p[0] * x_dot[0];
      b += p[1] * (x_dot[1] * x[2] + x[1] * x_dot[2]);
      c += 2 * p[2] * x[1] * x_dot[1];
    }
    if (p_dot) a += p_dot[0] * x[0], b += p_dot[1] * x[1] * x[2], c += p_dot[2] * x[1] * x[1];
    dx_dot[0] = b - a, dx_dot[1] = a - b - c, dx_dot[2] = c;
  }
  void vjp(double, const double* x, const double* p, const double* w, double*, double* x_bar, double* p_bar,
           double*) const override {
    const double a = w[1] - w[0], b = w[0] - w[1], c = w[2] - w[1];  // cotangents of the three reaction rates
    x_bar[0] += p[0] * a;
    x_bar[1] += p[1] * x[2] * b + 2 * p[2] * x[1] * c;
    x_bar[2] += p[1] * x[1] * b;
    if (p_bar) p_bar[0] += x[0] * a, p_bar[1] += x[1] * x[2] * b, p_bar[2] += x[1] * x[1] * c;
  }
  void vjp_jvp(double, const double* x, const double* p, const double* w, double, const double* x_dot,
               const double* p_dot, const double* w_dot, double*, double* x_bar, double* p_bar,
               double*) const override {
    const double a = w[1] - w[0], b = w[0] - w[1], c = w[2] - w[1];
    const double da = w_dot[1] - w_dot[0], db = w_dot[0] - w_dot[1], dc = w_dot[2] - w_dot[1];
    x_bar[0] += p_dot[0] * a + p[0] * da;
    x_bar[1] += (p_dot[1] * x[2] + p[1] * x_dot[2]) * b + p[1] * x[2] * db +
                2 * (p_dot[2] * x[1] + p[2] * x_dot[1]) * c + 2 * p[2] * x[1] * dc;
    x_bar[2] += (p_dot[1] * x[1] + p[1] * x_dot[1]) * b + p[1] * x[1] * db;
    if (p_bar) {
      p_bar[0] += x_dot[0] * a + x[0] * da;
      p_bar[1] += (x_dot[1] * x[2] + x[1] * x_dot[2]) * b + x[1] * x[2] * db;
      p_bar[2] += 2 * x[1] * x_dot[1] * c + x[1] * x[1] * dc;
    }
  }
};

}  // namespace costate::ode::test

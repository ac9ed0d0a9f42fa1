// Adaptive steps with any stepper, and the tangent and transpose of the steps taken: enough to test a stepper
// over a whole solution, with nothing else in between.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "costate/ode/methods/step_control.h"
#include "costate/ode/methods/stepper.h"

namespace costate::ode::test {

struct March {
  std::vector<double> t, h, x;  // of every accepted step, x row after row
  std::vector<double> final;
  long rejected = 0;
  long steps() const { return long(t.size()); }
};

inline March adaptive_march(Stepper& stepper, double t0, double t1, const std::vector<double>& x0,
                            const double* p, double rtol, const std::vector<double>& atol,
                            double first_step) {
  const int n = int(x0.size());
  March m;
  StepControl control(stepper.error_order());
  std::vector<double> x = x0, y(x0.size()), error(x0.size()), scale(x0.size());
  double t = t0, h = first_step;
  while (t < t1) {
    const bool last = t + 1.01 * h >= t1;
    if (last) h = t1 - t;
    if (!stepper.step({t, h, x.data(), p}, y.data(), error.data())) {
      h *= control.fail(), ++m.rejected;
      continue;
    }
    for (int i = 0; i < n; ++i)
      scale[i] = atol[i % atol.size()] + rtol * std::max(std::abs(x[i]), std::abs(y[i]));
    const double err = stepper.error_norm(error.data(), scale.data(), n);
    if (!(err <= 1)) {
      h *= control.reject(err), ++m.rejected;
      if (m.rejected > 100000) return ADD_FAILURE() << "no progress at t = " << t, m;
      continue;
    }
    m.t.push_back(t), m.h.push_back(h), m.x.insert(m.x.end(), x.begin(), x.end());
    t = last ? t1 : t + h;
    h *= control.accept(err);
    std::swap(x, y);
  }
  m.final = x;
  return m;
}

// d final / d p_j along p_dot.
inline std::vector<double> march_jvp(Stepper& stepper, const March& m, const double* p,
                                     const std::vector<double>& p_dot) {
  const std::size_t n = m.final.size();
  std::vector<double> x_dot(n), y_dot(n);
  for (std::size_t k = 0; k < m.t.size(); ++k) {
    stepper.step_jvp({m.t[k], m.h[k], m.x.data() + k * n, p}, {0, 0, x_dot.data(), p_dot.data()},
                     y_dot.data());
    std::swap(x_dot, y_dot);
  }
  return x_dot;
}

struct MarchGradient {
  std::vector<double> x0, p;
};
inline MarchGradient march_vjp(Stepper& stepper, const March& m, const double* p, int parameters,
                               const std::vector<double>& final_bar) {
  const std::size_t n = m.final.size();
  MarchGradient g{final_bar, std::vector<double>(parameters)};
  std::vector<double> x_bar(n);
  double t_bar = 0, h_bar = 0;
  for (std::size_t k = m.t.size(); k-- > 0;) {
    std::fill(x_bar.begin(), x_bar.end(), 0.0);
    stepper.step_vjp({m.t[k], m.h[k], m.x.data() + k * n, p}, g.x0.data(),
                     {&t_bar, &h_bar, x_bar.data(), g.p.data()});
    std::swap(g.x0, x_bar);
  }
  return g;
}

}  // namespace costate::ode::test

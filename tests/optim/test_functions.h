// Functions with known minima.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

namespace costate::optim::test {

// 100 (b - a^2)^2 + (1 - a)^2 summed over neighbours: minimum 0 at (1, ..., 1).
struct Rosenbrock {
  int n = 2;
  double operator()(const double* x, double* g) const {
    double value = 0;
    for (int i = 0; i < n; ++i) g[i] = 0;
    for (int i = 0; i + 1 < n; ++i) {
      const double u = x[i + 1] - x[i] * x[i], v = 1 - x[i];
      value += 100 * u * u + v * v;
      g[i] += -400 * u * x[i] - 2 * v;
      g[i + 1] += 200 * u;
    }
    return value;
  }
};

// 1/2 sum c_i (x_i - i)^2 with c_i from 1 to `condition`: minimum at x_i = i.
struct Quadratic {
  int n = 5;
  double condition = 100;
  double operator()(const double* x, double* g) const {
    double value = 0;
    for (int i = 0; i < n; ++i) {
      const double c = std::pow(condition, i / double(n - 1));
      g[i] = c * (x[i] - i);
      value += 0.5 * g[i] * (x[i] - i);
    }
    return value;
  }
};

// x - log x, not a number left of zero: minimum 1 at 1.
inline double log_barrier(const double* x, double* g) {
  g[0] = 1 - 1 / x[0];
  return x[0] - std::log(x[0]);
}

}  // namespace costate::optim::test

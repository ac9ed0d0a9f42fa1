// Checks that hold for every stepper: the order, the transpose, the stencil.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "costate/ode/methods/stepper.h"

namespace costate::ode::test {

using Vector = std::vector<double>;

inline double norm(const Vector& v) {
  double sum = 0;
  for (double e : v) sum += e * e;
  return std::sqrt(sum);
}

// Fixed steps from t0 to t1.
inline Vector march(Stepper& stepper, double t0, double t1, int steps, Vector x, const double* p) {
  Vector y(x.size());
  const double h = (t1 - t0) / steps;
  for (int k = 0; k < steps; ++k) {
    EXPECT_TRUE(stepper.step({t0 + k * h, h, x.data(), p}, y.data(), nullptr));
    std::swap(x, y);
  }
  return x;
}

// Slope of log error over log h by least squares.
inline double observed_order(const std::vector<int>& steps, const std::function<double(int)>& error) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int n : steps) {
    const double lx = -std::log(double(n)), ly = std::log(error(n));
    sx += lx, sy += ly, sxx += lx * lx, sxy += lx * ly;
  }
  const double m = double(steps.size());
  return (m * sxy - sx * sy) / (m * sxx - sx * sx);
}

// Scale of each state and parameter, for tangents and stencils: relative changes.
struct Scales {
  Vector x, p;
  double t = 1, h = 1;
};

// |<J v, w> - <v, J' w>| / (|J v| |w|) for one input block at a time and for all together; theta < 0: the
// step itself.
inline double transpose_defect(Stepper& stepper, const StepInput& in, const Scales& scale, double theta,
                               int seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> u(-1, 1);
  const int n = int(scale.x.size()), m = int(scale.p.size());
  double worst = 0;
  for (int block = 0; block < 6; ++block) {  // t, h, x, p, theta, all
    const auto on = [&](int b) { return block == b || block == 5 ? 1.0 : 0.0; };
    if (block == 4 && theta < 0) continue;
    const double t_dot = on(0) * scale.t * u(random), h_dot = on(1) * scale.h * u(random),
                 theta_dot = on(4) * u(random);
    Vector x_dot(n), p_dot(m), y_dot(n), y_bar(n), x_bar(n), p_bar(m);
    for (int i = 0; i < n; ++i) x_dot[i] = on(2) * scale.x[i] * u(random);
    for (int i = 0; i < m; ++i) p_dot[i] = on(3) * scale.p[i] * u(random);
    for (int i = 0; i < n; ++i) y_bar[i] = u(random) / scale.x[i];
    double t_bar = 0, h_bar = 0, theta_bar = 0;
    const StepCotangent bar{&t_bar, &h_bar, x_bar.data(), p_bar.data()};
    const StepTangent dot{t_dot, h_dot, x_dot.data(), p_dot.data()};
    if (theta < 0) {
      stepper.step_jvp(in, dot, y_dot.data());
      stepper.step_vjp(in, y_bar.data(), bar);
    } else {
      stepper.interpolate_jvp(in, dot, theta, theta_dot, y_dot.data());
      stepper.interpolate_vjp(in, theta, y_bar.data(), bar, &theta_bar);
    }
    double left = 0, right = t_dot * t_bar + h_dot * h_bar + (theta < 0 ? 0 : theta_dot * theta_bar), a = 0,
           b = 0;
    for (int i = 0; i < n; ++i) {
      left += y_dot[i] * y_bar[i];
      right += x_dot[i] * x_bar[i];
      a += std::pow(y_dot[i] / scale.x[i], 2), b += std::pow(y_bar[i] * scale.x[i], 2);
    }
    for (int i = 0; i < m; ++i) right += p_dot[i] * p_bar[i];
    const double size = std::sqrt(a * b);
    worst = std::max(worst, size > 0 ? std::abs(left - right) / size : std::abs(right));
  }
  return worst;
}

// The tangent against the six-point stencil (weights 1, -9, 45), relative to the size of the tangent.
inline double stencil_defect(Stepper& stepper, const StepInput& in, const Scales& scale, double theta,
                             int seed, double reach = 1e-3) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> u(-1, 1);
  const int n = int(scale.x.size()), m = int(scale.p.size());
  const double t_dot = scale.t * u(random), h_dot = scale.h * u(random), theta_dot = u(random);
  Vector x_dot(n), p_dot(m), y_dot(n), difference(n);
  for (int i = 0; i < n; ++i) x_dot[i] = scale.x[i] * u(random);
  for (int i = 0; i < m; ++i) p_dot[i] = scale.p[i] * u(random);
  const auto at = [&](double s) {
    Vector x(in.x, in.x + n), p(in.p, in.p + m), y(n);
    for (int i = 0; i < n; ++i) x[i] += s * x_dot[i];
    for (int i = 0; i < m; ++i) p[i] += s * p_dot[i];
    EXPECT_TRUE(stepper.step({in.t + s * t_dot, in.h + s * h_dot, x.data(), p.data()}, y.data(), nullptr));
    if (theta >= 0) stepper.interpolate(theta + s * theta_dot, y.data());
    return y;
  };
  if (theta < 0) {
    stepper.step_jvp(in, {t_dot, h_dot, x_dot.data(), p_dot.data()}, y_dot.data());
  } else {
    stepper.interpolate_jvp(in, {t_dot, h_dot, x_dot.data(), p_dot.data()}, theta, theta_dot, y_dot.data());
  }
  const double weights[] = {45, -9, 1};
  for (int k = 0; k < 3; ++k) {
    const Vector plus = at((k + 1) * reach), minus = at(-(k + 1) * reach);
    for (int i = 0; i < n; ++i) difference[i] += weights[k] * (plus[i] - minus[i]) / (60 * reach);
  }
  double worst = 0, size = 0;
  for (int i = 0; i < n; ++i) {
    worst = std::max(worst, std::abs(difference[i] - y_dot[i]) / scale.x[i]);
    size = std::max(size, std::abs(y_dot[i]) / scale.x[i]);
  }
  return worst / size;
}

}  // namespace costate::ode::test

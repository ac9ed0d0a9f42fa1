// Problems on which the stiff steppers are tested.
#pragma once

#include <cmath>

#include "tests/ode/dual_field.h"

namespace costate::ode::test {

// A rotation by the angle t + p0 sin t and a logistic growth: smooth, not autonomous, not linear, with a
// closed form.
struct Smooth {
  static constexpr int kStates = 3, kParameters = 2;
  template <class S>
  void operator()(S t, const S* x, const S* p, S* dx) const {
    const S rate = 1.0 + p[0] * cos(t);
    dx[0] = -(rate * x[1]);
    dx[1] = rate * x[0];
    dx[2] = p[1] * x[2] * (1.0 - x[2]);
  }
  static void exact(double t, const double* p, double* x) {  // from (1, 0, 1/2) at t = 0
    const double angle = t + p[0] * std::sin(t);
    x[0] = std::cos(angle);
    x[1] = std::sin(angle);
    x[2] = 1 / (1 + std::exp(-p[1] * t));
  }
};

// Prothero-Robinson: x' = -lambda (x - sin t) + cos t, solution sin t.
struct ProtheroRobinson {
  static constexpr int kStates = 1, kParameters = 1;
  template <class S>
  void operator()(S t, const S* x, const S* p, S* dx) const {
    dx[0] = cos(t) - p[0] * (x[0] - sin(t));
  }
};

// The test equation x' = lambda x with lambda = p0 + i p1.
struct TestEquation {
  static constexpr int kStates = 2, kParameters = 2;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    dx[0] = p[0] * x[0] - p[1] * x[1];
    dx[1] = p[1] * x[0] + p[0] * x[1];
  }
};

struct Growth {
  static constexpr int kStates = 1, kParameters = 1;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    dx[0] = p[0] * x[0];
  }
};

struct VanDerPol {
  static constexpr int kStates = 2, kParameters = 1;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    dx[0] = x[1];
    dx[1] = p[0] * (1.0 - x[0] * x[0]) * x[1] - x[0];
  }
};

// Robertson's chemical kinetics.
struct Robertson {
  static constexpr int kStates = 3, kParameters = 3;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    const S a = p[0] * x[0], b = p[1] * x[1] * x[2], c = p[2] * x[1] * x[1];
    dx[0] = b - a;
    dx[1] = a - b - c;
    dx[2] = c;
  }
};
// With conservation of mass instead of the third equation: mass matrix diag(1, 1, 0).
struct RobertsonAlgebraic {
  static constexpr int kStates = 3, kParameters = 3;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    const S a = p[0] * x[0], b = p[1] * x[1] * x[2], c = p[2] * x[1] * x[1];
    dx[0] = b - a;
    dx[1] = a - b - c;
    dx[2] = x[0] + x[1] + x[2] - 1.0;
  }
};
inline std::vector<double> robertson_mass() { return {1, 0, 0, 0, 1, 0, 0, 0, 0}; }
inline constexpr double kRobertsonParameters[3] = {0.04, 1e4, 3e7};

// A circuit-like problem of index 1 whose M is singular without a zero row: M x' = f with M = (1 1; 1 1)/2
// acting on the sum.
//   s = x0 + x1 obeys s' = -p0 s + sin t, and x0 - x1 = p1 s^2 (the difference of the two rows).
struct MixedMass {
  static constexpr int kStates = 2, kParameters = 2;
  template <class S>
  void operator()(S t, const S* x, const S* p, S* dx) const {
    const S s = x[0] + x[1], rate = 0.5 * (sin(t) - p[0] * s), algebraic = x[0] - x[1] - p[1] * s * s;
    dx[0] = rate + algebraic;
    dx[1] = rate - algebraic;
  }
  static std::vector<double> mass() { return {0.5, 0.5, 0.5, 0.5}; }
  static void exact(double t, const double* p, double s0, double* x) {
    const double q = 1 + p[0] * p[0];
    const double s = (s0 + 1 / q) * std::exp(-p[0] * t) + (p[0] * std::sin(t) - std::cos(t)) / q;
    x[0] = 0.5 * (s + p[1] * s * s);
    x[1] = 0.5 * (s - p[1] * s * s);
  }
};

// A pendulum of unit mass in Cartesian coordinates (x, y, vx, vy, tension per length), index 1: the
// constraint x^2 + y^2 = L^2 differentiated twice, v^2 - g y - L^2 tension = 0. p = (g, L).
struct CartesianPendulum {
  static constexpr int kStates = 5, kParameters = 2;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    dx[0] = x[2];
    dx[1] = x[3];
    dx[2] = -(x[4] * x[0]);
    dx[3] = -(x[4] * x[1]) - p[0];
    dx[4] = x[2] * x[2] + x[3] * x[3] - p[0] * x[1] - p[1] * p[1] * x[4];
  }
  static std::vector<double> mass() {
    std::vector<double> m(25);
    for (int i = 0; i < 4; ++i) m[6 * i] = 1;
    return m;
  }
};
// The same in the angle and its rate.
struct AnglePendulum {
  static constexpr int kStates = 2, kParameters = 2;
  template <class S>
  void operator()(S, const S* x, const S* p, S* dx) const {
    dx[0] = x[1];
    dx[1] = -(p[0] / p[1] * sin(x[0]));
  }
};

}  // namespace costate::ode::test

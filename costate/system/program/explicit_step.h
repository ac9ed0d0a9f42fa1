// Explicit one-step methods for x' = f(t, x), generic in the number and in the array that holds the state.
//
//   Euler   y  = x + h f(t, x)
//   RK4     k1 = f(t, x), k2 = f(t + h/2, x + h/2 k1), k3 = f(t + h/2, x + h/2 k2), k4 = f(t + h, x + h k3)
//           y  = x + h/6 (k1 + 2 k2 + 2 k3 + k4)
//
//   RK      k_s = f(t + c_s h, x + h sum_j a_sj k_j),  y = x + h sum_s b_s k_s
//           by its rows (ode::fixed_scheme has them)
//
// The numbers are those of core/runge_kutta.h. One source makes the step of a compiled lambda, of a recorded
// Program and of the built-in problems (ode/lanes/fixed_step.h, which adds the transposes). A system made
// with one of them has the parameter "dt" after its own, and "t0" after that if f depends on time; step k
// starts at t0 + k dt.
//
// Tests: tests/system/program/program_system_test.cpp, lambda_system_test.cpp.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "costate/core/platform.h"
#include "costate/core/runge_kutta_rows.h"

namespace costate {

// No integrator: the user's function gives the next state itself.
struct NextState {};

struct EulerStep {
  double dt = 0.01;
  template <class S, class X, class F>
  static COSTATE_HD COSTATE_INLINE X step(const F& f, S t, S h, const X& x) {
    return x + h * f(t, x);
  }
};

struct Rk4Step {
  double dt = 0.01;
  template <class S, class X, class F>
  static COSTATE_HD COSTATE_INLINE X step(const F& f, S t, S h, const X& x) {
    constexpr double kHalf = runge_kutta::Rk4::c[1], kSixth = runge_kutta::Rk4::b[0];
    const S half = S(kHalf) * h;
    const X k1 = f(t, x);
    const X k2 = f(t + half, x + half * k1);
    const X k3 = f(t + half, x + half * k2);
    const X k4 = f(t + h, x + h * k3);
    return x + (h * S(kSixth)) * (k1 + S(2) * (k2 + k3) + k4);
  }
};

// Any explicit method. Recorded physics only: the coefficients are numbers of the run, not of the compiler.
struct RungeKuttaStep {
  double dt = 0.01;
  std::string name;
  runge_kutta::Rows rows = {};

  template <class S, class X, class F>
  X step(const F& f, S t, S h, const X& x) const {
    std::vector<X> k;
    const auto moved = [&](const runge_kutta::Row& row) {
      if (row.empty()) return x;
      X sum = S(row[0].value) * k[row[0].stage];
      for (std::size_t j = 1; j < row.size(); ++j) sum = sum + S(row[j].value) * k[row[j].stage];
      return x + h * sum;
    };
    for (std::size_t s = 0; s < rows.c.size(); ++s) {
      const double c = rows.c[s];
      k.push_back(f(c == 0 ? t : S(t + S(c) * h), moved(rows.a[s])));
    }
    return moved(rows.b);
  }
};

// `dt` is the default of the parameter.
inline EulerStep euler(double dt) { return {dt}; }
inline Rk4Step rk4(double dt) { return {dt}; }

using Scheme = std::variant<NextState, EulerStep, Rk4Step, RungeKuttaStep>;

// A scheme by its rows; NextState has no stages.
RungeKuttaStep rows_of(const Scheme& scheme);

}  // namespace costate

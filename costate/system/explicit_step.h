// Explicit one-step methods for x' = f(t, x), generic in the number and in the array that holds the state.
//
//   Euler   y  = x + h f(t, x)
//   RK4     k1 = f(t, x), k2 = f(t + h/2, x + h/2 k1), k3 = f(t + h/2, x + h/2 k2), k4 = f(t + h, x + h k3)
//           y  = x + h/6 (k1 + 2 k2 + 2 k3 + k4)
//
// (Hairer, Norsett, Wanner: Solving Ordinary Differential Equations I, Table II.1.2.) One source makes the step
// of a compiled lambda, of a recorded Program and of the built-in problems (ode/fixed_step.h, which adds the transposes). A system made with one of them has the parameter "dt" after
// its own, and "t0" after that if f depends on time; step k starts at t0 + k dt.
//
// Tests: tests/system/program_system_test.cpp, lambda_system_test.cpp.
#pragma once

#include <variant>

#include "costate/core/platform.h"

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
    const S half = S(0.5) * h;
    const X k1 = f(t, x);
    const X k2 = f(t + half, x + half * k1);
    const X k3 = f(t + half, x + half * k2);
    const X k4 = f(t + h, x + h * k3);
    return x + (h * S(1.0 / 6)) * (k1 + S(2) * (k2 + k3) + k4);
  }
};

// `dt` is the default of the parameter.
inline EulerStep euler(double dt) { return {dt}; }
inline Rk4Step rk4(double dt) { return {dt}; }

using Scheme = std::variant<NextState, EulerStep, Rk4Step>;

}  // namespace costate

// PeriodicOrbit: a periodic solution of an autonomous x' = f(x, p) by shooting, with the derivatives of its
// start and its period.
//
//   F(x0, T, p) - x0 = 0      F: the state after the time T, by steps of length w_k T (fractions w_k, frozen)
//   n' x0 - c        = 0      phase condition: which point of the orbit x0 is
//
// Newton for z = (x0, T). With the equations g(z; p) = 0, by the implicit function theorem:
//
//   g_z = [ F_x - I   F_T ]       jvp:  g_z (x0_dot, T_dot) = -(F_p p_dot, 0)
//         [   n'       0  ]       vjp:  g_z' mu = (x0_bar, T_bar),   p_bar -= F_p' mu
//
// F_x comes from the tangents of the steps, F_p' from one transposed sweep: exact for the steps taken. The
// fractions w_k are chosen by error control along the guess and once more along the orbit found. F_x, the
// monodromy matrix, has one eigenvalue 1; the others say whether the orbit is stable (multipliers()).
//
// [1] Seydel: Practical Bifurcation and Stability Analysis, 3rd ed., sections 7.1, 7.5.
// Tests: tests/ode/orbits/periodic_orbit_test.cpp.
#pragma once

#include <complex>
#include <memory>

#include "costate/ode/methods/stepper.h"
#include "costate/solve/implicit_function.h"

namespace costate::ode {

struct PeriodicOrbitOptions {
  double rtol = 1e-9, atol = 1e-12;  // of the steps
  long max_steps = 100000;           // per period
  // Phase condition normal' x0 = offset. Empty normal: through the guess, across the flow (normal = f there),
  // so that x0 moves as little along the orbit as possible. With an explicit condition such as {0, 1}, 0 the
  // derivative of x0 has a meaning of its own.
  std::vector<double> normal = {};
  double offset = 0;
  solve::NewtonOptions newton = {.tolerance = 1e-11};
};

class PeriodicOrbit {
 public:
  // The stepper must have been made for this field; both must outlive the orbit. Throws Error where the field
  // depends on time.
  PeriodicOrbit(const VectorField& field, Stepper& stepper, PeriodicOrbitOptions options = {});
  ~PeriodicOrbit();

  struct Result {
    int newton_iterations = 0;
    double residual = 0;  // max |F - x0|
    long steps = 0;       // per period
  };
  // x0 and period: guess in, orbit out. Throws Error if there is none in reach.
  Result solve(const double* p, double* x0, double* period);

  // Of the orbit found last. Each returns the relative residual of its linear solve.
  double jvp(const double* p_dot, double* x0_dot, double* period_dot);
  double vjp(const double* x0_bar, double period_bar, double* p_bar);  // adds
  // F_x, row-major, and its eigenvalues, largest first.
  std::vector<double> monodromy() const;
  std::vector<std::complex<double>> multipliers() const;

 private:
  class Shooting;
  std::unique_ptr<Shooting> shooting_;
  std::unique_ptr<solve::ImplicitFunction> implicit_;
  PeriodicOrbitOptions options_;
  std::vector<double> z_, p_;
};

}  // namespace costate::ode

// Steady states and periodic orbits as functions of the parameters. Quoted by docs/ode.md.
#include <costate/costate.h>
#include <costate/ode/methods/method.h>
#include <costate/ode/orbits/periodic_orbit.h>
#include <costate/ode/orbits/steady_state.h>

#include <cmath>
#include <cstdio>

using namespace costate;

void steady() {
  // [steady]
  // A toggle switch: two genes that repress each other, p = (production, steepness).
  const auto toggle = ode::make_field<2, 2>([](auto, auto x, auto p) {
    return std::array{p[0] / (1.0 + exp(p[1] * log(x[1]))) - x[0],
                      p[0] / (1.0 + exp(p[1] * log(x[0]))) - x[1]};
  });
  ode::SteadyState steady(toggle, {.newton_first = false});  // follow the dynamics from the start
  const double p[] = {4, 2};
  double x[] = {3, 0.5};
  steady.solve(p, x);
  steady.linearise(x, p);
  double by_p[2] = {};
  const double first[] = {1, 0};
  steady.vjp(first, by_p);  // of the first gene's level
  std::printf("steady state %.6f %.6f, first by p: %.6f %.6f\n", x[0], x[1], by_p[0], by_p[1]);
  // [/steady]
}

void periodic() {
  // [periodic]
  const auto van_der_pol = ode::make_field<2, 1>([](auto, auto x, auto p) {
    return std::array{x[1], p[0] * (1.0 - x[0] * x[0]) * x[1] - x[0]};
  });
  const auto stepper = ode::make_stepper("dop853", van_der_pol);
  ode::PeriodicOrbit orbit(van_der_pol, *stepper, {.normal = {0, 1}, .offset = 0});  // start where x' = 0
  const double mu = 1;
  double x0[] = {2, 0}, period = 6.5;  // a guess
  orbit.solve(&mu, x0, &period);
  double by_mu = 0;
  const double none[] = {0, 0};
  orbit.vjp(none, 1, &by_mu);
  std::printf("period %.6f, amplitude %.6f, d period / d mu %.6f\n", period, x0[0], by_mu);
  std::printf("multipliers %.4f %.4f: %s\n", orbit.multipliers()[0].real(), orbit.multipliers()[1].real(),
              std::abs(orbit.multipliers()[1]) < 1 ? "stable" : "unstable");
  // [/periodic]
}

int main() {
  steady();
  periodic();
}

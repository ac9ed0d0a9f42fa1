// Write your own physics in 40 lines: a damped, driven pendulum as one function, fitted to a recording.
//
//   q'' = -(g / l) sin q - c q' + torque      q angle, l length, c damping, torque per unit of inertia
//
// Nothing here is a derivative: the function is compiled for values and recorded once for its reverse mode.
//
// Sample run:
//   $ own_physics
//   iteration   0  error 6.63e-02  length 1.0000 m  damping 0.3000 1/s
//   iteration  20  error 2.75e-04  length 1.3037 m  damping 0.1942 1/s
//   iteration  40  error 8.19e-06  length 1.3008 m  damping 0.1574 1/s
//   iteration  60  error 1.98e-07  length 1.3001 m  damping 0.1511 1/s
//   iteration  80  error 4.61e-09  length 1.3000 m  damping 0.1502 1/s
#include <array>
#include <cmath>
#include <cstdio>

#include "costate/system/program/lambda_system.h"
#include "costate/system/rollout.h"

using namespace costate;

int main() {
  // 1. Name what the physics has: states, controls, parameters with their defaults (our first guess).
  // [physics]
  Signature fields;
  fields.state("angle", 1, "rad").state("rate", 1, "rad/s").control("torque", 1, "1/s^2");
  fields.parameter("length", 1.0, "m").parameter("damping", 0.3, "1/s");

  // 2. Write its equation, for any kind of number, and choose an integrator.
  const auto pendulum = [](auto x, auto u, auto p) {
    return std::array{x[1], u[0] - 9.81 / p[0] * sin(x[0]) - p[1] * x[1]};
  };
  const auto system = lambda_system<double, Sizes{.states = 2, .controls = 1, .parameters = 2}>(
      fields, pendulum, rk4(0.01), 1);
  // [/physics]

  // 3. Make a recording: the true pendulum, pushed now and then, its angle read 20 times in 4 seconds.
  // [fit]
  Rollout rollout(system, {.steps = 400, .hold = 50, .keep = 20, .active = {"length", "damping"}});
  Arguments<double> guess = rollout.arguments();
  guess.x0 = {0.8, 0.0};
  for (std::size_t i = 0; i < guess.controls.size(); ++i) guess.controls[i] = i % 2 == 0 ? 0.5 : -0.5;
  Arguments<double> truth = guess;
  truth.parameters.set("length", 1.3).set("damping", 0.15);
  const auto recording = rollout.simulate(truth);
  std::vector<double> angles;
  for (std::size_t i = 0; i < recording.kept.size(); ++i) angles.push_back(recording.states[2 * i]);
  const auto error = loss::track<double>(system->signature(), "angle", recording.kept, angles,
                                         1.0 / static_cast<double>(angles.size()));

  // 4. Descend along the gradient: one backward pass gives it for every parameter.
  for (int iteration = 0; iteration <= 80; ++iteration) {
    const auto gradient = rollout.value_and_gradient(guess, *error);
    double &length = guess.parameters["length"][0], &damping = guess.parameters["damping"][0];
    if (iteration % 20 == 0)
      std::printf("iteration %3d  error %.2e  length %.4f m  damping %.4f 1/s\n", iteration, gradient.value,
                  length, damping);
    length -= 0.3 * gradient.parameters["length"][0];
    damping -= 0.3 * gradient.parameters["damping"][0];
  }
  // [/fit]
}

// Estimate the state of a pendulum from noisy angles, and its length and damping by climbing the likelihood.
#include <costate/costate.h>

#include <cmath>
#include <cstdio>

#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"

using namespace costate;

int main() {
  // [filter]
  // 1. A pendulum, and a recording of its angle every 0.05 s with an error of 0.02 rad.
  Signature fields;
  fields.state("angle").state("rate").parameter("length", 1.0).parameter("damping", 0.1);
  const auto system = equations_system<double>(
      fields, "angle_dot = rate; rate_dot = -9.81/length*sin(angle) - damping*rate", rk4(0.05));
  Rollout<double> rollout(system, {.steps = 200, .keep = 1});
  Arguments<double> truth = rollout.arguments();
  truth.x0 = {1.0, 0.0};
  truth.parameters.set("length", 1.3).set("damping", 0.25);
  const auto states = rollout.simulate(truth).states;
  std::vector<double> angles;
  for (std::uint32_t k = 0; k <= 200; ++k)
    angles.push_back(states[2 * k] + 0.02 * normal<double>(1, 0, k, 0));

  // 2. The filter: what is measured, how noisy, and where the pendulum may start.
  control::Estimation problem;
  problem.system = system;
  problem.parameters = Parameters<double>(system->signature());
  problem.measured = {loss::expression<double>(system->signature(), "angle")};
  problem.measurement_noise = {0.02 * 0.02};
  problem.process_noise = {1e-8, 0, 0, 1e-6};
  problem.x0 = {0.9, 0}, problem.P0 = {0.04, 0, 0, 0.04};

  // 3. Climb the likelihood: its gradient goes through every step of the filter.
  const auto misfit = [&](const double* p, double* gradient) {
    problem.parameters.set("length", p[0]).set("damping", p[1]);
    const control::LikelihoodGradient g = control::likelihood_gradient(problem, angles);
    gradient[0] = -g.parameters["length"][0], gradient[1] = -g.parameters["damping"][0];
    return -g.value;
  };
  const auto found =
      optim::minimize(misfit, {1.0, 0.1},
                      optim::LbfgsOptions{.first_step = 0.05,
                                          .stopping = {.max_iterations = 60, .gradient_tolerance = 1e-4},
                                          .bounds = {.lower = {0.5, 0}, .upper = {3, 2}}});
  // [/filter]
  std::printf("length %.2f m, damping %.2f 1/s (true: 1.30, 0.25)\n", found.x[0], found.x[1]);

  // 4. The smoothed angles are nearer to the truth than the measured ones.
  problem.parameters.set("length", found.x[0]).set("damping", found.x[1]);
  const control::Estimate smoothed = control::smooth(problem, angles);
  double before = 0, after = 0;
  for (std::size_t k = 0; k <= 200; ++k) {
    before += std::pow(angles[k] - states[2 * k], 2) / 201;
    after += std::pow(smoothed.x[2 * k] - states[2 * k], 2) / 201;
  }
  std::printf("rms error of the angles: %.3f measured, %s smoothed\n", std::sqrt(before),
              std::sqrt(after) < 0.005 ? "below 0.005" : "not below 0.005");
  return std::sqrt(after) < 0.005 ? 0 : 1;
}

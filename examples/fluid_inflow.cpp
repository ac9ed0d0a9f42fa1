// What came into a channel, from probes behind the inlet: 16 probes read the speed of a flow, and the speed
// of the inflow at 32 moments is found from the readings.
//
//   fluid_inflow
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "costate/core/philox.h"
#include "costate/fluid/flow.h"
#include "costate/optim/lbfgs.h"
#include "costate/system/rollout.h"

using namespace costate;

constexpr std::int64_t kNx = 48, kNy = 16, kKnots = 32, kHold = 6, kSteps = kKnots * kHold;

// A parabola over the inlet, times the speed at each of the moments; the transpose adds up over the faces.
double parabola(std::int64_t face) {
  const double y = (double(face) + 0.5) / double(kNy);
  return 4 * y * (1 - y);
}
void set_inflow(const double* speed, std::int64_t numbers, std::vector<double>& controls) {
  for (std::int64_t k = 0; k < kKnots; ++k)
    for (std::int64_t j = 0; j < kNy; ++j) controls[std::size_t(k * numbers + j)] = speed[k] * parabola(j);
}

double recover(double noise) {
  // 1. A channel of 3 m x 1 m: inflow in the west, outflow in the east, walls in the south and north.
  // [channel]
  fluid::FlowOptions options{.cells = {kNx, kNy}, .width = {1.0 / kNy, 1.0 / kNy, 1}, .dt = 0.02};
  options.viscosity = 0.02;
  options.sides[0] = {.kind = fluid::Side::Kind::velocity, .driven = true};
  options.sides[1] = {.kind = fluid::Side::Kind::outflow};
  options.sides[2] = options.sides[3] = fluid::wall();
  const auto channel = fluid::flow<double>(options);
  Rollout<double> rollout(channel, {.steps = kSteps, .hold = kHold, .keep = 1, .active = {}});
  // [/channel]

  // 2. The truth, and what 16 probes read of it at every step, half a metre behind the inlet.
  const std::int64_t numbers = channel->signature().controls();
  Arguments<double> at = rollout.arguments();
  std::vector<double> truth(kKnots), probes(std::size_t(kSteps + 1) * kNy);
  for (std::int64_t k = 0; k < kKnots; ++k)
    truth[std::size_t(k)] =
        1 + 0.5 * std::sin(0.5 * double(k)) + 0.3 * (uniform(7, 0, std::uint32_t(k)) - 0.5);
  set_inflow(truth.data(), numbers, at.controls);
  const auto run = rollout.simulate(at);
  for (std::int64_t k = 0; k <= kSteps; ++k)
    for (std::int64_t j = 0; j < kNy; ++j)
      probes[std::size_t(k * kNy + j)] =
          run.states[std::size_t(k) * at.x0.size() + std::size_t(j * (kNx + 1) + 8)] +
          noise * (2 * uniform(9, 1, std::uint32_t(k * kNy + j)) - 1);

  // [fit]
  // 3. Half the squared misfit of all readings. Its derivatives with respect to the states are supplied as
  //    cotangents, and one backward pass turns them into those of all inflow speeds.
  const auto objective = [&](const double* speed, double* gradient) {
    set_inflow(speed, numbers, at.controls);
    const auto trajectory = rollout.forward(at);
    double misfit = 0;
    std::vector<std::vector<double>> bars(std::size_t(kSteps) + 1);
    std::vector<std::int64_t> steps;
    for (std::int64_t k = 0; k <= kSteps; ++k) {
      std::vector<double>& bar = bars[std::size_t(k)];
      bar.assign(at.x0.size(), 0.0);
      for (std::int64_t j = 0; j < kNy; ++j) {
        const auto number = std::size_t(j * (kNx + 1) + 8);
        bar[number] =
            trajectory.states[std::size_t(k) * bar.size() + number] - probes[std::size_t(k * kNy + j)];
        misfit += bar[number] * bar[number] / 2;
      }
      steps.push_back(k);
    }
    const auto g = rollout.backward(*loss::cotangents<double>(channel->signature(), steps, bars));
    for (std::int64_t k = 0; k < kKnots; ++k) {
      gradient[k] = 0;
      for (std::int64_t j = 0; j < kNy; ++j)
        gradient[k] += parabola(j) * g.controls[std::size_t(k * numbers + j)];
    }
    return misfit;
  };
  const auto found =
      optim::minimize(objective, std::vector<double>(kKnots, 1.0),
                      optim::LbfgsOptions{.first_step = 0.1, .stopping = {.max_iterations = 60}});
  // [/fit]
  double error = 0, size = 0;
  for (std::size_t k = 0; k < kKnots; ++k) {
    error += (found.x[k] - truth[k]) * (found.x[k] - truth[k]);
    size += truth[k] * truth[k];
  }
  return std::sqrt(error / size);
}

int main() {
  std::printf("readings        error of the 32 inflow speeds\n");
  const double clean = recover(0), noisy = recover(0.01);
  std::printf("exact           %s\n", clean < 1e-3 ? "below 0.1 %" : "not below 0.1 %");
  std::printf("with 1 %% noise   %s\n", noisy < 0.05 ? "below 5 %" : "not below 5 %");
  return clean < 1e-3 && noisy < 0.05 ? 0 : 1;
}

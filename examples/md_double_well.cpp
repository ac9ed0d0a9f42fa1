// Langevin dynamics in a double well: how do the mean square position and its rate of change depend on the
// barrier, the temperature, the friction, the mass and the time step?
#include <costate/costate.h>

#include <cstdio>

using namespace costate;

int main() {
  // [model]
  // 1. One atom on a line, in a (x^2 - 1)^2, with Langevin's equation by the splitting BAOAB.
  const auto system = md::make_system<double>({.dimensions = 1,
                                               .masses = {1},
                                               .potentials = {{.kind = "double_well"}},
                                               .integrator = "BAOAB",
                                               .dt = 0.02,
                                               .kT = 0.5,
                                               .friction = 1});
  // 2. 20,000 walkers, each with its own noise, from the left well.
  Rollout<double> rollout(system, {.steps = 100, .worlds = 20'000, .seed = 1});
  auto at = rollout.arguments();
  at.x0 = {-1, 0};
  // [/model]
  // [gradient]
  // 3. The mean of x^2 after two units of time, and its derivative with respect to every parameter.
  const auto mean_square = loss::final<double>(system->signature(), "x", {}, 2.0 / 20'000);
  const auto g = rollout.value_and_gradient(at, *mean_square);
  std::printf("mean x^2 %.4f\n", g.value);
  for (const char* name : {"double_well/a", "double_well/b", "kT", "friction", "mass", "dt"})
    std::printf("  with respect to %-14s %8.4f\n", name, g.parameters[name][0]);
  // [/gradient]

  // 4. The noise is an input, so a difference of two runs sees the same noise.
  const auto value = [&](double a) {
    auto moved = at;
    moved.parameters.set("double_well/a", a);
    return rollout.value(moved, *mean_square);
  };
  const double difference = (value(1 + 1e-4) - value(1 - 1e-4)) / 2e-4;
  std::printf("difference        %-14s %8.4f\n", "double_well/a", difference);
  return std::abs(difference - g.parameters["double_well/a"][0]) < 1e-4 ? 0 : 1;
}

// Many worlds where there is room for them: on a GPU if this machine has one, on the CPU otherwise. The rest
// of the program does not change.
#include <cmath>
#include <cstdio>

#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/system/devices.h"
#include "costate/system/rollout.h"

using namespace costate;

int main() {
  const auto system = ode::lorenz<float>(ode::Integrator::rk4, 0.002);
  // [device]
  const std::string device = devices().back().device;  // "cuda:0", or "cpu" where there is no GPU
  Rollout<float> rollout(system, {.steps = 200, .worlds = 4096, .active = {"rho"}, .device = device});
  // [/device]
  Rollout<float> on_the_cpu(system, {.steps = 200, .worlds = 4096, .active = {"rho"}});

  Arguments<float> arguments = rollout.arguments();
  arguments.x0.clear();
  for (int world = 0; world < 4096; ++world)
    arguments.x0.insert(arguments.x0.end(), {1 + 1e-3f * world, 1, 20});
  const auto loss = loss::final<float>(system->signature(), "z", {});

  const Gradient<float> gradient = rollout.value_and_gradient(arguments, *loss),
                        expected = on_the_cpu.value_and_gradient(arguments, *loss);
  const double there = gradient.parameters["rho"][0], here = expected.parameters["rho"][0];
  std::printf("d loss / d rho agrees with the CPU's: %s\n",
              std::abs(there - here) < 1e-4 * std::abs(here) ? "yes" : "no");
  std::printf("schedule: %s, %s\n", gradient.report.schedule.c_str(), gradient.report.label.c_str());
}

// A thousand pendulums of different lengths under one shared torque: which torque brings all of them closest
// to rest?
//
//   build/bin/many_worlds
#include <costate/costate.h>

#include <cstdio>

int main() {
  using namespace costate;
  // [example]
  const std::int64_t worlds = 1000;
  const auto pendulum = ode::pendulum<double>(ode::Integrator::rk4, 0.01);
  Rollout<double> rollout(pendulum,
                          {.steps = 200, .worlds = worlds, .checkpoints = binomial(20), .hold = 20});

  auto at = rollout.arguments();  // ten torques, each held for 20 steps, shared by all worlds
  at.x0 = {0.3, 0.0};             // one start for all
  std::vector<double> length;     // one length each
  for (std::int64_t w = 0; w < worlds; ++w) length.push_back(0.9 + 0.2 * double(w) / double(worlds));
  at.parameters.set("length", length);

  const auto& names = pendulum->signature();
  const auto objective =
      loss::sum<double>({loss::final<double>(names, "q", {}), loss::final<double>(names, "v", {}),
                         loss::effort<double>(names, 1e-4)});
  for (int iteration = 0; iteration < 60; ++iteration) {
    const auto g = rollout.value_and_gradient(at, *objective);
    if (iteration % 20 == 0)
      std::printf("iteration %2d  mean loss %.5f\n", iteration, g.value / double(worlds));
    for (std::size_t k = 0; k < at.controls.size(); ++k)
      at.controls[k] -= 1.5 / double(worlds) * g.controls[k];
  }
  // [/example]
  std::printf("after         mean loss %.5f\n", rollout.value(at, *objective) / double(worlds));
}

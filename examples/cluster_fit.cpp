// Gravity from two hundred pendulums of different lengths, computed by threads, and once more by a thousand
// simulated workers of which some die: the same bits.
//
//   build/bin/cluster_fit
#include <cmath>
#include <cstdio>

#include "costate/cluster/pool.h"
#include "costate/cluster/rollout_job.h"
#include "costate/cluster/simulated.h"
#include "costate/cluster/threads.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/optim/lbfgs.h"

using namespace costate;

int main() {
  // [example]
  // 1. Many worlds: one length each, and where each of them was seen after two seconds.
  const std::int64_t worlds = 200;
  const auto pendulum = ode::pendulum<double>(ode::Integrator::rk4, 0.01);
  const RolloutOptions options{.steps = 200, .worlds = worlds};
  Rollout<double> rollout(pendulum, options);
  Arguments<double> truth = rollout.arguments();
  truth.x0 = {0.3, 0.0};
  std::vector<double> lengths, seen;
  for (std::int64_t w = 0; w < worlds; ++w) lengths.push_back(0.9 + 0.2 * double(w) / double(worlds));
  truth.parameters.set("length", lengths).set("gravity", 9.70);
  const auto end = rollout.simulate(truth).final_state;  // (q, v) of each world
  for (std::int64_t w = 0; w < worlds; ++w) seen.push_back(end[std::size_t(2 * w)]);

  // 2. The sum over all worlds as a job of blocks, a function of gravity.
  const auto job =
      cluster::rollout_job(pendulum, options, truth, loss::final<double>(pendulum->signature(), "q", seen),
                           {.block = 16, .variables = {"gravity"}});

  // 3. A pool computes it; every optimiser of the engine takes pool.objective().
  cluster::Pool pool(cluster::threads(2));
  const auto best = optim::minimize(pool.objective(*job, 1), {9.81}, optim::LbfgsOptions{});
  std::printf("gravity %.6f m/s^2\n", best.x[0]);

  // 4. Who computes does not show in the result.
  cluster::Pool other(cluster::simulated({.workers = 1000, .chance_of_death = 0.2}));
  const auto here = pool.value_and_grad(*job, {9.81}), there = other.value_and_grad(*job, {9.81});
  std::printf("gradient %.17g and %.17g\n", here.gradient[0], there.gradient[0]);
  // [/example]
  return here.gradient == there.gradient && std::abs(best.x[0] - 9.70) < 1e-6 ? 0 : 1;
}

// The Lorenz ensemble through the general Rollout: 16384 worlds, rho from 20 to 28, RK4 with dt = 0.01, 1000
// steps; gradient of x_end^2 with respect to every world's start and rho. lorenz_prototype.cpp is the same
// written out by hand.
#include <memory>

#include "bench/measure.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/ode/lanes/problems/lorenz.h"
#include "costate/system/program/program_system.h"
#include "costate/system/rollout.h"

namespace costate::bench {
namespace {

constexpr std::int64_t kWorlds = 16384, kSteps = 1000;
constexpr double kFlops = 70;  // of one RK4 step, as usually counted

// The same equations as text, run by the strip interpreter.
template <class Real>
std::shared_ptr<const System<Real>> interpreted() {
  Signature s;
  ode::Lorenz::describe(s);
  return equations_system<Real>(s, "x_dot = sigma*(y - x); y_dot = x*(rho - z) - y; z_dot = x*y - beta*z",
                                rk4(0.01), kWorlds);
}

template <class Real>
struct Ensemble {
  std::shared_ptr<const System<Real>> system;
  Rollout<Real> rollout;
  Arguments<Real> at;
  ObjectivePtr<Real> objective;
  explicit Ensemble(const Checkpoints& checkpoints,
                    std::shared_ptr<const System<Real>> s = ode::lorenz<Real>())
      : system(std::move(s)),
        rollout(system, {.steps = kSteps, .worlds = kWorlds, .checkpoints = checkpoints, .active = {"rho"}}),
        at(rollout.arguments()) {
    at.x0.assign(3 * kWorlds, Real(1));
    std::vector<Real> rho;
    for (std::int64_t w = 0; w < kWorlds; ++w) rho.push_back(Real(20 + 8.0 * double(w) / (kWorlds - 1)));
    at.parameters.set("rho", rho);
    objective = loss::final<Real>(system->signature(), "x", {}, 2.0);
  }
};

template <class Real>
void forward(benchmark::State& state) {
  Ensemble<Real> e(store_all());
  for (auto _ : state) benchmark::DoNotOptimize(e.rollout.value(e.at, *e.objective));
  report(state, {.items = double(kWorlds * kSteps), .flops = double(kWorlds * kSteps) * kFlops});
}
template <class Real>
void gradient(benchmark::State& state, const Checkpoints& checkpoints) {
  Ensemble<Real> e(checkpoints);
  for (auto _ : state) benchmark::DoNotOptimize(e.rollout.value_and_gradient(e.at, *e.objective).value);
  report(state, {.items = double(kWorlds * kSteps)});
}

template <class Real>
void program_forward(benchmark::State& state) {
  Ensemble<Real> e(store_all(), interpreted<Real>());
  for (auto _ : state) benchmark::DoNotOptimize(e.rollout.value(e.at, *e.objective));
  report(state, {.items = double(kWorlds * kSteps)});
}
template <class Real>
void program_gradient(benchmark::State& state) {
  Ensemble<Real> e(segments(100), interpreted<Real>());
  for (auto _ : state) benchmark::DoNotOptimize(e.rollout.value_and_gradient(e.at, *e.objective).value);
  report(state, {.items = double(kWorlds * kSteps)});
}

void million_steps(benchmark::State& state, const Checkpoints& checkpoints) {
  constexpr std::int64_t steps = 1000000;
  const auto system = ode::lorenz<double>(ode::Integrator::rk4, 1e-5);
  Rollout<double> rollout(system, {.steps = steps, .checkpoints = checkpoints, .active = {"rho"}});
  Arguments<double> at = rollout.arguments();
  at.x0 = {1, 2, 20};
  const auto objective = loss::final<double>(system->signature(), "x", {});
  GradientReport last;
  for (auto _ : state) last = rollout.value_and_gradient(at, *objective).report;
  report(state, {.items = double(steps)});
  state.counters["advances"] = double(last.advances);
  state.counters["memory_bytes"] = double(last.memory_bytes);
}

const bool registered = [] {
  benchmark::RegisterBenchmark("lorenz_ensemble/float/forward", forward<float>)->UseRealTime();
  benchmark::RegisterBenchmark("lorenz_ensemble/double/forward", forward<double>)->UseRealTime();
  benchmark::RegisterBenchmark("lorenz_ensemble/float/gradient", gradient<float>, store_all())->UseRealTime();
  benchmark::RegisterBenchmark("lorenz_ensemble/double/gradient", gradient<double>, store_all())
      ->UseRealTime();
  benchmark::RegisterBenchmark("lorenz_ensemble/float/gradient_segments", gradient<float>, segments(100))
      ->UseRealTime();
  benchmark::RegisterBenchmark("lorenz_ensemble/double/gradient_segments", gradient<double>, segments(100))
      ->UseRealTime();
  benchmark::RegisterBenchmark("lorenz_ensemble/float/program_forward", program_forward<float>)
      ->UseRealTime();
  benchmark::RegisterBenchmark("lorenz_ensemble/double/program_forward", program_forward<double>)
      ->UseRealTime();
  benchmark::RegisterBenchmark("lorenz_ensemble/float/program_gradient", program_gradient<float>)
      ->UseRealTime();
  benchmark::RegisterBenchmark("lorenz_ensemble/double/program_gradient", program_gradient<double>)
      ->UseRealTime();
  benchmark::RegisterBenchmark("million_steps/double/gradient_30_slots", million_steps, binomial(30))
      ->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace costate::bench

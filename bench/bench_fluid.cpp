// Incompressible flow. `jax_cfd` is the task of bench/peers for jax-cfd: 256 x 256 cells, 20 steps of one
// projection each, in single precision. Run with one thread to compare with processor times of one core.
#include "bench/measure.h"
#include "costate/fluid/flow.h"
#include "costate/system/rollout.h"

namespace costate::bench {
namespace {

struct Case {
  std::vector<std::int64_t> cells;
  fluid::Scheme scheme;
  std::int64_t steps;
  bool walls = false;
};

template <class Real>
struct Vortices {
  std::shared_ptr<System<Real>> system;
  Rollout<Real> rollout;
  Arguments<Real> at;
  ObjectivePtr<Real> objective;
  double cell_steps;

  Vortices(const Case& c, std::vector<std::string> active)
      : system(fluid::flow<Real>(options(c))),
        rollout(system, {.steps = c.steps, .active = std::move(active)}),
        at(rollout.arguments()),
        objective(loss::final<Real>(system->signature(), "u", {})),
        cell_steps(double(c.steps)) {
    for (std::size_t i = 0; i < at.x0.size(); ++i)
      at.x0[i] = Real(0.1 * (double(i * 7919 % 1000) / 1000 - 0.5));
    for (const std::int64_t n : c.cells) cell_steps *= double(n);
  }
  static fluid::FlowOptions options(const Case& c) {
    const double h = 1 / double(c.cells[0]);
    fluid::FlowOptions o{
        .cells = c.cells, .width = {h, h, h}, .dt = 1e-3, .viscosity = 1e-3, .scheme = c.scheme};
    for (std::size_t side = 0; c.walls && side < 2 * c.cells.size(); ++side) o.sides[side] = fluid::wall();
    return o;
  }
};

template <class Real>
void forward(benchmark::State& state, const Case& c) {
  Vortices<Real> flow(c, {});
  for (auto _ : state) benchmark::DoNotOptimize(flow.rollout.value(flow.at, *flow.objective));
  report(state, {.items = flow.cell_steps});
}
template <class Real>
void gradient(benchmark::State& state, const Case& c, const std::vector<std::string>& active) {
  Vortices<Real> flow(c, active);
  flow.rollout.value_and_gradient(flow.at, *flow.objective);  // touches the memory once
  for (auto _ : state)
    benchmark::DoNotOptimize(flow.rollout.value_and_gradient(flow.at, *flow.objective).value);
  report(state, {.items = flow.cell_steps});
}

template <class Real>
void add(const std::string& name, const Case& c) {
  benchmark::RegisterBenchmark((name + "/forward").c_str(), forward<Real>, c)->UseRealTime();
  benchmark::RegisterBenchmark((name + "/gradient").c_str(), gradient<Real>, c, std::vector<std::string>{})
      ->UseRealTime();
  benchmark::RegisterBenchmark((name + "/gradient_of_all").c_str(), gradient<Real>, c,
                               std::vector<std::string>{"**"})
      ->UseRealTime();
}

const bool registered = [] {
  using fluid::Scheme;
  add<double>("fluid/double_256", {{256, 256}, Scheme::rk3, 20});
  add<double>("fluid/double_256_walls", {{256, 256}, Scheme::rk3, 20, true});
  add<float>("fluid/jax_cfd", {{256, 256}, Scheme::euler, 20});
  add<float>("fluid/phiflow", {{128, 128}, Scheme::euler, 20});
  add<float>("fluid/phiflow_traced", {{128, 128}, Scheme::semi_lagrangian, 20});
  add<double>("fluid/double_128_cubed", {{128, 128, 128}, Scheme::rk3, 8});
  add<float>("fluid/float_128_cubed", {{128, 128, 128}, Scheme::rk3, 8});
  return true;
}();

}  // namespace
}  // namespace costate::bench

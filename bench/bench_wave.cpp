// The wave equation on 1024 x 1024 cells, 256 steps: forward, and the gradient with respect to the initial
// field and every cell's speed. Bytes: a step reads u, v and the speed and writes u and v.
#include "bench/measure.h"
#include "costate/grid/wave.h"
#include "costate/system/rollout.h"

namespace costate::bench {
namespace {

constexpr std::int64_t kSide = 1024, kCells = kSide * kSide, kSteps = 256;

template <class Real>
struct Pond {
  std::shared_ptr<System<Real>> system = grid::wave<Real>({.nx = kSide, .ny = kSide});
  Rollout<Real> rollout;
  Arguments<Real> at;
  ObjectivePtr<Real> objective = loss::final<Real>(system->signature(), "u", {});
  explicit Pond(const Checkpoints& checkpoints)
      : rollout(system, {.steps = kSteps, .checkpoints = checkpoints, .active = {"speed"}}),
        at(rollout.arguments()) {
    at.x0[std::size_t(kCells / 2 + kSide / 2)] = Real(1);
  }
};

template <class Real>
void forward(benchmark::State& state) {
  Pond<Real> pond(store_all());
  for (auto _ : state) benchmark::DoNotOptimize(pond.rollout.value(pond.at, *pond.objective));
  report(state, {.items = double(kCells * kSteps), .bytes = 5.0 * sizeof(Real) * double(kCells * kSteps)});
}
template <class Real>
void gradient(benchmark::State& state, const Checkpoints& checkpoints) {
  Pond<Real> pond(checkpoints);
  pond.rollout.value_and_gradient(pond.at, *pond.objective);  // touches the memory once
  for (auto _ : state)
    benchmark::DoNotOptimize(pond.rollout.value_and_gradient(pond.at, *pond.objective).value);
  report(state, {.items = double(kCells * kSteps)});
}

const bool registered = [] {
  benchmark::RegisterBenchmark("wave/float/forward", forward<float>)->UseRealTime();
  benchmark::RegisterBenchmark("wave/double/forward", forward<double>)->UseRealTime();
  benchmark::RegisterBenchmark("wave/float/gradient", gradient<float>, store_all())->UseRealTime();
  benchmark::RegisterBenchmark("wave/double/gradient", gradient<double>, store_all())->UseRealTime();
  benchmark::RegisterBenchmark("wave/float/gradient_reversible", gradient<float>, reversible())
      ->UseRealTime();
  benchmark::RegisterBenchmark("wave/double/gradient_reversible", gradient<double>, reversible())
      ->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace costate::bench

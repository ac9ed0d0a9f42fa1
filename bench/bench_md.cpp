// Molecules: the Lennard-Jones fluid and the double well of bench/peers.
//
//   md_lj_N     density 0.8, cutoff 2.5, skin 0.5, leapfrog, dt = 0.005: steps of one world; gradient of the
//               final potential energy with respect to (epsilon, sigma) over 100 steps
//   md_baoab    10,000 walkers, 1000 steps of BAOAB in a double well; gradient of the mean of x^2
//               with respect to the barrier
#include <algorithm>
#include <cmath>

#include "bench/measure.h"
#include "costate/core/philox.h"
#include "costate/md/model.h"
#include "costate/md/observable/thermodynamics.h"
#include "costate/system/rollout.h"

namespace costate::bench {
namespace {

constexpr std::int64_t kSteps = 100;

template <class Real>
struct Fluid {
  std::shared_ptr<System<Real>> system;
  Rollout<Real> rollout;
  Arguments<Real> at;
  ObjectivePtr<Real> energy;
  int runs = 0;

  static md::Model model(int cells) {
    const int n = 4 * cells * cells * cells;
    const double edge = std::cbrt(n / 0.8);
    return {.masses = std::vector<double>(std::size_t(n), 1.0),
            .potentials = {{.kind = "lennard_jones", .options = {{"cutoff", 2.5}, {"skin", 0.5}}}},
            .box = {edge, edge, edge},
            .integrator = "leapfrog",
            .dt = 0.005};
  }
  Fluid(int cells, const Checkpoints& checkpoints)
      : system(md::make_system<Real>(model(cells))),
        rollout(system, {.steps = kSteps, .checkpoints = checkpoints, .active = {"lennard_jones/*"}}),
        at(rollout.arguments()),
        energy(md::observe<Real>(model(cells), {})) {
    const double a = model(cells).box[0] / cells;
    const double base[4][3] = {{0, 0, 0}, {0, .5, .5}, {.5, 0, .5}, {.5, .5, 0}};
    std::size_t i = 0;
    const std::size_t n = std::size_t(4 * cells * cells * cells);
    for (int cell = 0; cell < cells * cells * cells; ++cell) {
      const int place[3] = {cell % cells, cell / cells % cells, cell / cells / cells};
      for (const auto& corner : base) {
        for (std::size_t k = 0; k < 3; ++k, ++i) {
          at.x0[i] = Real((place[k] + corner[k]) * a + 0.02 * normal<double>(1, std::uint32_t(i), 0));
          at.x0[3 * n + i] = Real(normal<double>(2, std::uint32_t(i), 0));
        }
      }
    }
  }
  // The same fluid in another place: lists of neighbours that were kept in the last run are of no use.
  const Arguments<Real>& elsewhere() {
    const auto coordinates = std::ptrdiff_t(at.x0.size() / 2);
    const Real by = ++runs % 64 == 0 ? Real(-63) : Real(1);
    std::for_each_n(at.x0.begin(), coordinates, [&](Real& x) { x += by; });
    return at;
  }
};

// 5^3 and 10^3 cells are the 500 and 4000 atoms of the peers.
template <class Real, int kCells>
void forward(benchmark::State& state) {
  Fluid<Real> f(kCells, store_all());
  for (auto _ : state) benchmark::DoNotOptimize(f.rollout.value(f.elsewhere(), *f.energy));
  report(state, {.items = double(kSteps)});
}
template <class Real, int kCells>
void gradient(benchmark::State& state) {
  // Many atoms keep few states, so that the memory does not grow with the steps.
  Fluid<Real> f(kCells, kCells > 20 ? binomial(8) : store_all());
  for (auto _ : state) benchmark::DoNotOptimize(f.rollout.value_and_gradient(f.elsewhere(), *f.energy).value);
  report(state, {.items = double(kSteps)});
}

template <class Real>
struct Walkers {
  static constexpr std::int64_t kWalkers = 10'000, kLong = 1000;
  std::shared_ptr<System<Real>> system = md::make_system<Real>({.dimensions = 1,
                                                                .masses = {1},
                                                                .potentials = {{.kind = "double_well"}},
                                                                .integrator = "BAOAB",
                                                                .dt = 0.01,
                                                                .kT = 0.5,
                                                                .friction = 1});
  Rollout<Real> rollout{system, {.steps = kLong, .worlds = kWalkers, .active = {"double_well/a"}}};
  Arguments<Real> at = rollout.arguments();
  ObjectivePtr<Real> square = loss::final<Real>(system->signature(), "x", {}, 2.0 / kWalkers);
  Walkers() { at.x0 = {1, 0}; }
};
template <class Real>
void baoab(benchmark::State& state) {
  Walkers<Real> w;
  for (auto _ : state) benchmark::DoNotOptimize(w.rollout.value(w.at, *w.square));
  report(state, {.items = double(w.kWalkers * w.kLong)});
}
template <class Real>
void baoab_gradient(benchmark::State& state) {
  Walkers<Real> w;
  for (auto _ : state) benchmark::DoNotOptimize(w.rollout.value_and_gradient(w.at, *w.square).value);
  report(state, {.items = double(w.kWalkers * w.kLong)});
}

BENCHMARK((forward<float, 5>))->Name("md_lj_500/float/forward")->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK((gradient<float, 5>))
    ->Name("md_lj_500/float/gradient")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK((forward<double, 5>))
    ->Name("md_lj_500/double/forward")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK((gradient<double, 5>))
    ->Name("md_lj_500/double/gradient")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK((forward<float, 10>))
    ->Name("md_lj_4000/float/forward")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK((gradient<float, 10>))
    ->Name("md_lj_4000/float/gradient")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK((forward<double, 10>))
    ->Name("md_lj_4000/double/forward")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK((gradient<double, 10>))
    ->Name("md_lj_4000/double/gradient")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK((forward<float, 29>))
    ->Name("md_lj_97556/float/forward")
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK((gradient<float, 29>))
    ->Name("md_lj_97556/float/gradient")
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(baoab<float>)->Name("md_baoab/float/forward")->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(baoab_gradient<float>)
    ->Name("md_baoab/float/gradient")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(baoab<double>)->Name("md_baoab/double/forward")->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(baoab_gradient<double>)
    ->Name("md_baoab/double/gradient")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace costate::bench

// Material points.
//
//   mpm_block         100,000 neo-Hookean particles on 64^3 nodes fall on the floor, 50 steps: the scene of
//                     peers/mpm_warp.py and mpm_taichi.py
//   mpm_thrown_block  3,600 corotated particles in two dimensions, 1023 steps: DiffTaichi's diffmpm_simple,
//                     in double and float
//   mpm_million       a million particles, 12 steps, kept in 6 snapshots. A state is 96 MB: with binomial(30)
//                     a gradient over 1000 steps keeps 32 of them (3.1 GB) and takes 2.5 advances a step;
//                     `memory` is what was counted here
//
// The rate counts particles times steps. one_thread/ measures CPU seconds of one thread, which a busy machine
// changes least; the others real time on all threads.
#include "bench/measure.h"
#include "costate/core/parallel.h"
#include "costate/mpm/system.h"
#include "costate/system/rollout.h"

namespace costate::bench {
namespace {

mpm::Model block(int nodes, int nx, int ny, int nz) {
  mpm::Model m;
  m.nodes = {nodes, nodes, nodes};
  m.dx = 1.0 / nodes;
  m.dt = 2e-4 * 64 / nodes;
  m.gravity = {0, -9.8, 0};
  m.materials = {
      {.name = "jelly", .kind = mpm::MaterialKind::neo_hookean, .density = 1000, .E = 1e5, .nu = 0.3}};
  for (mpm::Wall& wall : m.walls) wall.contact = mpm::Contact::none;
  m.walls[2] = {mpm::Contact::separate, 3, 0};
  const double corner[3] = {nodes * 19.0 / 64, 3, nodes * 22.0 / 64}, velocity[3] = {1, -2, 0.5};
  for (int i = 0; i < nx; ++i) {
    for (int j = 0; j < ny; ++j) {
      for (int k = 0; k < nz; ++k) {
        const int at[3] = {i, j, k};
        for (int a = 0; a < 3; ++a) {
          m.particles.x.push_back((corner[a] + 0.5 * at[a] + 0.25) * m.dx);
          m.particles.v.push_back(velocity[a]);
        }
      }
    }
  }
  m.particles.volume = {m.dx * m.dx * m.dx / 8};
  return m;
}

mpm::Model thrown_block() {
  mpm::Model m;
  m.dimension = 2;
  m.nodes = {120, 120, 1};
  m.dx = 1.0 / 120;
  m.dt = 3e-4;
  m.gravity = {0, -9.8, 0};
  m.materials = {
      {.name = "jelly", .kind = mpm::MaterialKind::fixed_corotated, .density = 1, .E = 250, .nu = 0.25}};
  for (int i = 0; i < 60; ++i) {
    for (int j = 0; j < 60; ++j) {
      m.particles.x.push_back(m.dx * (0.7 * i + 10));
      m.particles.x.push_back(m.dx * (0.7 * j + 25));
    }
  }
  m.particles.volume = {1};
  return m;
}

template <class Real>
void run(benchmark::State& state, const mpm::Model& model, std::int64_t steps, const Checkpoints& checkpoints,
         bool gradient) {
  const auto system = mpm::system<Real>(model);
  Rollout<Real> rollout(system, {.steps = steps, .checkpoints = checkpoints, .active = {"material/*/E"}});
  Arguments<Real> at = rollout.arguments();
  at.x0 = mpm::initial_state<Real>(model);
  const auto objective = loss::final<Real>(system->signature(), "particle/x", {});
  std::int64_t memory = 0;
  if (gradient)
    memory = rollout.value_and_gradient(at, *objective).report.memory_bytes;  // touches the memory once
  for (auto _ : state) {
    if (gradient)
      benchmark::DoNotOptimize(rollout.value_and_gradient(at, *objective).value);
    else
      benchmark::DoNotOptimize(rollout.value(at, *objective));
  }
  report(state, {.items = double(mpm::particle_count(model) * steps)});
  if (gradient) state.counters["memory"] = double(memory);
}

const bool registered = [] {
  for (const bool gradient : {false, true}) {
    const std::string last = gradient ? "gradient" : "forward";
    benchmark::RegisterBenchmark(
        ("mpm_block/float/" + last).c_str(),
        [gradient](benchmark::State& s) { run<float>(s, block(64, 50, 50, 40), 50, store_all(), gradient); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("mpm_block/float/one_thread/" + last).c_str(), [gradient](
                                                                                     benchmark::State& s) {
      set_thread_count(1);
      run<float>(s, block(64, 50, 50, 40), 50, store_all(), gradient);
      set_thread_count(0);
    })->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(
        ("mpm_block/double/" + last).c_str(),
        [gradient](benchmark::State& s) { run<double>(s, block(64, 50, 50, 40), 50, store_all(), gradient); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(
        ("mpm_thrown_block/float/" + last).c_str(),
        [gradient](benchmark::State& s) { run<float>(s, thrown_block(), 1023, store_all(), gradient); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(
        ("mpm_thrown_block/double/" + last).c_str(),
        [gradient](benchmark::State& s) { run<double>(s, thrown_block(), 1023, store_all(), gradient); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RegisterBenchmark(
      "mpm_million/float/gradient",
      [](benchmark::State& s) { run<float>(s, block(128, 100, 100, 100), 12, binomial(6), true); })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1);
  return true;
}();

}  // namespace
}  // namespace costate::bench

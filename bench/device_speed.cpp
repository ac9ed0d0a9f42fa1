// How fast a device rolls out and differentiates. bench.py runs it (./dev bench --device cuda:0) and prints
// its table; by itself it is a program of Google Benchmark: costate_device_bench --device=cuda:0
// --benchmark_filter=lorenz.
//
// Every number is from times of Rollout's own calls, best of five. The time of a benchmark is that of a step:
// the slope between a short and a long rollout, what a step costs once the inputs are there. "call" is the
// short rollout with everything in it: arguments copied up, gradients copied down.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>

#include "bench/measure.h"
#include "costate/core/error.h"
#include "costate/cuda/device_backend.h"
#include "costate/grid/heat.h"
#include "costate/grid/wave.h"
#include "costate/io/model/load_model.h"
#include "costate/mpm/system.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/ode/lanes/problems/lorenz.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/devices.h"
#include "costate/system/program/program_system.h"
#include "costate/system/rollout.h"

namespace costate::bench {
namespace {

std::string device = "cuda:0";

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double best_of(int runs, const std::function<void()>& f) {
  double best = 1e300;
  for (int run = 0; run <= runs; ++run) {  // the first one allocates
    const auto begin = std::chrono::steady_clock::now();
    f();
    if (run > 0) best = std::min(best, seconds_since(begin));
  }
  return best;
}

// What is simulated, and how long.
template <class Real>
struct Scene {
  std::shared_ptr<System<Real>> system;
  ObjectivePtr<Real> objective;
  std::function<void(Arguments<Real>&)> fill;
  std::int64_t worlds, cells;  // cells: of one world; 1 where worlds are counted
  std::int64_t steps, more_forward, more_gradient;
  std::vector<std::string> active;
  double bytes = 0;  // that a step moves per cell at least; 0: not worth telling
};

// A benchmark by hand: f gives its seconds.
void add(const std::string& name, std::function<double(benchmark::State&)> f) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [f = std::move(f)](benchmark::State& state) {
                                 try {
                                   for (auto _ : state) state.SetIterationTime(f(state));
                                 } catch (const Error& error) {
                                   state.SkipWithError(error.what());
                                 }
                               })
      ->UseManualTime()
      ->Iterations(1);
}

// Seconds of a step: what `more` steps take beyond the first ones.
template <class Real, class Call>
double slope(benchmark::State& state, const Scene<Real>& s, std::int64_t more, const Call& call) {
  double seconds[2];
  for (const int i : {0, 1}) {
    Rollout<Real> rollout(
        s.system, {.steps = s.steps + i * more, .worlds = s.worlds, .active = s.active, .device = device});
    Arguments<Real> at = rollout.arguments();
    s.fill(at);
    seconds[i] = best_of(5, [&] { call(rollout, at); });
  }
  state.counters["call"] = seconds[0];
  return (seconds[1] - seconds[0]) / double(more);
}

template <class Real>
void add(const std::string& task, const std::string& variant, const std::function<Scene<Real>()>& make) {
  const std::string name =
      task + (sizeof(Real) == 8 ? "/double/" : "/float/") + variant + (variant.empty() ? "" : "/");
  add(name + "forward", [make](benchmark::State& state) {
    const Scene<Real> s = make();
    report(state, {.items = double(s.worlds * s.cells), .bytes = s.bytes * double(s.worlds * s.cells)});
    return slope(state, s, s.more_forward, [&](auto& rollout, const auto& at) {
      benchmark::DoNotOptimize(rollout.value(at, *s.objective));
    });
  });
  add(name + "gradient", [make](benchmark::State& state) {
    const Scene<Real> s = make();
    report(state, {.items = double(s.worlds * s.cells)});
    return slope(state, s, s.more_gradient, [&](auto& rollout, const auto& at) {
      benchmark::DoNotOptimize(rollout.value_and_gradient(at, *s.objective).value);
    });
  });
}

// --- small ODEs -------------------------------------------------------------------------------------------

constexpr std::int64_t kManyWorlds = 1 << 20;

template <class Real>
Scene<Real> lorenz(std::vector<std::string> active) {
  const auto system = ode::lorenz<Real>(ode::Integrator::rk4, 0.01);
  const Signature& s = system->signature();
  // rho runs from 0 to 21 over the worlds: the origin and the two fixed points, but no lasting chaos.
  const auto fill = [](Arguments<Real>& at) {
    std::vector<Real> rho(std::size_t{kManyWorlds});
    at.x0.assign(std::size_t(3 * kManyWorlds), Real(0));
    for (std::size_t w = 0; w < rho.size(); ++w)
      rho[w] = Real(21.0 * double(w) / double(kManyWorlds)), at.x0[3 * w] = Real(1);
    at.parameters.set("rho", rho);
  };
  return {system,
          loss::sum<Real>(
              {loss::final<Real>(s, "x", {}), loss::final<Real>(s, "y", {}), loss::final<Real>(s, "z", {})}),
          fill,
          kManyWorlds,
          1,
          1000,
          60000,
          sizeof(Real) == 8 ? 12000 : 30000,
          std::move(active)};
}

// The same from text, compiled by NVRTC, or walked through without it.
Scene<float> lorenz_from_text(bool compiled) {
  if (!compiled) setenv("COSTATE_NVRTC", "", 1);
  Signature s;
  ode::Lorenz::describe(s);
  const auto system = equations_system<float>(
      s, "x_dot = sigma*(y - x); y_dot = x*(rho - z) - y; z_dot = x*y - beta*z", rk4(0.01), kManyWorlds);
  const auto fill = [](Arguments<float>& at) {
    at.x0 = {1, 0, 0};
    at.parameters.set("rho", std::vector<float>(std::size_t{kManyWorlds}, 15.0f));
  };
  const std::int64_t more = compiled ? 60000 : 1000;
  return {
      system, loss::final<float>(system->signature(), "x", {}), fill, kManyWorlds, 1, 1000, more, more / 2,
      {"rho"}};
}

// --- grids ------------------------------------------------------------------------------------------------

template <class Real>
void still(Arguments<Real>& at) {
  for (std::size_t i = 0; i < at.x0.size(); ++i) at.x0[i] = Real(1e-3) * Real(i % 97);
}
// n cells along each side. Small ones show what launching a kernel costs.
template <class Real>
Scene<Real> wave(std::int64_t n) {
  const auto system = grid::wave<Real>({.nx = n, .ny = n});
  return {system,      loss::final<Real>(system->signature(), "u", {}),
          still<Real>, 1,
          n * n,       10,
          3000,        60,
          {"speed"},   5 * sizeof(Real)};
}
template <class Real>
Scene<Real> heat(std::int64_t n) {
  const auto system = grid::heat<Real>({.nx = n, .ny = n});
  return {system,
          loss::final<Real>(system->signature(), "T", {}),
          still<Real>,
          1,
          n * n,
          10,
          3000,
          60,
          {"conductivity"},
          4 * sizeof(Real)};
}

// --- material points --------------------------------------------------------------------------------------

// A million neo-Hookean particles, eight per cell of 128^3 nodes, in no order, fall: the scene of
// peers/gpu_mpm_jax. The gradient is that of the initial state, or of everything.
constexpr int kPoints = 1'000'000;
template <class Real>
Scene<Real> points(std::vector<std::string> active) {
  mpm::Model m;
  const int nodes = 128;
  m.nodes = {nodes, nodes, nodes};
  m.dx = 1.0 / nodes, m.dt = 1e-4;
  m.materials = {
      {.name = "block", .kind = mpm::MaterialKind::neo_hookean, .density = 1e3, .E = 1.04e4, .nu = 0.3}};
  m.particles.volume = {m.dx * m.dx * m.dx / 8};
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-25, 25);
  for (int i = 0; i < 3 * kPoints; ++i) {
    m.particles.x.push_back(0.5 + uniform(random) * m.dx);
    m.particles.v.push_back(i % 3 == 1 ? -3 : 0);
  }
  const auto system = mpm::system<Real>(m);
  const auto fill = [start = mpm::initial_state<Real>(m)](Arguments<Real>& at) { at.x0 = start; };
  return {system,
          loss::final<Real>(system->signature(), "particle/x", {}),
          fill,
          1,
          kPoints,
          4,
          200,
          60,
          std::move(active)};
}

// A thousand steps of them, copies included, in the memory that segments() needs.
double thousand_steps(benchmark::State& state) {
  constexpr int kSteps = 1000;
  const Scene<float> s = points<float>({});
  Rollout<float> rollout(s.system,
                         {.steps = kSteps, .checkpoints = segments(), .active = {}, .device = device});
  Arguments<float> at = rollout.arguments();
  s.fill(at);
  std::int64_t bytes = 0;
  const double seconds =
      best_of(2, [&] { bytes = rollout.value_and_gradient(at, *s.objective).report.memory_bytes; });
  report(state, {.items = double(kPoints) * kSteps});
  state.counters["memory"] = double(bytes);
  return seconds;
}

// --- rigid bodies -----------------------------------------------------------------------------------------

rigid::Model load_walker(const std::string& name, rigid::Integrator integrator) {
  const char* const folder = std::getenv("COSTATE_WALKERS");
  rigid::Model model = rigid::load(std::string(folder ? folder : COSTATE_SCENES) + "/" + name + ".xml");
  model.options.integrator = integrator;
  return model;
}

// A walker that 600 steps have left on the floor, or a ball above it, then random controls and pushes in each
// world: bench_contact.cpp. The models are those of $COSTATE_WALKERS, or the project's scenes.
Scene<float> walker(const std::string& name, std::int64_t worlds, std::int64_t steps,
                    rigid::Integrator integrator, rigid::Onset onset) {
  const rigid::Model model = load_walker(name, integrator);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const bool ball = model.nu() == 0;
  Rollout<float> fall(rigid::make_system<float>(model, {.onset = rigid::Onset::none}),
                      {.steps = ball ? 120 : 600});
  Arguments<float> start = fall.arguments();
  const auto x = rigid::initial_state(model);
  start.x0.assign(x.begin(), x.end());
  for (float& u : start.controls) u = uniform(random);
  const auto fill = [worlds, ball, random, uniform,
                     state = fall.simulate(start).final_state](Arguments<float>& at) mutable {
    at.x0.clear();
    for (std::int64_t w = 0; w < worlds; ++w) {
      at.x0.insert(at.x0.end(), state.begin(), state.end());
      for (int i = 0; ball && i < 3; ++i) at.x0[at.x0.size() - 6 + std::size_t(i)] += uniform(random);
    }
    at.controls.resize(at.controls.size() * std::size_t(worlds));
    for (float& u : at.controls) u = uniform(random);
  };
  const auto system = rigid::make_system<float>(model, {.onset = onset});
  return {system, loss::final<float>(system->signature(), "q", {}), fill, worlds, 1, steps, steps, steps, {}};
}

// The first gradient of a humanoid in this process, once CUDA is there.
double first_gradient() {
  const auto begin = std::chrono::steady_clock::now();
  const rigid::Model model = load_walker("humanoid", rigid::Integrator::euler);
  const auto system = rigid::make_system<float>(model, {.onset = rigid::Onset::none});
  Rollout<float> rollout(system, {.steps = 32, .worlds = 1024, .device = device});
  Arguments<float> at = rollout.arguments();
  const auto x = rigid::initial_state(model);
  at.x0.assign(x.begin(), x.end());
  rollout.value_and_gradient(at, *loss::final<float>(system->signature(), "q", {}));
  return seconds_since(begin);
}

// What a new process waits for before its first rollout.
double start_device() {
  const auto begin = std::chrono::steady_clock::now();
  for (const DeviceInfo& d : devices())
    if (d.device == device) benchmark::AddCustomContext("device", d.device + ": " + d.description);
  Rollout<float> started(ode::pendulum<float>(ode::Integrator::rk4), {.steps = 1, .device = device});
  started.simulate(started.arguments());
  return seconds_since(begin);
}

// What the memory of the device can do: a byte that is copied is read and written.
double copy_bandwidth(benchmark::State& state) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 30;
  const auto backend = backend_of<float>(device);
  const auto* const on = dynamic_cast<const cuda::DeviceBackend<float>*>(backend.get());
  if (on == nullptr) throw Error("device = \"" + device + "\" has no memory of its own");
  const cuda::Device& memory = *on->device();
  memory.enter();
  cuda::DeviceArray<char> from(memory), to(memory);
  from.zero(kBytes);
  to.reserve(kBytes);
  constexpr int kTimes = 20;
  const double seconds = best_of(5, [&] {
    for (int i = 0; i < kTimes; ++i) to.copy(from.data(), kBytes);
    memory.finish("copy");
  });
  report(state, {.bytes = 2.0 * double(kBytes)});
  return seconds / kTimes;
}

void add_all(double start) {
  add("first_gradient/cuda_starts", [start](benchmark::State&) { return start; });
  add("first_gradient/humanoid", [](benchmark::State&) { return first_gradient(); });
  add("machine/triad_bandwidth", copy_bandwidth);
  add<float>("lorenz", "x0_and_rho", [] { return lorenz<float>({"rho"}); });
  add<float>("lorenz", "everything", [] { return lorenz<float>({"**"}); });
  add<double>("lorenz", "x0_and_rho", [] { return lorenz<double>({"rho"}); });
  add<float>("lorenz_from_text", "", [] { return lorenz_from_text(true); });
  for (const std::int64_t n : {64, 512, 6144}) {
    add<float>("wave", std::to_string(n), [n] { return wave<float>(n); });
    add<float>("heat", std::to_string(n), [n] { return heat<float>(n); });
  }
  add<float>("points", "x0", [] { return points<float>({}); });
  add<float>("points", "everything", [] { return points<float>({"**"}); });
  add<double>("points", "x0", [] { return points<double>({}); });
  add("points/float/thousand_steps/gradient", thousand_steps);
  for (const std::string name : {"half_cheetah", "ant", "humanoid"})
    add<float>("walkers", name,
               [=] { return walker(name, 1 << 18, 32, rigid::Integrator::euler, rigid::Onset::none); });
  for (const std::string name : {"sphere_drop", "half_cheetah", "ant"})
    for (const auto& [onset, word] :
         {std::pair{rigid::Onset::none, "none"}, std::pair{rigid::Onset::split, "split"}})
      add<float>("cuts", name + "/" + word,
                 [=] { return walker(name, 1 << 14, 8, rigid::Integrator::rk4, onset); });
  add<float>("lorenz_without_nvrtc", "", [] { return lorenz_from_text(false); });  // last: it stays without
}

int run(int argc, char** argv) {
  constexpr const char* kDevice = "--device=";
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], kDevice, std::strlen(kDevice)) == 0)
      device = argv[i] + std::strlen(kDevice);
    else
      argv[kept++] = argv[i];
  }
  argc = kept;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  add_all(start_device());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace costate::bench

int main(int argc, char** argv) {
  try {
    return costate::bench::run(argc, argv);
  } catch (const costate::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

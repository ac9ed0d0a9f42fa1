// How fast a device rolls out and differentiates: costate_device_bench [cuda:0 [first | lorenz | wave |
// heat | points | walkers | half_cheetah | ant | humanoid | cuts]]. Prints a table.
//
// Every number is from times of Rollout's own calls, best of five. Steps per second are the slope between a
// short and a long rollout: what a step costs once the inputs are there. The times of a whole call have
// everything in them: arguments copied up, gradients copied down.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

#include "costate/core/error.h"
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

namespace costate {
namespace {

double best_of(int runs, const std::function<void()>& f) {
  double best = 1e300;
  for (int run = 0; run <= runs; ++run) {  // the first one allocates
    const auto begin = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (run > 0) best = std::min(best, spent.count());
  }
  return best;
}

struct Case {
  const char* name;
  std::int64_t worlds, cells;  // cells: of one world; 1 where worlds are counted
  std::int64_t steps, more_forward, more_gradient;
  std::vector<std::string> active;
  double bytes = 0;  // that a step moves per cell at least; 0: not worth telling
};

// Seconds that `more` steps take beyond the first `steps`.
template <class Real, class Call>
double slope(const Case& c, const std::shared_ptr<System<Real>>& system, const std::string& device,
             const std::function<void(Arguments<Real>&)>& fill, std::int64_t more, double& whole,
             const Call& call) {
  double seconds[2];
  for (const int i : {0, 1}) {
    Rollout<Real> rollout(
        system, {.steps = c.steps + i * more, .worlds = c.worlds, .active = c.active, .device = device});
    Arguments<Real> at = rollout.arguments();
    fill(at);
    seconds[i] = best_of(5, [&] { call(rollout, at); });
  }
  whole = seconds[0];
  return (seconds[1] - seconds[0]) / double(more);
}

template <class Real>
void measure(const Case& c, const std::shared_ptr<System<Real>>& system, const std::string& device,
             const std::function<void(Arguments<Real>&)>& fill, const ObjectivePtr<Real>& objective) {
  double value_call = 0, gradient_call = 0;
  const double items = double(c.worlds * c.cells),
               forward = slope<Real>(c, system, device, fill, c.more_forward, value_call,
                                     [&](auto&rollout, const auto&at) { rollout.value(at, *objective); }),
               gradient = slope<Real>(
                   c, system, device, fill, c.more_gradient, gradient_call,
                   [&](auto&rollout, const auto&at) { rollout.value_and_gradient(at, *objective); });
  std::printf("| %s | %s | %.3g | %.3g | %.1f ms | %.1f ms |", c.name, sizeof(Real) == 8 ? "double" : "float",
              items / forward, items / gradient, 1e3 * value_call, 1e3 * gradient_call);
  if (c.bytes > 0) std::printf(" %.2f TB/s", items * c.bytes / forward * 1e-12);
  std::printf("\n");
  std::fflush(stdout);
}

template <class Real>
void lorenz(const std::string& device, std::vector<std::string> active, const char* name,
            std::int64_t more_gradient) {
  const std::int64_t worlds = 1 << 20;
  const auto system = ode::lorenz<Real>(ode::Integrator::rk4, 0.01);
  const Signature& s = system->signature();
  // rho runs from 0 to 21 over the worlds: the origin and the two fixed points, but no lasting chaos.
  const auto fill = [&](Arguments<Real>& at) {
    std::vector<Real> rho(static_cast<std::size_t>(worlds));
    at.x0.assign(std::size_t(3 * worlds), Real(0));
    for (std::size_t w = 0; w < rho.size(); ++w)
      rho[w] = Real(21.0 * double(w) / double(worlds)), at.x0[3 * w] = Real(1);
    at.parameters.set("rho", rho);
  };
  measure<Real>({name, worlds, 1, 1000, 60000, more_gradient, std::move(active)}, system, device, fill,
                loss::sum<Real>({loss::final<Real>(s, "x", {}), loss::final<Real>(s, "y", {}),
                                 loss::final<Real>(s, "z", {})}));
}

// The same from text, compiled by NVRTC, or walked through without it.
void lorenz_from_text(const std::string& device, bool compiled) {
  if (!compiled) setenv("COSTATE_NVRTC", "", 1);
  const std::int64_t worlds = 1 << 20;
  Signature s;
  ode::Lorenz::describe(s);
  const auto system = equations_system<float>(
      s, "x_dot = sigma*(y - x); y_dot = x*(rho - z) - y; z_dot = x*y - beta*z", rk4(0.01), worlds);
  const auto fill = [&](Arguments<float>& at) {
    at.x0 = {1, 0, 0};
    at.parameters.set("rho", std::vector<float>(std::size_t(worlds), 15.0f));
  };
  const std::int64_t more = compiled ? 60000 : 1000;
  measure<float>({compiled ? "the same from text" : "the same from text without NVRTC",
                  worlds,
                  1,
                  1000,
                  more,
                  more / 2,
                  {"rho"}},
                 system, device, fill, loss::final<float>(system->signature(), "x", {}));
}

constexpr std::int64_t kCells = 6144;  // along each side
template <class Real>
void still(Arguments<Real>& at) {
  for (std::size_t i = 0; i < at.x0.size(); ++i) at.x0[i] = Real(1e-3) * Real(i % 97);
}
template <class Real>
void wave(const std::string& device) {
  const std::int64_t n = kCells;
  const auto wave = grid::wave<Real>({.nx = n, .ny = n});
  measure<Real>({"wave, 6144 x 6144 cells", 1, n * n, 10, 3000, 60, {"speed"}, 5 * sizeof(Real)}, wave,
                device, still<Real>, loss::final<Real>(wave->signature(), "u", {}));
}
template <class Real>
void heat(const std::string& device) {
  const std::int64_t n = kCells;
  const auto heat = grid::heat<Real>({.nx = n, .ny = n});
  measure<Real>({"heat, 6144 x 6144 cells", 1, n * n, 10, 3000, 60, {"conductivity"}, 4 * sizeof(Real)}, heat,
                device, still<Real>, loss::final<Real>(heat->signature(), "T", {}));
}

// A million neo-Hookean particles, eight per cell of 128^3 nodes, in no order, fall: the scene of
// peers/gpu_mpm_jax. The gradient is that of the initial state, or of everything.
template <class Real>
void points(const std::string& device) {
  mpm::Model m;
  const int nodes = 128, count = 1'000'000;
  m.nodes = {nodes, nodes, nodes};
  m.dx = 1.0 / nodes, m.dt = 1e-4;
  m.materials = {
      {.name = "block", .kind = mpm::MaterialKind::neo_hookean, .density = 1e3, .E = 1.04e4, .nu = 0.3}};
  m.particles.volume = {m.dx * m.dx * m.dx / 8};
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-25, 25);
  for (int i = 0; i < 3 * count; ++i) {
    m.particles.x.push_back(0.5 + uniform(random) * m.dx);
    m.particles.v.push_back(i % 3 == 1 ? -3 : 0);
  }
  const auto system = mpm::system<Real>(m);
  const std::vector<Real> start = mpm::initial_state<Real>(m);
  const auto fill = [&](Arguments<Real>& at) { at.x0 = start; };
  const auto objective = loss::final<Real>(system->signature(), "particle/x", {});
  measure<Real>({"10^6 particles on 128^3 nodes, x0", 1, count, 4, 200, 60, {}}, system, device, fill,
                objective);
  measure<Real>({"the same, everything", 1, count, 4, 200, 60, {"**"}}, system, device, fill, objective);
  if (sizeof(Real) == 8) return;
  Rollout<Real> rollout(system, {.steps = 1000, .checkpoints = segments(), .active = {}, .device = device});
  Arguments<Real> at = rollout.arguments();
  fill(at);
  std::int64_t bytes = 0;
  const double seconds =
      best_of(2, [&] { bytes = rollout.value_and_gradient(at, *objective).report.memory_bytes; });
  std::printf("| 1000 steps of it with segments(), x0 | float | - | %.3g | %.2f s | %.2f GB |\n",
              double(count) * 1000 / seconds, seconds, 1e-9 * double(bytes));
}

// A walker that 600 steps have left on the floor, or a ball above it, then random controls and pushes in each
// world: bench_contact.cpp. The models are those of $COSTATE_WALKERS, or the project's scenes.
void walker(const std::string& device, const std::string& name, std::int64_t worlds, std::int64_t steps,
            rigid::Integrator integrator, rigid::Onset onset) {
  const char* const folder = std::getenv("COSTATE_WALKERS");
  rigid::Model model = rigid::load(std::string(folder ? folder : COSTATE_SCENES) + "/" + name + ".xml");
  model.options.integrator = integrator;
  const auto system = rigid::make_system<float>(model, {.onset = onset});
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const bool ball = model.nu() == 0;
  Rollout<float> fall(rigid::make_system<float>(model, {.onset = rigid::Onset::none}),
                      {.steps = ball ? 120 : 600});
  Arguments<float> start = fall.arguments();
  const auto x = rigid::initial_state(model);
  start.x0.assign(x.begin(), x.end());
  for (float& u : start.controls) u = uniform(random);
  const std::vector<float> state = fall.simulate(start).final_state;
  const auto fill = [&](Arguments<float>& at) {
    at.x0.clear();
    for (std::int64_t w = 0; w < worlds; ++w) {
      at.x0.insert(at.x0.end(), state.begin(), state.end());
      for (int i = 0; ball && i < 3; ++i) at.x0[at.x0.size() - 6 + std::size_t(i)] += uniform(random);
    }
    at.controls.resize(at.controls.size() * std::size_t(worlds));
    for (float& u : at.controls) u = uniform(random);
  };
  const std::string title = name + ", convex contact, " + std::to_string(worlds) + " worlds" +
                            (onset == rigid::Onset::split ? ", cut" : "");
  measure<float>({title.c_str(), worlds, 1, steps, steps, steps, {}}, system, device, fill,
                 loss::final<float>(system->signature(), "q", {}));
}

// What a new process waits for: the GPU's own start, then the first gradient of a humanoid.
void first_gradient(const std::string& device) {
  const auto begin = std::chrono::steady_clock::now();
  const auto since = [&] {
    return 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const auto pendulum = ode::pendulum<float>(ode::Integrator::rk4);
  Rollout<float> started(pendulum, {.steps = 1, .device = device});
  started.simulate(started.arguments());
  const double start = since();
  const char* const folder = std::getenv("COSTATE_WALKERS");
  rigid::Model model = rigid::load(std::string(folder ? folder : COSTATE_SCENES) + "/humanoid.xml");
  model.options.integrator = rigid::Integrator::euler;
  const auto system = rigid::make_system<float>(model, {.onset = rigid::Onset::none});
  Rollout<float> rollout(system, {.steps = 32, .worlds = 1024, .device = device});
  Arguments<float> at = rollout.arguments();
  const auto x = rigid::initial_state(model);
  at.x0.assign(x.begin(), x.end());
  rollout.value_and_gradient(at, *loss::final<float>(system->signature(), "q", {}));
  std::printf("\nfirst gradient of a humanoid: %.0f ms after %.0f ms in which CUDA starts\n", since() - start,
              start);
}

int run(const std::string& device, const std::string& what) {
  if (what.empty() || what == "first") first_gradient(device);
  if (what == "first") return 0;
  for (const DeviceInfo& d : devices())
    if (d.device == device) std::printf("%s: %s\n\n", d.device.c_str(), d.description.c_str());
  std::printf(
      "| | | steps/s forward | with gradient | value() of the short rollout | value_and_gradient() | traffic "
      "forward |\n"
      "|---|---|---|---|---|---|---|\n");
  const auto wants = [&](const char* part) { return what.empty() || what == part; };
  if (wants("lorenz")) {
    lorenz<float>(device, {"rho"}, "Lorenz RK4, 2^20 worlds, x0 and rho", 30000);
    lorenz<float>(device, {"**"}, "Lorenz RK4, 2^20 worlds, all parameters", 30000);
    lorenz<double>(device, {"rho"}, "Lorenz RK4, 2^20 worlds, x0 and rho", 12000);
    lorenz_from_text(device, true);
    lorenz_from_text(device, false);
  }
  if (wants("wave")) wave<float>(device);
  if (wants("heat")) heat<float>(device);
  if (wants("points")) {
    points<float>(device);
    points<double>(device);
  }
  for (const char* name : {"half_cheetah", "ant", "humanoid"})
    if (wants("walkers") || what == name)
      walker(device, name, 1 << 18, 32, rigid::Integrator::euler, rigid::Onset::none);
  if (wants("cuts"))
    for (const char* name : {"sphere_drop", "half_cheetah", "ant"})
      for (const rigid::Onset onset : {rigid::Onset::none, rigid::Onset::split})
        walker(device, name, 1 << 14, 8, rigid::Integrator::rk4, onset);
  return 0;
}

}  // namespace
}  // namespace costate

int main(int argc, char** argv) {
  try {
    return costate::run(argc > 1 ? argv[1] : "cuda:0", argc > 2 ? argv[2] : "");
  } catch (const costate::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

// Walkers on the floor beside MuJoCo's threaded rollout (bench/peers/rigid_mujoco.py): 256 worlds, 100 steps,
// Euler, random controls, every world from the state in which 600 steps have left the model. `rate` counts
// steps. `steps32` is the task of bench/peers/rigid_mjx.py: 64 worlds, 32 steps. Then the Jacobian of one
// step with respect to state and controls, beside MuJoCo's finite differences.
//
// The models are the project's scenes, or those of the folder $COSTATE_WALKERS (Gymnasium's assets, for the
// comparison).
#include <cstdlib>
#include <random>

#include "bench/measure.h"
#include "costate/io/model/load_model.h"
#include "costate/rigid/rigid_system.h"
#include "costate/rigid/step_jacobian.h"
#include "costate/system/rollout.h"

namespace costate::bench {
namespace {

constexpr std::int64_t kWorlds = 256, kSteps = 100;
constexpr std::int64_t kShortWorlds = 64, kShortSteps = 32;

rigid::Model walker(const std::string& name, rigid::Integrator integrator = rigid::Integrator::euler) {
  const char* folder = std::getenv("COSTATE_WALKERS");
  rigid::Model m =
      rigid::load((folder ? std::string(folder) : std::string(COSTATE_SCENES)) + "/" + name + ".xml");
  m.options.integrator = integrator;
  return m;
}

template <class Real>
struct OnTheFloor {
  std::shared_ptr<System<Real>> system;
  std::vector<Real> state;
  std::mt19937 random{1};
  std::uniform_real_distribution<double> uniform{-1, 1};

  explicit OnTheFloor(const std::string& name, rigid::Integrator integrator = rigid::Integrator::euler,
                      rigid::Onset onset = rigid::Onset::none) {
    const rigid::Model m = walker(name, integrator);
    system = rigid::make_system<Real>(m, {.onset = onset});
    Rollout<Real> fall(system, {.steps = 600});
    auto at = fall.arguments();
    const auto x = rigid::initial_state(m);
    at.x0.assign(x.begin(), x.end());
    for (Real& u : at.controls) u = Real(uniform(random));
    state = fall.simulate(at).final_state;
  }
  Arguments<Real> arguments(const Rollout<Real>& r, std::int64_t worlds) {
    auto at = r.arguments();
    at.x0.clear();
    for (std::int64_t w = 0; w < worlds; ++w) at.x0.insert(at.x0.end(), state.begin(), state.end());
    at.controls.resize(at.controls.size() * std::size_t(worlds));  // each world its own
    for (Real& u : at.controls) u = Real(uniform(random));
    return at;
  }
};

template <class Real>
void rollout(benchmark::State& state, const std::string& name, std::int64_t worlds, std::int64_t steps,
             bool gradient, rigid::Integrator integrator = rigid::Integrator::euler,
             rigid::Onset onset = rigid::Onset::none) {
  OnTheFloor<Real> start(name, integrator, onset);
  Rollout<Real> r(start.system, {.steps = steps, .worlds = worlds, .active = {}});
  const auto at = start.arguments(r, worlds);
  const auto objective = loss::final<Real>(start.system->signature(), "q", {});
  for (auto _ : state) {
    if (gradient)
      benchmark::DoNotOptimize(r.value_and_gradient(at, *objective).value);
    else
      benchmark::DoNotOptimize(r.value(at, *objective));
  }
  report(state, {.items = double(worlds * steps)});
}

// Of all worlds at once; `rate` counts worlds.
template <class Real>
void jacobian(benchmark::State& state, const std::string& name) {
  OnTheFloor<Real> start(name);
  const rigid::StepJacobian<Real> jacobian(walker(name));
  const Rollout<Real> r(start.system, {.steps = 1, .worlds = kWorlds});
  const auto at = start.arguments(r, kWorlds);
  std::vector<Real> u(static_cast<std::size_t>(kWorlds * jacobian.controls())),
      A(static_cast<std::size_t>(kWorlds * jacobian.rows() * jacobian.rows())),
      B(static_cast<std::size_t>(kWorlds * jacobian.rows() * jacobian.controls()));
  for (auto _ : state) {
    jacobian(kWorlds, at.x0.data(), u.data(), at.parameters, A.data(), B.data());
    benchmark::DoNotOptimize(A.data());
  }
  report(state, {.items = double(kWorlds)});
}

template <class Real>
void add(const std::string& type) {
  for (const std::string name : {"hopper", "half_cheetah", "ant", "humanoid"}) {
    const std::string prefix = "contact/" + name + "/" + type + "/";
    const auto with = [&](const std::string& what, auto f) {
      benchmark::RegisterBenchmark((prefix + what).c_str(), f)->UseRealTime();
    };
    for (const bool gradient : {false, true}) {
      const std::string what = gradient ? "gradient" : "forward";
      with(what, [=](benchmark::State& s) { rollout<Real>(s, name, kWorlds, kSteps, gradient); });
      with("steps32/" + what,
           [=](benchmark::State& s) { rollout<Real>(s, name, kShortWorlds, kShortSteps, gradient); });
      // What it costs to cut steps at impacts: RK4, for which it is meant.
      for (const rigid::Onset onset : {rigid::Onset::none, rigid::Onset::split})
        with((onset == rigid::Onset::none ? "rk4_none/" : "rk4_split/") + what, [=](benchmark::State& s) {
          rollout<Real>(s, name, kWorlds, kSteps, gradient, rigid::Integrator::rk4, onset);
        });
    }
    with("jacobian", [=](benchmark::State& s) { jacobian<Real>(s, name); });
  }
}

const bool kRegistered = [] {
  add<double>("double");
  add<float>("float");
  return true;
}();

}  // namespace
}  // namespace costate::bench

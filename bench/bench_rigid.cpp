// Rigid bodies beside Pinocchio (bench/peers/rigid_pinocchio.py): forward dynamics and all its derivatives,
// one thread, worlds in lanes; `rate` counts worlds. Then whole rollouts of a step and its gradient with
// respect to state, controls and parameters.
#include <random>

#include "bench/measure.h"
#include "bench/rigid_models.h"
#include "costate/rigid/dynamics/forward_dynamics.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/rollout.h"

namespace costate::bench {
namespace {

using rigid::Model;

// One pack of worlds at random states.
template <class Real>
struct Worlds {
  using S = NativePack<Real>;
  Signature signature;
  rigid::Tree tree;
  rigid::Data<S> d;
  rigid::DerivativeData<S> r;
  std::vector<S> p, q, v, tau, jacobian;

  explicit Worlds(const Model& model)
      : tree(rigid::make_tree(model, rigid::add_parameters(model, signature))),
        d(tree),
        r(tree),
        q(static_cast<std::size_t>(model.nq)),
        v(static_cast<std::size_t>(model.nv)),
        tau(v.size()),
        jacobian(3 * v.size() * v.size()) {
    for (const Field& f : signature.fields(Role::parameter)) {
      for (double value : f.defaults) p.push_back(S(Real(value)));
    }
    p.resize(static_cast<std::size_t>(tree.p.prepared_size));
    rigid::prepare_units(tree.p, p.data());
    std::mt19937 random(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (auto* array : {&q, &v, &tau}) {
      for (S& x : *array) {
        for (int l = 0; l < lanes_of<S>; ++l) x.set(l, Real(uniform(random)));
      }
    }
    forward();
  }
  void forward() { rigid::forward_dynamics<S>(tree, p.data(), q.data(), v.data(), tau.data(), d); }
  void derivatives() {
    const std::size_t square = v.size() * v.size();
    rigid::forward_dynamics_derivatives<S>(tree, p.data(), v.data(), d, r, jacobian.data(),
                                           jacobian.data() + square, jacobian.data() + 2 * square);
  }
};

template <class Real>
void dynamics(benchmark::State& state, Model (*model)()) {
  Worlds<Real> w(model());
  for (auto _ : state) {
    w.forward();
    benchmark::DoNotOptimize(w.d.qacc.data());
  }
  report(state, {.items = double(kNativeLanes<Real>)});
}
template <class Real>
void derivatives(benchmark::State& state, Model (*model)()) {
  Worlds<Real> w(model());
  for (auto _ : state) {
    w.forward();
    w.derivatives();
    benchmark::DoNotOptimize(w.jacobian.data());
  }
  report(state, {.items = double(kNativeLanes<Real>)});
}

constexpr std::int64_t kWorlds = 256, kSteps = 50;

template <class Real>
void rollout(benchmark::State& state, Model (*model)(), bool gradient, std::vector<std::string> active) {
  const Model m = model();
  const auto system = rigid::make_system<Real>(m, {.applied_forces = true});
  Rollout<Real> r(system, {.steps = kSteps, .worlds = kWorlds, .active = std::move(active)});
  auto at = r.arguments();
  for (std::size_t i = 0; i < m.qpos0.size(); ++i) at.x0[i] = Real(m.qpos0[i]);
  const auto objective = loss::final<Real>(system->signature(), "q", {});
  for (auto _ : state) {
    if (gradient)
      benchmark::DoNotOptimize(r.value_and_gradient(at, *objective).value);
    else
      benchmark::DoNotOptimize(r.value(at, *objective));
  }
  report(state, {.items = double(kWorlds * kSteps)});
}

template <class Real>
void add(const std::string& type) {
  const std::pair<const char*, Model (*)()> models[] = {{"arm7", arm7}, {"humanoid32", humanoid32}};
  for (const auto& [name, model] : models) {
    const std::string prefix = std::string("rigid/") + name + "/" + type + "/";
    const auto with = [&](const std::string& what, auto f) {
      benchmark::RegisterBenchmark((prefix + what).c_str(), f)->UseRealTime();
    };
    with("forward_dynamics", [model](benchmark::State& s) { dynamics<Real>(s, model); });
    with("forward_dynamics_derivatives", [model](benchmark::State& s) { derivatives<Real>(s, model); });
    // Gradients with respect to the start and the controls, and to every parameter too.
    with("controls/forward", [model](benchmark::State& s) { rollout<Real>(s, model, false, {}); });
    with("controls/gradient", [model](benchmark::State& s) { rollout<Real>(s, model, true, {}); });
    with("everything/forward", [model](benchmark::State& s) { rollout<Real>(s, model, false, {"**"}); });
    with("everything/gradient", [model](benchmark::State& s) { rollout<Real>(s, model, true, {"**"}); });
  }
}

const bool kRegistered = [] {
  add<double>("double");
  add<float>("float");
  return true;
}();

}  // namespace
}  // namespace costate::bench

// An ensemble in which every world has its own step sizes, beside the fixed-step loop of the same method in
// the same lanes.
//
// 16384 Lorenz worlds, rho from 20 to 28, t from 0 to 5, rtol = atol = 1e-6; gradient of x(5) of each by its
// start and its parameters. The rate counts accepted steps of a world, so that "prototype" (fixed steps,
// nothing to decide) shows what error estimate, step size control and rejected steps cost. The counter
// `rejected` is the share of attempts thrown away.
#include <numeric>

#include "bench/measure.h"
#include "costate/core/parallel.h"
#include "costate/ode/lanes/adaptive_ensemble.h"
#include "costate/ode/lanes/problems/lorenz.h"

namespace costate::bench {
namespace {

constexpr std::int64_t kWorlds = 16384;
constexpr double kEnd = 5;

struct Worlds {
  std::vector<double> y0 = std::vector<double>(3 * kWorlds, 1.0), p = y0;
  Worlds() {
    for (std::size_t w = 0; w < kWorlds; ++w) {
      p[w] = 10;
      p[kWorlds + w] = 20 + 8.0 * double(w) / (kWorlds - 1);
      p[2 * kWorlds + w] = 8.0 / 3;
    }
  }
};

template <class Pair>
ode::AdaptiveEnsemble<ode::Lorenz, Pair> ensemble() {
  return {0, kEnd, {.rtol = 1e-6, .atol = 1e-6}};
}

void report_steps(benchmark::State& state, const ode::EnsembleResult& result) {
  const auto accepted = double(std::accumulate(result.steps.begin(), result.steps.end(), 0L));
  report(state, {.items = accepted});
  state.counters["rejected"] = 1 - accepted / double(result.attempts);
}

template <class Pair>
void forward(benchmark::State& state) {
  const Worlds worlds;
  ode::EnsembleResult last;
  for (auto _ : state) last = ensemble<Pair>().solve(kWorlds, worlds.y0, worlds.p);
  report_steps(state, last);
}

template <class Pair>
void gradient(benchmark::State& state) {
  const Worlds worlds;
  ode::EnsembleGradient last;
  for (auto _ : state) {
    last = ensemble<Pair>().gradient(kWorlds, worlds.y0, worlds.p,
                                     [](std::int64_t, const double*, double* y_bar) { y_bar[0] = 1; });
  }
  report_steps(state, last.result);
}

// Fixed steps, about as many as the adaptive ones take.
template <class Pair>
struct FixedSteps {
  using S = NativePack<double>;
  using Step = ode::AdaptiveStep<ode::Lorenz, Pair, S>;
  using X = Vec<S, 3>;
  static constexpr int kSteps = 170, kGroups = 2, kLanes = lanes_of<S>;
  static constexpr double kDt = kEnd / kSteps;
  std::vector<double> y = std::vector<double>(3 * kWorlds), y0_bar = y, p_bar = y;

  static X gather(const std::vector<double>& from, std::int64_t world) {
    X x;
    for (int i = 0; i < 3; ++i) {
      for (int l = 0; l < kLanes; ++l) x[i].set(l, from[std::size_t(i * kWorlds + world + l)]);
    }
    return x;
  }
  static void scatter(const X& x, std::vector<double>& to, std::int64_t world) {
    for (int i = 0; i < 3; ++i) {
      for (int l = 0; l < kLanes; ++l) to[std::size_t(i * kWorlds + world + l)] = lane(x[i], l);
    }
  }

  void run(const Worlds& worlds, bool with_gradient) {
    parallel_for(kWorlds, kGroups * kLanes, [&](std::int64_t begin, std::int64_t) {
      thread_local std::vector<X> states(kSteps * kGroups);
      X x[kGroups], p[kGroups], k0[kGroups];
      for (int g = 0; g < kGroups; ++g) {
        x[g] = gather(worlds.y0, begin + g * kLanes);
        p[g] = gather(worlds.p, begin + g * kLanes);
        k0[g] = ode::Lorenz::value(S(0), x[g], Vec<S, 0>{}, p[g]);
      }
      for (std::size_t s = 0; s < kSteps; ++s) {
        ode::unrolled(std::make_integer_sequence<int, kGroups>{}, [&]<int G>() {
          if (with_gradient) states[s * kGroups + G] = x[G];
          X k[7];
          k[0] = k0[G];
          x[G] = Step::step(S(0), S(kDt), x[G], p[G], k);
          k0[G] = k[6];
        });
      }
      for (int g = 0; g < kGroups; ++g) scatter(x[g], y, begin + g * kLanes);
      if (!with_gradient) return;
      X lambda[kGroups], bar[kGroups];
      for (int g = 0; g < kGroups; ++g) lambda[g] = {{S(1), S(0), S(0)}}, bar[g] = X::zero();
      for (std::size_t s = kSteps; s-- > 0;) {
        ode::unrolled(std::make_integer_sequence<int, kGroups>{}, [&]<int G>() {
          lambda[G] = Step::step_vjp(S(0), S(kDt), states[s * kGroups + G], p[G], lambda[G], bar[G]);
        });
      }
      for (int g = 0; g < kGroups; ++g) {
        scatter(lambda[g], y0_bar, begin + g * kLanes);
        scatter(bar[g], p_bar, begin + g * kLanes);
      }
    });
  }
};

template <class Pair>
void prototype(benchmark::State& state, bool with_gradient) {
  const Worlds worlds;
  FixedSteps<Pair> fixed;
  for (auto _ : state) {
    fixed.run(worlds, with_gradient);
    benchmark::DoNotOptimize(fixed.y.data());
    benchmark::DoNotOptimize(fixed.p_bar.data());
    benchmark::ClobberMemory();
  }
  report(state, {.items = double(kWorlds) * FixedSteps<Pair>::kSteps});
}

template <class Pair>
void add(const std::string& name) {
  benchmark::RegisterBenchmark((name + "/forward").c_str(), forward<Pair>)->UseRealTime();
  benchmark::RegisterBenchmark((name + "/gradient").c_str(), gradient<Pair>)->UseRealTime();
  benchmark::RegisterBenchmark((name + "/prototype_forward").c_str(), prototype<Pair>, false)->UseRealTime();
  benchmark::RegisterBenchmark((name + "/prototype_gradient").c_str(), prototype<Pair>, true)->UseRealTime();
}

const bool registered = [] {
  add<runge_kutta::DormandPrince>("lorenz_adaptive/dopri5");
  add<runge_kutta::Tsitouras>("lorenz_adaptive/tsit5");
  return true;
}();

}  // namespace
}  // namespace costate::bench

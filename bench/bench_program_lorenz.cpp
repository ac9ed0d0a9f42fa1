// What interpretation costs: a Lorenz step by RK4 as a Program, run in strips, and the same source compiled
// for packs. One thread.
#include <benchmark/benchmark.h>

#include <vector>

#include "bench/measure.h"
#include "costate/ad/derivative.h"
#include "costate/ad/interpret.h"
#include "costate/ad/record.h"

namespace costate::bench {
namespace {

template <class S>
Vec<S, 3> lorenz(const Vec<S, 3>& x, const S& rho) {
  return {S(10) * (x[1] - x[0]), x[0] * (rho - x[2]) - x[1], x[0] * x[1] - S(8.0 / 3) * x[2]};
}

template <class S>
Vec<S, 3> rk4_step(const Vec<S, 3>& x, const S& rho) {
  const double dt = 0.01;
  const Vec<S, 3> k1 = lorenz(x, rho), k2 = lorenz(x + S(dt / 2) * k1, rho);
  const Vec<S, 3> k3 = lorenz(x + S(dt / 2) * k2, rho), k4 = lorenz(x + S(dt) * k3, rho);
  return x + S(dt / 6) * (k1 + S(2) * (k2 + k3) + k4);
}

ad::Program recorded_step() {
  ad::Recorder recorder;
  const Vec<ad::Var, 3> x = recorder.input<3>("x");
  const ad::Var rho = recorder.scalar("rho");
  recorder.output("y", rk4_step(x, rho));
  return recorder.finish();
}

template <class T>
void interpret(benchmark::State& state, const ad::Program& program) {
  const auto worlds = static_cast<std::ptrdiff_t>(state.range(0));
  const ad::Executable executable(program);
  std::vector<std::byte> scratch(executable.scratch_bytes<T>());
  const std::vector<T> values(static_cast<std::size_t>(program.input_count() * worlds), T(0.5));
  std::vector<T> results(static_cast<std::size_t>(program.output_count() * worlds));
  std::vector<ad::InputBlock<T>> in;
  for (std::size_t f = 0; f < program.input_fields().size(); ++f) {
    in.push_back({values.data() + program.input_offset(static_cast<int>(f)) * worlds, worlds});
  }
  std::vector<ad::OutputBlock<T>> out;
  for (std::size_t f = 0; f < program.output_fields().size(); ++f) {
    out.push_back({results.data() + program.output_offset(static_cast<int>(f)) * worlds, worlds});
  }
  for (auto _ : state) {
    executable.run<T>(in, out, worlds, scratch);
    benchmark::DoNotOptimize(results.data());
    benchmark::ClobberMemory();
  }
  report(state, {.items = static_cast<double>(worlds)});
}

template <class T>
void program_step(benchmark::State& state) {
  interpret<T>(state, recorded_step());
}

template <class T>
void program_step_vjp(benchmark::State& state) {
  interpret<T>(state, ad::vjp(recorded_step()));
}

template <class T>
void compiled_step(benchmark::State& state) {
  using P = NativePack<T>;
  const long worlds = state.range(0);
  std::vector<P> values(static_cast<std::size_t>(4 * worlds / P::lanes), P(T(0.5)));
  T* const x = reinterpret_cast<T*>(values.data());
  for (auto _ : state) {
    for (long w = 0; w < worlds; w += P::lanes) {
      const P rho = P::load(x + 3 * worlds + w);
      store_vec<P, 3>(x + w, worlds, rk4_step<P>(load_vec<P, 3>(x + w, worlds), rho));
    }
    benchmark::ClobberMemory();
  }
  report(state, {.items = static_cast<double>(worlds)});
}

BENCHMARK(program_step<double>)->Name("program/lorenz_step/double")->Arg(1)->Arg(2048)->UseRealTime();
BENCHMARK(program_step<float>)->Name("program/lorenz_step/float")->Arg(1)->Arg(2048)->UseRealTime();
BENCHMARK(program_step_vjp<double>)->Name("program/lorenz_step_vjp/double")->Arg(1)->Arg(2048)->UseRealTime();
BENCHMARK(program_step_vjp<float>)->Name("program/lorenz_step_vjp/float")->Arg(1)->Arg(2048)->UseRealTime();
BENCHMARK(compiled_step<double>)->Name("program/lorenz_step_compiled/double")->Arg(2048)->UseRealTime();
BENCHMARK(compiled_step<float>)->Name("program/lorenz_step_compiled/float")->Arg(2048)->UseRealTime();

}  // namespace
}  // namespace costate::bench

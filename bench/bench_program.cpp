// A Program by its three ways of running: interpreted, as machine code, and compiled by the compiler for the
// same packs. One step of RK4 of the Lorenz equations and its vjp; 2048 worlds, or one alone. And what
// writing machine code costs.
#include <array>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "costate/ad/allocate.h"
#include "costate/ad/derivative.h"
#include "costate/ad/executable.h"
#include "costate/ad/machine/machine_code.h"
#include "costate/ad/record.h"
#include "costate/core/aligned_buffer.h"
#include "costate/core/pack.h"

namespace costate::bench {
namespace {

constexpr std::ptrdiff_t kWorlds = 2048;

// x after one step; p is sigma, rho, beta.
constexpr auto lorenz_step = [](const auto& x, const auto& p) {
  using S = std::remove_cvref_t<decltype(x[0] + x[1])>;
  using State = std::array<S, 3>;
  const auto rate = [&](const State& s) {
    return State{p[0] * (s[1] - s[0]), s[0] * (p[1] - s[2]) - s[1], s[0] * s[1] - p[2] * s[2]};
  };
  const auto along = [](const State& s, double h, const State& k) {
    return State{s[0] + h * k[0], s[1] + h * k[1], s[2] + h * k[2]};
  };
  const double dt = 0.01;
  const State s{x[0], x[1], x[2]};
  const State k1 = rate(s), k2 = rate(along(s, dt / 2, k1)), k3 = rate(along(s, dt / 2, k2)),
              k4 = rate(along(s, dt, k3));
  State y;
  for (std::size_t i = 0; i < 3; ++i) y[i] = s[i] + dt / 6 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]);
  return y;
};

ad::Program step_program() { return ad::record(lorenz_step, ad::Field{"x", 3}, ad::Field{"p", 3}); }

// Blocks of the step, or of its vjp with respect to x: x, p, y_bar.
template <class T>
struct Blocks {
  std::ptrdiff_t worlds;
  AlignedBuffer<T> x, y_bar, result;
  T p[3] = {T(10), T(28), T(8.0 / 3)};
  explicit Blocks(std::ptrdiff_t n) : worlds(n), x(3 * n), y_bar(3 * n), result(3 * n) {
    for (std::ptrdiff_t i = 0; i < 3 * n; ++i) {
      x.data()[i] = T(1 + 0.001 * double(i % 100));
      y_bar.data()[i] = T(0.5);
    }
  }
};

template <class T>
void run_program(benchmark::State& state, bool reverse, ad::Engine engine, std::ptrdiff_t worlds) {
  const ad::Program program = step_program();
  const ad::Executable run(reverse ? ad::vjp(program, {.active = {"x"}}) : program, engine);
  Blocks<T> blocks(worlds);
  const ad::InputBlock<T> inputs[] = {
      {blocks.x.data(), worlds}, {blocks.p, 1, true}, {blocks.y_bar.data(), worlds}};
  const ad::OutputBlock<T> outputs[] = {{blocks.result.data(), worlds}};
  AlignedBuffer<std::byte> scratch(static_cast<std::int64_t>(run.scratch_bytes<T>()));
  const std::span<std::byte> bytes(scratch.data(), run.scratch_bytes<T>());
  for (auto _ : state) {
    run.run<T>(std::span(inputs).first(reverse ? 3 : 2), outputs, worlds, bytes);
    benchmark::ClobberMemory();
  }
  report(state, {.items = double(worlds)});
}

template <class T>
void run_compiled(benchmark::State& state, std::ptrdiff_t worlds) {
  using P = NativePack<T>;
  Blocks<T> blocks(worlds);
  const std::array<P, 3> p{P(blocks.p[0]), P(blocks.p[1]), P(blocks.p[2])};
  for (auto _ : state) {
    for (std::ptrdiff_t w = 0; w < worlds; w += P::lanes) {
      std::array<P, 3> x;
      for (std::size_t i = 0; i < 3; ++i) x[i] = P::load(blocks.x.data() + std::ptrdiff_t(i) * worlds + w);
      const std::array<P, 3> y = lorenz_step(x, p);
      for (std::size_t i = 0; i < 3; ++i) y[i].store(blocks.result.data() + std::ptrdiff_t(i) * worlds + w);
    }
    benchmark::ClobberMemory();
  }
  report(state, {.items = double(worlds)});
}

// What the first run of a shape pays: steps in a row make one program.
void write_code(benchmark::State& state) {
  const auto steps = static_cast<int>(state.range(0));
  const ad::Program program = ad::record(
      [steps](auto x, auto p) {
        std::array y{x[0], x[1], x[2]};
        for (int i = 0; i < steps; ++i) y = lorenz_step(y, p);
        return y;
      },
      ad::Field{"x", 3}, ad::Field{"p", 3});
  const ad::StraightCode code = ad::allocate(program);
  ad::CallShape shape;
  shape.shared.set(1);
  std::size_t bytes = 0;
  for (auto _ : state) bytes = ad::MachineCode::make<double>(code, shape, 16)->code().size();
  report(state, {.items = double(code.instructions.size())});
  state.counters["instructions"] = double(code.instructions.size());
  state.counters["bytes"] = double(bytes);
}

template <class T>
void register_number(const std::string& number) {
  const auto add = [](const std::string& name, auto function, auto... arguments) {
    benchmark::RegisterBenchmark(name.c_str(), function, arguments...)->UseRealTime();
  };
  for (const auto& [worlds, many] :
       {std::pair{kWorlds, "worlds"}, std::pair{std::ptrdiff_t{1}, "one_world"}}) {
    const std::string prefix = "program_lorenz/" + number + "/" + many + "/";
    if (worlds > 1) add(prefix + "step/compiled", run_compiled<T>, worlds);
    for (const bool reverse : {false, true}) {
      const std::string what = prefix + (reverse ? "vjp/" : "step/");
      add(what + "machine_code", run_program<T>, reverse, ad::Engine::machine_code, worlds);
      add(what + "interpreted", run_program<T>, reverse, ad::Engine::interpreter, worlds);
    }
  }
}

const bool registered = [] {
  register_number<double>("double");
  register_number<float>("float");
  benchmark::RegisterBenchmark("program_write_code/double", write_code)
      ->Arg(1)
      ->Arg(20)
      ->Arg(200)
      ->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace costate::bench

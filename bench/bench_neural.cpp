// A neural ODE: u' = W2 tanh(W1 tanh(W0 u + b0) + b1) + b2, 2-64-64-2, 256 worlds over t = 5, single
// precision; recorded, as from Python. RK4 with 100 steps is what the other engines are measured with
// (peers/ode_neural.py); dopri5 with 20 steps has smaller errors. Gradient by the weights of the sum over
// worlds of |u(5) - target|^2 / 2.
#include <cmath>
#include <vector>

#include "bench/measure.h"
#include "costate/ad/builder.h"
#include "costate/ode/lanes/fixed_scheme.h"
#include "costate/system/program/layered_system.h"
#include "costate/system/rollout.h"

namespace costate::bench {
namespace {

constexpr int kWidth = 64;
constexpr std::int64_t kWorlds = 256;

std::vector<double> wave(int size, double scale, double phase) {
  std::vector<double> numbers;
  for (int i = 0; i < size; ++i) numbers.push_back(scale * std::sin(12.9898 * i + phase));
  return numbers;
}

Signature fields() {
  Signature s;
  s.state("u", 2);
  s.parameter("w0", wave(2 * kWidth, 1.0, 0)).parameter("b0", std::vector<double>(kWidth, 0.0));
  s.parameter("w1", wave(kWidth * kWidth, 0.17, 1)).parameter("b1", std::vector<double>(kWidth, 0.0));
  s.parameter("w2", wave(2 * kWidth, 0.17, 2)).parameter("b2", std::vector<double>(2, 0.0));
  return s;
}

ad::LayeredProgram network() {
  using ad::Id;
  using ad::Op;
  ad::Builder f;
  const Id u = f.input_field("u", 2);
  f.input_field("w0", 2 * kWidth);
  const Id b0 = f.input_field("b0", kWidth);
  f.input_field("w1", kWidth * kWidth);
  const Id b1 = f.input_field("b1", kWidth);
  f.input_field("w2", 2 * kWidth);
  const Id b2 = f.input_field("b2", 2);
  const auto layer = [&](std::size_t k, int rows, Id bias, bool last) {
    const Id d = f.input_field(ad::product_field(k), rows);
    std::vector<Id> e;
    for (int i = 0; i < rows; ++i) {
      e.push_back(f.binary(Op::add, d + i, bias + i));
      if (!last) e.back() = f.unary(Op::tanh, e.back());
    }
    return e;
  };
  const std::vector<Id> h0 = layer(0, kWidth, b0, false), h1 = layer(1, kWidth, b1, false);
  f.output_field("value", layer(2, 2, b2, true));
  f.output_field(ad::vector_field(0), std::vector<Id>{u, u + 1});
  f.output_field(ad::vector_field(1), h0);
  f.output_field(ad::vector_field(2), h1);
  return {
      f.finish(),
      {{"w0", kWidth, 2, 0, 2, 1}, {"w1", kWidth, kWidth, 0, kWidth, 1}, {"w2", 2, kWidth, 0, kWidth, 1}}};
}

struct Method {
  const char* name;
  std::int64_t steps;
  int stages;
};

void run(benchmark::State& state, Method method, bool gradient) {
  const auto system = layered_system<float>(
      fields(), network(), ode::fixed_scheme(method.name, 5.0 / double(method.steps)), kWorlds);
  Rollout<float> rollout(system, {.steps = method.steps, .worlds = kWorlds, .active = {"w*", "b*"}});
  Arguments<float> start = rollout.arguments();
  start.x0.clear();
  for (std::int64_t i = 0; i < 2 * kWorlds; ++i) start.x0.push_back(2 * std::sin(0.7f * float(i)));
  const auto objective = loss::final<float>(system->signature(), "u", {0.1f, -0.2f});
  for (auto _ : state) {
    if (gradient)
      benchmark::DoNotOptimize(rollout.value_and_gradient(start, *objective).value);
    else
      benchmark::DoNotOptimize(rollout.value(start, *objective));
  }
  const double evaluations = double(method.steps * method.stages * kWorlds);
  const double flops = 2.0 * kWidth * (kWidth + 4) * evaluations;
  report(state, {.items = evaluations, .flops = gradient ? 3 * flops : flops});
}

const bool registered = [] {
  for (const Method& m : {Method{"rk4", 100, 4}, {"dopri5", 20, 6}}) {
    for (const bool gradient : {false, true}) {
      const std::string name = std::string("neural_ode/") + m.name + (gradient ? "/gradient" : "/forward");
      benchmark::RegisterBenchmark(name.c_str(), run, m, gradient)->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
}  // namespace costate::bench

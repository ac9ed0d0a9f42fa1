// One initial value problem and its gradient, as a user calls them: ode::solve and ode::gradient, everything
// allocated anew each time. The counter `error` is the largest relative error of the derivatives against
// values known to more digits.
//
//   lotka_volterra   g = |1 - u(10)|^2 / 2 by u0 and p: six derivatives, at rtol = atol = 1e-9
//   bouncing_ball    height after three bounces by h0, g and the restitution: events, jumps and their
//                    saltation
//   robertson        y1(40) of a stiff reaction by its three rates, at rtol = 1e-6, atol = 1e-10
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "costate/ad/record.h"
#include "costate/ode/adjoints/discrete_adjoint.h"
#include "costate/ode/fields/lambda_field.h"
#include "costate/ode/fields/program_field.h"
#include "costate/ode/solve.h"

namespace costate::bench {
namespace {

double largest_relative_error(const std::vector<double>& got, const std::vector<double>& exact) {
  double worst = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    worst = std::max(worst, std::abs(got[i] - exact[i]) / std::abs(exact[i]));
  return worst;
}

// A problem with its loss, and the derivatives d loss / d (y0, p) that are known.
struct Problem {
  const ode::VectorField& field;
  double t1;
  std::vector<double> y0, p;
  ode::Options options;
  ode::Loss loss;
  std::vector<int> inputs;  // into (y0, p)
  std::vector<double> exact;

  ode::Solution solve() const { return ode::solve(field, {0, t1}, y0, p, options); }
  double error(const ode::Gradient& g) const {
    std::vector<double> all = g.x0, got;
    const std::span<const double> parameters = g.parameters["p"];
    all.insert(all.end(), parameters.begin(), parameters.end());
    for (int i : inputs) got.push_back(all[std::size_t(i)]);
    return largest_relative_error(got, exact);
  }
};

void forward(benchmark::State& state, const Problem& problem) {
  for (auto _ : state) benchmark::DoNotOptimize(problem.solve().final_state().data());
  report(state, {.items = 1});
  const auto counts = problem.solve().counts;
  state.counters["steps"] = double(counts.accepted);
  state.counters["rejected"] = double(counts.rejected);
}

void gradient(benchmark::State& state, const Problem& problem) {
  ode::Gradient last;
  for (auto _ : state) last = ode::gradient(problem.solve(), problem.loss);
  report(state, {.items = 1});
  state.counters["error"] = problem.error(last);
}

constexpr auto predator_and_prey = [](auto, auto u, auto p) {
  return std::array{p[0] * u[0] - p[1] * u[0] * u[1], p[3] * u[0] * u[1] - p[2] * u[1]};
};
const auto lotka_volterra_field = ode::make_field<2, 4>(predator_and_prey);

// The same equations recorded, and run by the interpreter.
const ode::VectorField& lotka_volterra_program() {
  static const ode::ProgramField field([] {
    ad::Recorder recorder;
    const ad::Var t = recorder.scalar("t");
    const Vec<ad::Var, 2> u = recorder.input<2>("x");
    const Vec<ad::Var, 4> p = recorder.input<4>("p");
    const auto rate = predator_and_prey(t, u, p);
    recorder.output("dx", Vec<ad::Var, 2>{{rate[0], rate[1]}});
    return recorder.finish();
  }());
  return field;
}

Problem lotka_volterra(const ode::VectorField& field, const std::string& method) {
  return {.field = field,
          .t1 = 10,
          .y0 = {1, 1},
          .p = {1.5, 1, 3, 1},
          .options = {.method = method, .rtol = 1e-9, .atol = {1e-9}},
          .loss = {.final = ode::make_function<2, 4>([](auto, auto u, auto) {
                     return 0.5 * ((1.0 - u[0]) * (1.0 - u[0]) + (1.0 - u[1]) * (1.0 - u[1]));
                   })},
          .inputs = {0, 1, 2, 3, 4, 5},
          .exact = {0.2995995083036823, -0.01415181634485351, 0.6219615855512809, 0.06800140415087434,
                    0.1691764639958928, 0.2725606939500075}};
}

// (height, velocity) with p = (restitution, g)
const auto falling_field = ode::make_field<2, 2>([](auto t, auto x, auto p) {
  return std::array{1.0 * x[1], 0.0 * t - p[1]};
});

Problem bouncing_ball(const std::string& method) {
  const auto height = ode::make_function<2, 2>([](auto, auto x, auto) { return 1.0 * x[0]; });
  const auto bounce = ode::make_function<2, 2>([](auto, auto x, auto p) {
    return std::array{1.0 * x[0], -p[0] * x[1]};
  });
  return {.field = falling_field,
          .t1 = 15,
          .y0 = {50, 0},
          .p = {0.8, 9.8},
          .options = {.method = method,
                      .rtol = 1e-9,
                      .atol = {1e-9},
                      .events = {{.name = "ground", .guard = height, .direction = -1, .jump = bounce}}},
          .loss = {.final = height},
          .inputs = {0, 2, 3},
          .exact = {1.5961821700760583, 314.56883995768527, -7.277029744509887}};
}

const auto robertson_field = ode::make_field<3, 3>([](auto, auto y, auto p) {
  const auto slow = p[0] * y[0], mid = p[1] * y[1] * y[2], fast = p[2] * y[1] * y[1];
  return std::array{mid - slow, slow - mid - fast, 1.0 * fast};
});

// The derivatives are those on which radau5 and rodas5p agree at rtol = 1e-11, to all digits given.
Problem robertson(const std::string& method, double rtol, double atol) {
  return {.field = robertson_field,
          .t1 = 40,
          .y0 = {1, 0, 0},
          .p = {0.04, 1e4, 3e7},
          .options = {.method = method, .rtol = rtol, .atol = {atol}},
          .loss = {.final = ode::make_function<3, 3>([](auto, auto y, auto) { return 1.0 * y[0]; })},
          .inputs = {3, 4, 5},
          .exact = {-4.2475587717, 1.3730807973e-05, -2.2883550889e-09}};
}

void add(const std::string& name, const Problem& problem) {
  benchmark::RegisterBenchmark((name + "/forward").c_str(), forward, problem)->UseRealTime();
  benchmark::RegisterBenchmark((name + "/gradient").c_str(), gradient, problem)->UseRealTime();
}

const bool registered = [] {
  for (const char* method : {"dopri5", "tsit5", "dop853"})
    add(std::string("lotka_volterra/") + method, lotka_volterra(lotka_volterra_field, method));
  add("lotka_volterra/program_dop853", lotka_volterra(lotka_volterra_program(), "dop853"));
  for (const char* method : {"dopri5", "tsit5"})
    add(std::string("bouncing_ball/") + method, bouncing_ball(method));
  // At one tolerance, and each method where it comes below an error of 1e-7.
  add("robertson/radau5", robertson("radau5", 1e-6, 1e-10));
  add("robertson/rodas5p", robertson("rodas5p", 1e-6, 1e-10));
  add("robertson/radau5_loose", robertson("radau5", 1e-5, 1e-6));
  add("robertson/rodas5p_tight", robertson("rodas5p", 1e-7, 1e-11));
  return true;
}();

}  // namespace
}  // namespace costate::bench

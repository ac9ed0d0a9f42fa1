// Thousands of small problems at once, in SIMD lanes, each with its own step sizes. Quoted by docs/ode.md.
#include <costate/costate.h>
#include <costate/ode/lanes/adaptive_ensemble.h>
#include <costate/ode/lanes/problems/lorenz.h>

#include <algorithm>
#include <cstdio>

using namespace costate;

int main() {
  // [worlds]
  // 4096 Lorenz systems from t = 0 to 1, rho from 10 to 28. Arrays are [state][world] and [parameter][world].
  constexpr std::int64_t worlds = 4096;
  std::vector<double> y0(3 * worlds, 1.0), p(3 * worlds);
  for (std::int64_t w = 0; w < worlds; ++w) {
    p[w] = 10;
    p[worlds + w] = 10 + 18.0 * double(w) / (worlds - 1);
    p[2 * worlds + w] = 8.0 / 3;
  }
  const ode::AdaptiveEnsemble<ode::Lorenz> ensemble(0, 1, {.rtol = 1e-8, .atol = 1e-10});
  const ode::EnsembleGradient g =
      ensemble.gradient(worlds, y0, p, [](std::int64_t, const double*, double* y_bar) { y_bar[2] = 1; });
  std::printf("d z(1) / d rho: %.6f in the first world, %.6f in the last\n", g.p[worlds],
              g.p[2 * worlds - 1]);
  // [/worlds]
  // One world alone says the same.
  const auto lorenz = ode::make_field<3, 3>([](auto, auto x, auto q) {
    return std::array{q[0] * (x[1] - x[0]), x[0] * (q[1] - x[2]) - x[1], x[0] * x[1] - q[2] * x[2]};
  });
  const auto height = ode::make_function<3, 3>([](auto, auto x, auto) { return x[2]; });
  const ode::Solution s =
      ode::solve(lorenz, {0, 1}, {1, 1, 1}, {10, 28, 8.0 / 3}, {.rtol = 1e-8, .atol = {1e-10}});
  std::printf("the last one alone: %.6f\n", ode::gradient(s, {.final = height}).parameters["p"][1]);
  const auto [fewest, most] = std::minmax_element(g.result.steps.begin(), g.result.steps.end());
  std::printf("worlds chose different steps: %s\n", *most > *fewest ? "yes" : "no");
}

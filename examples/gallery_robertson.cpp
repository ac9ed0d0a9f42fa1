// Robertson's kinetics: rate constants over nine decades, and how the concentrations depend on them.
//
//   gallery_robertson docs/images/robertson.svg     also draws the picture
#include <costate/costate.h>
#include <costate/ode/adjoints/forward_sensitivity.h>
#include <costate/ode/sundials/sundials_backend.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "examples/figure.h"

using namespace costate;

// [model]
// A -> B at p1,  B + B -> B + C at p2,  B + C -> A + C at p3
const auto reactions = ode::make_field<3, 3>([](auto, auto y, auto p) {
  const auto slow = p[0] * y[0], fast = p[1] * y[1] * y[1], back = p[2] * y[1] * y[2];
  return std::array{back - slow, slow - back - fast, fast};
});
const std::vector<double> kRates = {0.04, 3e7, 1e4};

ode::Solution react(const char* method, double rtol, double until) {
  return ode::solve(reactions, {0, until}, {1, 0, 0}, kRates,
                    {.method = method, .rtol = rtol, .atol = {1e-3 * rtol, 1e-7 * rtol, 1e-3 * rtol}});
}
// [/model]

int main(int argc, char** argv) {
  std::printf("to t = 40, rtol 1e-6:  dopri5 more than %d steps",
              int(react("dopri5", 1e-6, 40).counts.accepted / 10000) * 10000);
  for (const char* method : {"rodas5p", "radau5"}) {
    std::printf(",  %s fewer than %d", method, int(react(method, 1e-6, 40).counts.accepted / 100 + 1) * 100);
  }

  // [sensitivities]
  const ode::Solution s = react("radau5", 1e-9, 40);
  const std::vector<double> j = ode::final_state_jacobian(s);  // 3 x (3 initial values + 3 rates)
  const std::vector<double> y = s.final_state();
  std::printf("\n\n%-4s %13s %14s %14s %14s\n", "", "y(40)", "p1 dy/dp1", "p2 dy/dp2", "p3 dy/dp3");
  for (int i = 0; i < 3; ++i) {
    std::printf("y%d   %13.6e", i + 1, y[i]);
    for (int k = 0; k < 3; ++k) std::printf(" %14.6e", kRates[k] * j[i * 6 + 3 + k]);
    std::printf("\n");
  }
  // [/sensitivities]

  const std::vector<double> other = ode::final_state_jacobian(react("rodas5p", 1e-9, 40));
  const auto largest_difference = [&](const auto& jacobian_entry) {
    double worst = 0;
    for (int i = 0; i < 3; ++i) {
      for (int k = 0; k < 3; ++k)
        worst = std::max(worst, std::abs(jacobian_entry(i, k) / j[i * 6 + 3 + k] - 1));
    }
    return worst;
  };
  const double methods_differ = largest_difference([&](int i, int k) { return other[i * 6 + 3 + k]; });
  std::printf("\nrodas5p agrees to %s\n", methods_differ < 1e-6 ? "six digits" : "less than six digits");

  double sundials_differ = 0;
  if (ode::sundials::available()) {
    const auto cvodes = ode::sundials::solve_with_sensitivities(
        reactions, 0, 40, {1, 0, 0}, kRates, {.rtol = 1e-10, .atol = {1e-12, 1e-16, 1e-12}});
    sundials_differ = largest_difference([&](int i, int k) { return cvodes.sensitivities[i * 3 + k]; });
    std::fprintf(stderr, "largest relative difference: rodas5p %.1e, CVODES %.1e\n", methods_differ,
                 sundials_differ);
  }

  if (argc > 1) {
    const double end = 4e6;
    std::vector<double> times;
    for (int k = 0; k <= 240; ++k) times.push_back(std::min(end, 1e-5 * std::pow(end / 1e-5, k / 240.0)));
    const ode::Solution whole = react("radau5", 1e-8, end);
    std::vector<ode::InputTangent> directions(3);
    for (int k = 0; k < 3; ++k) {
      directions[k].p.assign(3, 0.0);
      directions[k].p[k] = kRates[k];
    }
    const auto tangents = ode::sensitivities(whole, directions, times);
    figure::Figure picture;
    figure::Panel& left = picture.panel("time", "concentration").log_x();
    figure::Panel& right = picture.panel("time", "p dy1/dp").log_x();
    const char* const colours[] = {figure::kBlue, figure::kOrange, figure::kGreen};
    const char* const names[] = {"y1", "20000 y2", "y3"};
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<figure::Point> value, rate;
      for (std::size_t k = 0; k < times.size(); ++k) {
        value.push_back({times[k], whole(times[k])[i] * (i == 1 ? 2e4 : 1)});
        rate.push_back({times[k], tangents[i].samples[3 * k]});
      }
      left.line(value, colours[i], names[i]);
      right.line(rate, colours[i], "p" + std::to_string(i + 1));
    }
    picture.write(argv[1]);
  }
  return methods_differ < 1e-6 && sundials_differ < 1e-5 ? 0 : 1;
}

// Lorenz: the gradient of a time average grows without bound with the horizon, though the average barely
// moves.
//
//   gallery_lorenz docs/images/lorenz.svg     also draws the picture
#include <costate/costate.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "examples/figure.h"

using namespace costate;

constexpr double kDt = 0.01;

// [gradient]
const auto lorenz = ode::make_field<3, 3>([](auto, auto x, auto p) {
  return std::array{p[0] * (x[1] - x[0]), x[0] * (p[1] - x[2]) - x[1], x[0] * x[1] - p[2] * x[2]};
});
const auto height = ode::make_function<3, 3>([](auto, auto x, auto) { return x[2]; });

// The mean of z over [0, T], and its derivatives.
ode::Gradient mean_height(double horizon) {
  const ode::Solution s = ode::solve(lorenz, {0, horizon}, {1, 2, 20}, {10, 28, 8.0 / 3},
                                     {.method = "rk4", .dt = kDt, .running = height});
  return ode::gradient(s, {.integral_weight = 1 / horizon});
}
// [/gradient]

// [average]
// The mean of z over 512 worlds and 200 units of time each, after 20 to forget the start.
double long_average(double rho) {
  constexpr std::int64_t worlds = 512, steps = 22000, skip = 200;  // kept states to skip
  Rollout<double> rollout(ode::lorenz<double>(ode::Integrator::rk4, kDt),
                          {.steps = steps, .worlds = worlds, .keep = 10});
  Arguments<double> a = rollout.arguments();
  a.parameters.set("rho", rho);
  a.x0.clear();
  for (std::uint32_t w = 0; w < worlds; ++w) {
    for (std::uint32_t i = 0; i < 3; ++i) a.x0.push_back(normal(3, w, 0, i) + (i == 2 ? rho : 0));
  }
  const auto trajectory = rollout.simulate(a);
  double sum = 0;
  const std::size_t rows = trajectory.kept.size();
  for (std::size_t k = skip; k < rows; ++k) {
    for (std::size_t w = 0; w < worlds; ++w) sum += trajectory.states[(k * worlds + w) * 3 + 2];
  }
  return sum / double(worlds * (rows - skip));
}
// [/average]

int main(int argc, char** argv) {
  std::printf("horizon   mean of z   d mean / d rho\n");
  for (double horizon : {1.0, 5.0, 10.0, 15.0, 20.0, 25.0}) {
    const ode::Gradient g = mean_height(horizon);
    std::printf("%7.0f     %7.3f     %12.3g\n", horizon, g.value, g.parameters["p"][1]);
  }
  const double slope = (long_average(29) - long_average(27)) / 2;
  std::printf("slope of the long-time average, by differences: %.1f\n", slope);
  const ode::Gradient far = mean_height(60);
  std::printf("the gradient over 60 units of time is %s\n",
              std::abs(far.parameters["p"][1]) > 1e6 ? "more than a million times that" : "of that size");

  // [report]
  const ode::Solution s =
      ode::solve(lorenz, {0, 60}, {1, 2, 20}, {10, 28, 8.0 / 3}, {.method = "rk4", .dt = kDt});
  const GradientReport report = ode::gradient(s, {.final = height}).report;
  std::printf("growth rate of the adjoint: %.1f per unit of time\n", report.growth_per_time.value());
  const std::string& advice =
      report.advice.back();  // its numbers are chaotic too: print what follows from them
  std::printf("report: ...%s\n", advice.c_str() + advice.rfind(": "));
  // [/report]

  if (argc > 1) {
    std::vector<figure::Point> sizes, growth;
    for (double t = 0.5; t <= 60.01; t += 0.5)
      sizes.push_back({t, std::abs(mean_height(t).parameters["p"][1])});
    for (double t = 4; t <= 60; t += 1) growth.push_back({t, 0.02 * std::exp(0.906 * t)});
    figure::Figure picture;
    figure::Panel& panel = picture.panel("horizon T", "|d mean(z) / d rho|").log_y();
    panel.line(growth, figure::kGrey, "exp(0.906 T), the Lyapunov exponent", 1.5, true);
    panel.line(sizes, figure::kBlue, "exact gradient of the simulation");
    panel.line({{0.5, slope}, {60, slope}}, figure::kOrange, "slope of the long-time average");
    picture.write(argv[1]);
  }
  return slope > 0.8 && slope < 1.2 && std::abs(far.parameters["p"][1]) > 1e6 ? 0 : 1;
}

// Four estimators of one derivative as the horizon grows: d E[x_T] / db of a particle that starts in the left
// well of a (x^2 - 1)^2 + b x, with overdamped noise. At short times the answer depends on the time; at long
// times it is the one of equilibrium.
//
//   md_horizon                                  prints a table
//   md_horizon docs/images/md_horizon.svg       and draws it
#include <costate/costate.h>

#include <cmath>
#include <cstdio>
#include <numbers>

#include "examples/figure.h"

using namespace costate;

namespace {

constexpr double kDt = 0.05, kT = 0.5, kA = 1, kB = 0;
constexpr std::int64_t kSamples = 20'000;

double slope(double x, double b) { return 4 * kA * x * (x * x - 1) + b; }

// E[x_T] of the same steps, x' = x - dt U'(x) + sqrt(2 kT dt) xi, by carrying the density on a grid.
std::vector<double> means(double b, const std::vector<int>& steps) {
  constexpr int kCells = 321;
  const double width = 5.0 / kCells, spread = std::sqrt(2 * kT * kDt);
  const auto place = [&](int i) { return -2.5 + (i + 0.5) * width; };
  std::vector<double> kernel(kCells * kCells), now(kCells), next(kCells), all;
  for (int j = 0; j < kCells; ++j)
    for (int i = 0; i < kCells; ++i) {
      const double off = (place(i) - place(j) + kDt * slope(place(j), b)) / spread;
      kernel[std::size_t(i * kCells + j)] =
          width / (spread * std::sqrt(2 * std::numbers::pi)) * std::exp(-0.5 * off * off);
    }
  // The first step from x = -1.
  for (int i = 0; i < kCells; ++i) {
    const double off = (place(i) + 1 + kDt * slope(-1, b)) / spread;
    now[std::size_t(i)] = width / (spread * std::sqrt(2 * std::numbers::pi)) * std::exp(-0.5 * off * off);
  }
  int done = 1;
  for (const int wanted : steps) {
    for (; done < wanted; ++done) {
      for (int i = 0; i < kCells; ++i) {
        double sum = 0;
        for (int j = 0; j < kCells; ++j) sum += kernel[std::size_t(i * kCells + j)] * now[std::size_t(j)];
        next[std::size_t(i)] = sum;
      }
      now.swap(next);
    }
    double mean = 0;
    for (int i = 0; i < kCells; ++i) mean += place(i) * now[std::size_t(i)];
    all.push_back(mean);
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<int> steps = {5, 10, 20, 40, 80, 160, 320, 640};
  const std::vector<double> more = means(kB + 1e-3, steps), less = means(kB - 1e-3, steps);

  const auto system = md::make_system<double>({.dimensions = 1,
                                               .masses = {1},
                                               .potentials = {{.kind = "double_well"}},
                                               .integrator = "overdamped",
                                               .dt = kDt,
                                               .kT = kT});
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  at.x0 = {-1};
  at.parameters.set("double_well/b", kB);
  const auto place = loss::expression<double>(system->signature(), "x");

  // [methods]
  struct Curve {
    estimate::Method method;
    const char *name, *colour;
    std::vector<figure::Point> value = {}, low = {}, high = {}, error = {};
  };
  std::vector<Curve> curves = {{estimate::Method::pathwise, "pathwise", figure::kOrange},
                               {estimate::Method::girsanov, "girsanov", figure::kBlue},
                               {estimate::Method::reinforce, "reinforce", figure::kGreen},
                               {estimate::Method::reweighting, "reweighting", figure::kPink}};
  for (std::size_t t = 0; t < steps.size(); ++t) {
    for (Curve& c : curves) {
      estimate::Sampling how{.method = c.method, .samples = kSamples, .parameters = {"double_well/b"}};
      if (c.method == estimate::Method::reweighting) how.reference = {{"double_well/b", {0.1}}};
      const auto g = estimate::gradient<double>(system, {.steps = steps[t], .seed = 1}, at, *place, how);
      // [/methods]
      const double T = steps[t] * kDt, value = g.gradient[0], error = g.standard_error[0];
      c.value.push_back({T, value});
      c.low.push_back({T, value - 2 * error});
      c.high.push_back({T, value + 2 * error});
      c.error.push_back({T, error});
    }
  }

  std::printf("%5s  %7s", "T", "exact");
  for (const Curve& c : curves) std::printf("  %16s", c.name);
  std::printf("\n");
  std::vector<figure::Point> exact;
  bool right = true;
  for (std::size_t t = 0; t < steps.size(); ++t) {
    exact.push_back({steps[t] * kDt, (more[t] - less[t]) / 2e-3});
    std::printf("%5.2f  %7.3f", exact[t].x, exact[t].y);
    for (const Curve& c : curves) std::printf("  %7.3f +- %5.3f", c.value[t].y, c.error[t].y);
    std::printf("\n");
    right = right && std::abs(curves[1].value[t].y - exact[t].y) < 4 * curves[1].error[t].y;
  }
  if (argc > 1) {
    figure::Figure picture;
    figure::Panel& values = picture.panel("horizon T", "d E[x] / db").log_x().y_range(-2.6, 0.2);
    for (const Curve& c : curves) values.band(c.low, c.high, c.colour);
    for (const Curve& c : curves) values.line(c.value, c.colour, c.name);
    values.line(exact, figure::kGrey, "exact", 2, true);
    figure::Panel& errors = picture.panel("horizon T", "standard error, 20,000 samples").log_x().log_y();
    for (const Curve& c : curves) errors.line(c.error, c.colour, c.name);
    picture.write(argv[1]);
  }
  return right ? 0 : 1;
}

// Predators and prey: four rates and two initial values from noisy counts, with standard errors.
//
//   gallery_lotka_volterra docs/images/lotka_volterra.svg     also draws the picture
#include <costate/costate.h>
#include <costate/ode/adjoints/forward_sensitivity.h>
#include <costate/solve/dense_lu.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "examples/figure.h"

using namespace costate;

constexpr int kUnknowns = 6, kTimes = 31;
constexpr double kNoise = 0.6;  // standard deviation of a count
const char* const kNames[] = {"prey at start", "predators at start", "prey growth",
                              "predation",     "predator death",     "conversion"};
const std::vector<double> kTruth = {10, 5, 1.1, 0.4, 0.4, 0.1};

// [model]
const auto species = ode::make_field<2, 4>([](auto, auto x, auto p) {
  return std::array{p[0] * x[0] - p[1] * x[0] * x[1], p[3] * x[0] * x[1] - p[2] * x[1]};
});

// Unknowns: the initial values, then the rates.
ode::Solution populations(const double* unknown, double until) {
  return ode::solve(species, {0, until}, {unknown[0], unknown[1]}, {unknown + 2, unknown + 6},
                    {.rtol = 1e-9});
}

// d(populations at the times)/d(unknowns), row-major: one tangent per unknown, all in one pass.
std::vector<double> jacobian_at(const ode::Solution& s, const std::vector<double>& times) {
  std::vector<ode::InputTangent> directions(kUnknowns);
  for (int j = 0; j < 2; ++j) directions[j].y0 = {j == 0 ? 1.0 : 0.0, j == 1 ? 1.0 : 0.0};
  for (int j = 0; j < 4; ++j) {
    directions[2 + j].p.assign(4, 0.0);
    directions[2 + j].p[j] = 1;
  }
  const auto tangents = ode::sensitivities(s, directions, times);
  std::vector<double> j(2 * times.size() * kUnknowns);
  for (std::size_t row = 0; row < 2 * times.size(); ++row) {
    for (std::size_t k = 0; k < kUnknowns; ++k) j[row * kUnknowns + k] = tangents[k].samples[row];
  }
  return j;
}
// [/model]

// (J'J)^-1, with J in units of the noise: the covariance of the estimates, to first order.
std::vector<double> covariance(const std::vector<double>& j) {
  solve::DenseLu<double> normal(kUnknowns);
  std::fill_n(normal.matrix(), kUnknowns * kUnknowns, 0.0);
  for (std::size_t row = 0; row < j.size(); row += kUnknowns) {
    for (int a = 0; a < kUnknowns; ++a) {
      for (int b = 0; b < kUnknowns; ++b)
        normal.matrix()[a * kUnknowns + b] += j[row + a] * j[row + b] / (kNoise * kNoise);
    }
  }
  if (!normal.factorise()) throw Error("the data do not determine all unknowns");
  std::vector<double> c(kUnknowns * kUnknowns);
  for (int a = 0; a < kUnknowns; ++a) {
    double unit[kUnknowns] = {};
    unit[a] = 1;
    normal.solve(unit, c.data() + a * kUnknowns);
  }
  return c;
}

void draw(const char* path, const std::vector<double>& times, const std::vector<double>& counts,
          const std::vector<double>& x, const std::vector<double>& c);

int main(int argc, char** argv) {
  std::vector<double> times, counts;
  for (int k = 0; k < kTimes; ++k) times.push_back(30.0 * k / (kTimes - 1));
  const ode::Solution truth = populations(kTruth.data(), 30);
  for (std::size_t k = 0; k < times.size(); ++k) {
    for (std::uint32_t i = 0; i < 2; ++i) counts.push_back(truth(times[k])[i] + kNoise * normal(7, 0, k, i));
  }

  // [fit]
  const auto misfit = [&](const double* x, double* r, double* jacobian) {
    const ode::Solution s = populations(x, 30);
    for (std::size_t k = 0; k < times.size(); ++k) {
      const std::vector<double> y = s(times[k]);
      for (std::size_t i = 0; i < 2; ++i) r[2 * k + i] = (y[i] - counts[2 * k + i]) / kNoise;
    }
    if (!jacobian) return;
    const std::vector<double> j = jacobian_at(s, times);
    for (std::size_t m = 0; m < j.size(); ++m) jacobian[m] = j[m] / kNoise;
  };
  const auto fit = optim::minimize(
      optim::Residuals{int(counts.size()), misfit}, {8, 6, 1.0, 0.3, 0.5, 0.15},
      optim::LevenbergMarquardtOptions{.stopping = {.gradient_tolerance = 1e-6},
                                       .bounds = {.lower = std::vector<double>(kUnknowns, 1e-3)}});
  const std::vector<double> c = covariance(jacobian_at(populations(fit.x.data(), 30), times));
  // [/fit]

  std::printf("%-20s %8s   %-16s %6s\n", "", "truth", "estimate", "off by");
  double worst = 0;
  for (int i = 0; i < kUnknowns; ++i) {
    const double error = std::sqrt(c[i * kUnknowns + i]), off = (fit.x[i] - kTruth[i]) / error;
    std::printf("%-20s %8.3f   %.3f +- %.3f   %4.1f standard errors\n", kNames[i], kTruth[i], fit.x[i], error,
                off);
    worst = std::max(worst, std::abs(off));
  }
  const double chi2 = 2 * fit.value, freedom = double(counts.size()) - kUnknowns;
  std::printf("chi squared / degrees of freedom: %.2f\n", chi2 / freedom);
  std::printf("correlation of predator death and conversion: %.2f\n",
              c[4 * kUnknowns + 5] / std::sqrt(c[4 * kUnknowns + 4] * c[5 * kUnknowns + 5]));
  if (argc > 1) draw(argv[1], times, counts, fit.x, c);
  return fit.converged() && worst < 3 ? 0 : 1;
}

void draw(const char* path, const std::vector<double>& times, const std::vector<double>& counts,
          const std::vector<double>& x, const std::vector<double>& c) {
  std::vector<double> fine;
  for (int k = 0; k <= 400; ++k) fine.push_back(40.0 * k / 400);
  const ode::Solution s = populations(x.data(), 40);
  const std::vector<double> j = jacobian_at(s, fine);
  figure::Figure picture;
  figure::Panel& panel = picture.panel("time", "individuals (thousands)").y_range(-1, 16);
  const char* const colours[] = {figure::kBlue, figure::kOrange};
  const char* const names[] = {"prey, fitted", "predators, fitted"};
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<figure::Point> mean, low, high, seen;
    for (std::size_t k = 0; k < fine.size(); ++k) {
      const double* row = j.data() + (2 * k + i) * kUnknowns;
      double variance = 0;
      for (int a = 0; a < kUnknowns; ++a) {
        for (int b = 0; b < kUnknowns; ++b) variance += row[a] * c[a * kUnknowns + b] * row[b];
      }
      const double y = s(fine[k])[i], two_sigma = 2 * std::sqrt(variance);
      mean.push_back({fine[k], y});
      low.push_back({fine[k], y - two_sigma});
      high.push_back({fine[k], y + two_sigma});
    }
    for (std::size_t k = 0; k < times.size(); ++k) seen.push_back({times[k], counts[2 * k + i]});
    panel.band(low, high, colours[i], i == 0 ? "two standard errors" : "");
    panel.line(mean, colours[i], names[i]);
    panel.dots(seen, colours[i]);
  }
  panel.line({{30, -1}, {30, 16}}, figure::kGrey, "end of the data", 1, true);
  picture.write(path);
}

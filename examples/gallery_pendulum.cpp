// The length of a pendulum from noisy angles, and what no such data can tell.
//
//   gallery_pendulum docs/images/pendulum.svg     also draws the picture
#include <costate/costate.h>
#include <costate/ode/adjoints/hessian.h>
#include <costate/solve/dense_lu.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "examples/figure.h"

using namespace costate;

constexpr double kSigma = 0.03, kGravity = 9.81;
constexpr int kTimes = 50;

// [model]
// x = (angle, rate), p = (gravity, length, damping)
const auto pendulum = ode::make_field<2, 3>([](auto, auto x, auto p) {
  return std::array{x[1], -p[0] / p[1] * sin(x[0]) - p[2] * x[1]};
});
// [/model]

ode::Solution swing(double length, double damping, double angle) {
  return ode::solve(pendulum, {0, 10}, {angle, 0}, {kGravity, length, damping}, {.rtol = 1e-9});
}

struct Seen {
  std::vector<double> times, rows;  // angle, rate
};

// The fit through what was seen; and the least loss of every length, with the two places where searches end.
void draw(const char* file, const Seen& data, const ode::Solution& fit,
          const std::function<double(double)>& least, const std::array<optim::Result, 2>& found) {
  std::vector<figure::Point> seen, curve, landscape;
  for (std::size_t k = 0; k < data.times.size(); ++k) seen.push_back({data.times[k], data.rows[2 * k]});
  for (int k = 0; k <= 400; ++k) curve.push_back({10.0 * k / 400, fit(10.0 * k / 400)[0]});
  for (int k = 0; k <= 300; ++k) landscape.push_back({0.2 + 1.2 * k / 300, least(0.2 + 1.2 * k / 300)});
  figure::Figure picture;
  figure::Panel& left = picture.panel("time [s]", "angle [rad]");
  left.line(curve, figure::kBlue, "fit");
  left.dots(seen, figure::kOrange, "observed");
  figure::Panel& right = picture.panel("length tried [m]", "least loss with that length").log_y();
  right.line(landscape, figure::kBlue, "");
  right.dots({{found[0].x[0], found[0].value}}, figure::kGreen, "found from 0.6 m", 5);
  right.dots({{found[1].x[0], found[1].value}}, figure::kOrange, "found from 0.3 m", 5);
  picture.write(file);
}

int main(int argc, char** argv) {
  std::vector<double> times, rows;
  const ode::Solution truth = swing(0.7, 0.1, 1.0);
  for (int k = 1; k <= kTimes; ++k) {
    times.push_back(10.0 * k / kTimes);
    rows.insert(rows.end(), {truth(times.back())[0] + kSigma * normal(11, 0, std::uint64_t(k)), 0});
  }
  // [fit]
  // Angles in units of their noise; the weight of the rates, which nobody saw, is zero.
  const auto misfit = std::make_shared<ode::LeastSquares>(times, rows, std::vector<double>{1 / kSigma, 0});
  const ode::Loss loss{.samples = misfit};
  const auto fit_between = [&](double shortest, const std::vector<double>& first, double longest) {
    return optim::minimize(
        [&](const double* x, double* gradient) {  // length, damping, angle of release
          const ode::Gradient g = ode::gradient(swing(x[0], x[1], x[2]), loss);
          gradient[0] = g.parameters["p"][1];
          gradient[1] = g.parameters["p"][2];
          gradient[2] = g.x0[0];
          return g.value;
        },
        first,
        optim::LbfgsOptions{.first_step = 0.01,
                            .stopping = {.gradient_tolerance = 1e-4},
                            .bounds = {.lower = {shortest, 0, -3}, .upper = {longest, 0.5, 3}}});
  };
  const auto fit_from = [&](double first_length) { return fit_between(0.05, {first_length, 0.05, 0.8}, 3); };
  // [/fit]
  for (double start : {0.6, 0.3}) {
    const auto fit = fit_from(start);
    // Per degree of freedom: about 1 where the model is right.
    const double chi2 = 2 * fit.value / (kTimes - 3);
    std::printf("from %.1f m: length %.3f m, damping %.2f /s, chi squared %s\n", start, fit.x[0], fit.x[1],
                chi2 < 1.5 ? "as it should be" : "a hundred times too large");
  }

  // [identifiable]
  const auto best = fit_from(0.6).x;
  const ode::Solution s = swing(best[0], best[1], best[2]);
  // Curvature of the loss when an input grows by a given share of itself.
  const auto curvature = [&](std::vector<double> p_dot) {
    const ode::Gradient h = ode::hessian_vector(s, loss, {.p = p_dot});
    return h.parameters["p"][0] * p_dot[0] + h.parameters["p"][1] * p_dot[1] +
           h.parameters["p"][2] * p_dot[2];
  };
  const double length_only = curvature({0, best[0], 0});
  const double both = curvature({kGravity, best[0], 0});
  // [/identifiable]
  std::printf("curvature along length %.2e, along gravity and length together %s\n", length_only,
              std::abs(both) < 1e-6 * length_only ? "zero" : "not zero");

  // [errors]
  // The inverse of the Hessian by what was fitted is the covariance: length, damping, angle of release.
  const std::vector<double> h = ode::hessian(s, loss);  // angle, rate; gravity, length, damping
  solve::DenseLu<double> fitted(3);
  const int which[] = {3, 4, 0};
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) fitted.matrix()[3 * a + b] = h[5 * which[a] + which[b]];
  }
  double variance[3] = {1, 0, 0};
  if (!fitted.factorise()) throw Error("the data do not determine all unknowns");
  fitted.solve(variance, variance);
  std::printf("length %.4f +- %.4f m, if gravity is known\n", best[0], std::sqrt(variance[0]));
  // [/errors]

  if (argc > 1) {
    const auto least = [&](double length) {  // damping and angle at their best for this length
      return fit_between(length, {length, best[1], best[2]}, length).value;
    };
    draw(argv[1], {times, rows}, s, least, {fit_from(0.6), fit_from(0.3)});
  }
  return std::abs(best[0] - 0.7) < 0.01 && std::abs(both) < 1e-6 * length_only ? 0 : 1;
}

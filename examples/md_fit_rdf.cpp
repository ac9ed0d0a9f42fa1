// Fit a force field to a radial distribution: which epsilon and sigma of a Lennard-Jones fluid give the g(r)
// that was measured? The data here come from epsilon = 1, sigma = 1. The search starts at 0.6 and 0.92.
//
//   L = 1/2 dr sum_b (<g_b> - data_b)^2,   dL/dp = dr sum_b (<g_b> - data_b) d<g_b>/dp
//
// <g> is an average over the equilibrium. Its derivative is a covariance with the energy's slope; a
// derivative through the trajectories would grow with their chaos.
//
//   md_fit_rdf                                prints the iterations
//   md_fit_rdf docs/images/md_fit_rdf.svg     and draws them
#include <costate/costate.h>
#include <costate/md/observable/pair_distribution.h>
#include <costate/optim/adam.h>

#include <array>
#include <cmath>
#include <cstdio>

#include "examples/figure.h"

using namespace costate;

namespace {

constexpr int kSide = 4, kSteps = 400, kEvery = 20, kWorlds = 128;
constexpr double kBox = 7.0, kSpacing = 0.1;

md::Model thin_fluid() {
  return {.dimensions = 2,
          .masses = std::vector<double>(kSide * kSide, 1.0),
          .potentials = {{.kind = "lennard_jones", .options = {{"cutoff", 2.5}, {"switch_from", 2.0}}}},
          .box = {kBox, kBox},
          .integrator = "BAOAB",
          .dt = 0.01,
          .kT = 1,
          .friction = 2};
}

void set_on_lattice(std::vector<double>& x) {
  for (int i = 0; i < kSide * kSide; ++i) {
    x[std::size_t(2 * i)] = kBox / kSide * (i % kSide);
    x[std::size_t(2 * i + 1)] = kBox / kSide * (i / kSide);
  }
}

// g(r) at the start, after the fit, and as measured; the two numbers over the iterations.
void draw(const char* file, const std::vector<double>& radii, const std::array<std::vector<double>, 3>& g,
          const std::vector<figure::Point>& epsilons, const std::vector<figure::Point>& sigmas) {
  const auto curve = [&](const std::vector<double>& values) {
    std::vector<figure::Point> points;
    for (std::size_t b = 0; b < values.size(); ++b) points.push_back({radii[b], values[b]});
    return points;
  };
  figure::Figure picture;
  figure::Panel& distributions = picture.panel("distance r", "g(r)");
  distributions.line(curve(g[0]), figure::kOrange, "at the start");
  distributions.line(curve(g[1]), figure::kBlue, "after the fit");
  distributions.line(curve(g[2]), figure::kGrey, "data", 2, true);
  figure::Panel& numbers = picture.panel("iteration", "epsilon, sigma").y_range(0.5, 1.1);
  numbers.line(epsilons, figure::kBlue, "epsilon");
  numbers.line(sigmas, figure::kGreen, "sigma");
  picture.write(file);
}

}  // namespace

int main(int argc, char** argv) {
  const md::Model model = thin_fluid();
  const auto system = md::make_system<double>(model);
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  set_on_lattice(at.x0);
  // [mean]
  // 1. g(r) of a state, and its average over the second half of every world's steps.
  md::PairDistribution of{.width = 0.05};
  for (double r = 0.7; r < 2.6; r += kSpacing) of.radii.push_back(r);
  const auto mean = [&](const Arguments<double>& from, std::uint64_t seed) {
    std::vector<double> sum(of.radii.size(), 0.0);
    double samples = 0;
    Rollout<double> rollout(system, {.steps = kSteps, .worlds = kWorlds, .seed = seed});
    rollout.simulate(
        from, {.every = kEvery, .look = [&](std::int64_t k, std::int64_t, std::span<const double> x) {
                 if (k <= kSteps / 2) return;
                 const auto g =
                     md::pair_distribution(model, of, {x.begin(), x.begin() + 2 * kSide * kSide}, model.box);
                 for (std::size_t b = 0; b < g.size(); ++b) sum[b] += g[b];
                 ++samples;
               }});
    for (double& g : sum) g /= samples;
    return sum;
  };
  // [/mean]
  const auto set = [&](double epsilon, double sigma) {
    at.parameters.set("lennard_jones/epsilon", epsilon);
    at.parameters.set("lennard_jones/sigma", sigma);
  };
  set(1, 1);
  const std::vector<double> data = mean(at, 1);
  // [fit]
  // 2. The weights of the second pass are the misfits of the first.
  int evaluations = 0;
  const auto misfit = [&](const double* z, double* gradient) {
    set(z[0], z[1]);
    const std::uint64_t seed = 2 + std::uint64_t(evaluations++);  // fresh noise
    const std::vector<double> g = mean(at, seed);
    std::vector<double> weights(g.size());
    double loss = 0;
    for (std::size_t b = 0; b < g.size(); ++b) {
      weights[b] = kSpacing * (g[b] - data[b]);
      loss += 0.5 * weights[b] * (g[b] - data[b]);
    }
    const auto slope = estimate::gradient<double>(
        system, {.steps = kSteps, .seed = seed}, at,
        *md::observe<double>(model, md::ObserveDistribution{.of = of, .weights = weights}),
        {.method = estimate::Method::reinforce,
         .samples = kWorlds,
         .parameters = {"lennard_jones/*"},
         .every = kEvery});
    gradient[0] = slope.gradient[0], gradient[1] = slope.gradient[1];
    if (evaluations % 10 == 1) std::printf("%9d  %7.2f  %5.2f  %7.4f\n", evaluations - 1, z[0], z[1], loss);
    return loss;
  };
  // [/fit]
  std::vector<figure::Point> epsilons, sigmas;  // over the iterations
  const auto watched = [&](const double* z, double* gradient) {
    epsilons.push_back({double(evaluations), z[0]});
    sigmas.push_back({double(evaluations), z[1]});
    return misfit(z, gradient);
  };
  std::printf("iteration  epsilon  sigma   misfit\n");
  const auto result = optim::minimize(
      watched, {0.6, 0.92},
      optim::AdamOptions{
          .rate = 0.05, .decay = 0.92, .stopping = {.max_iterations = 30, .gradient_tolerance = 0}});
  if (argc > 1) {
    const auto distribution = [&](double epsilon, double sigma) {
      set(epsilon, sigma);
      return mean(at, 1);
    };
    draw(argv[1], of.radii, {distribution(0.6, 0.92), distribution(result.x[0], result.x[1]), data}, epsilons,
         sigmas);
  }
  std::printf("found      %7.2f  %5.2f  %7.4f\n", result.x[0], result.x[1], result.value);
  return std::abs(result.x[0] - 1) < 0.1 && std::abs(result.x[1] - 1) < 0.02 ? 0 : 1;
}

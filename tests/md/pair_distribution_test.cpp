#include "costate/md/observable/pair_distribution.h"

#include <cmath>
#include <numbers>

#include "costate/core/philox.h"
#include "costate/system/check/checks.h"
#include "tests/expect_error.h"
#include "tests/md/models.h"

namespace costate::md {
namespace {

// Two atoms across the side of a box: a normal density at their distance, times V / area.
TEST(PairDistribution, OfOnePairIsANormalDensity) {
  const Model model{.masses = {1, 1}, .box = {6, 5, 7}, .integrator = "BAB"};
  const PairDistribution what{.radii = {0.9, 1.0, 1.1, 2.0}, .width = 0.1};
  const std::vector<double> g =
      pair_distribution(model, what, {0.2, 0.1, 0.3, 5.2, 0.1, 0.3}, model.box);  // a distance of 1
  for (std::size_t b = 0; b < what.radii.size(); ++b) {
    const double r = what.radii[b], z = (1 - r) / 0.1;
    const double density =
        std::abs(z) < 6 ? std::exp(-z * z / 2) / (0.1 * std::sqrt(2 * std::numbers::pi)) : 0;
    EXPECT_NEAR(g[b], 210 / (4 * std::numbers::pi * r * r) * density, 1e-11) << r;
  }
}

// Atoms thrown at random have g = 1 and S = 1, within four standard errors.
TEST(PairDistribution, OfAnIdealGasIsOne) {
  constexpr int kAtoms = 400;
  for (const int dimensions : {1, 2, 3}) {
    const Model model{.dimensions = dimensions,
                      .masses = std::vector<double>(kAtoms, 1.0),
                      .box = std::vector<double>(std::size_t(dimensions), 10.0),
                      .integrator = "BAB"};
    PairDistribution what{.radii = {2.0, 4.0}, .width = 0.3};
    for (int n = 1; n <= 200; ++n) what.waves.push_back({n, 0, 0});
    std::vector<double> x;
    for (int i = 0; i < kAtoms * dimensions; ++i) x.push_back(10 * uniform<double>(7, 0, std::uint64_t(i)));
    const std::vector<double> g = pair_distribution(model, what, x, model.box);
    for (std::size_t b = 0; b < 2; ++b) {
      const double shell = (dimensions == 3   ? 4 * std::numbers::pi * what.radii[b] * what.radii[b]
                            : dimensions == 2 ? 2 * std::numbers::pi * what.radii[b]
                                              : 2.0) *
                           2 * std::sqrt(std::numbers::pi) * 0.3;
      const double pairs = 0.5 * kAtoms * (kAtoms - 1) * shell / std::pow(10.0, dimensions);
      EXPECT_NEAR(g[b], 1, 4 / std::sqrt(pairs) + 0.01) << dimensions;  // .01: curvature of the shell
    }
    double mean = 0;
    for (std::size_t w = 2; w < g.size(); ++w) mean += g[w] / 200;
    EXPECT_NEAR(mean, 1, 4 / std::sqrt(200.0)) << dimensions;  // each is exponentially distributed
  }
}

// A row of atoms at the distance of one wavelength scatters as one.
TEST(PairDistribution, OfACrystalHasABraggPeak) {
  const Model model{.dimensions = 1, .masses = std::vector<double>(8, 1.0), .box = {8}, .integrator = "BAB"};
  const std::vector<double> x = {0.3, 1.3, 2.3, 3.3, 4.3, 5.3, 6.3, 7.3};
  const std::vector<double> s = pair_distribution(model, {.waves = {{8, 0, 0}, {3, 0, 0}}}, x, {8});
  EXPECT_NEAR(s[0], 8, 1e-12);
  EXPECT_NEAR(s[1], 0, 1e-12);
}

// Along random directions of positions and box, against differences; through a rollout in both precisions.
TEST(PairDistribution, GradientsMatchDifferences) {
  const test::Sample s = test::sample("lennard_jones_mixture", "BAB");
  PairDistribution of{.radii = {0.6, 0.9, 1.2, 1.5}, .width = 0.2, .waves = {{1, 0, -2}, {0, 1, 1}}};
  const auto system = make_system<double>(s.model);
  Rollout<double> rollout(system, {.steps = 10});
  const auto at = test::start(s, rollout, 2);
  for (const bool some : {false, true}) {
    if (some) of.from = {0, 2}, of.to = {1, 2, 3};
    for (const bool target : {false, true}) {
      ObserveDistribution what{.of = of, .weights = {1, -0.5, 2, 0.7, 0.3, -1.1}, .steps = {3, 10}};
      if (target) what.target = {0.5, 1, 1.5, 1, 0.2, 0.4};
      const auto loss = observe<double>(s.model, what);
      const auto result = check::stencil(rollout, at, *loss, {.step = 1e-5});
      EXPECT_TRUE(result.passed()) << some << target << ": " << result.error;
      EXPECT_NE(rollout.value_and_gradient(at, *loss).parameters["box"][0], 0);
    }
  }
  const auto in_float = make_system<float>(s.model);
  Rollout<float> single(in_float, {.steps = 10});
  auto start = single.arguments();
  start.x0.assign(at.x0.begin(), at.x0.end());
  const auto g = rollout.value_and_gradient(at, *observe<double>(s.model, {.of = of}));
  const auto h = single.value_and_gradient(start, *observe<float>(s.model, {.of = of}));
  EXPECT_NEAR(g.value, h.value, 1e-5 * std::abs(g.value));
  for (std::size_t i = 0; i < g.x0.size(); ++i) EXPECT_NEAR(g.x0[i], h.x0[i], 1e-4) << i;
}

// The transpose is the transpose: bar . J v against a difference along v, without a rollout.
TEST(PairDistribution, TransposeOfPlainFunction) {
  const test::Sample s = test::sample("lennard_jones");
  const PairDistribution of{.radii = {0.8, 1.1}, .width = 0.15, .waves = {{1, 1, 0}}};
  const std::vector<double> bar = {0.4, -1, 0.6}, v = {1, -2, 3}, edges = s.model.box;
  std::vector<double> x_bar(s.x.size(), 0.0), box_bar(3, 0.0);
  pair_distribution_vjp(s.model, of, s.x, edges, bar, x_bar.data(), box_bar.data());
  const auto along = [&](double h) {
    std::vector<double> x = s.x, box = edges;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += h * v[i % 3] * (i < 6 ? 1 : -0.5);
    for (std::size_t k = 0; k < 3; ++k) box[k] += h * v[k];
    const std::vector<double> g = pair_distribution(s.model, of, x, box);
    return bar[0] * g[0] + bar[1] * g[1] + bar[2] * g[2];
  };
  double slope = 0;
  for (std::size_t i = 0; i < s.x.size(); ++i) slope += x_bar[i] * v[i % 3] * (i < 6 ? 1 : -0.5);
  for (std::size_t k = 0; k < 3; ++k) slope += box_bar[k] * v[k];
  const double h = 1e-4, one = along(h) - along(-h), two = along(2 * h) - along(-2 * h);
  EXPECT_NEAR(slope, (8 * one - two) / (12 * h), 1e-8 * std::abs(slope));
}

TEST(PairDistribution, SaysWhatItNeeds) {
  const test::Sample open = test::sample("harmonic", "BAB"), s = test::sample("lennard_jones", "BAB");
  const auto refuse = [](const Model& model, const ObserveDistribution& what, const char* why,
                         const char* advice) {
    costate::test::expect_error([&] { return observe<double>(model, what); }, why, advice);
  };
  refuse(open.model, {.of = {.radii = {1}}}, "needs a box", "give the model a box");
  Model flat = s.model;
  flat.box = {3, 0, 3};
  refuse(flat, {.of = {.waves = {{0, 1, 0}}}}, "an edge of the box is 0", "positive lengths");
  refuse(s.model, {}, "no radii and no waves", "give radii");
  refuse(s.model, {.of = {.radii = {1, 0.5}}}, "increase", "");
  refuse(s.model, {.of = {.radii = {1, 5}}}, "beyond half of the box", "shortest edge");
  refuse(s.model, {.of = {.radii = {1}, .width = 0}}, "the width must be positive", "");
  refuse(s.model, {.of = {.radii = {1}, .to = {4}}}, "there is no atom 4", "from 0 to 3");
  refuse(s.model, {.of = {.radii = {1}}, .weights = {1, 2}}, "2 weights for 1", "one for each");
  refuse(s.model, {.of = {.radii = {1}}, .target = {1, 2}}, "2 targets for 1", "one for each");
}

}  // namespace
}  // namespace costate::md

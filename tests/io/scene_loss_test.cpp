#include "costate/io/scene_loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/core/philox.h"

namespace costate::io {
namespace {

constexpr int kParticles = 40;
constexpr std::int64_t kOffset = 3, kSteps = 10;

ParticleTable table(int dimension) {
  ParticleTable t{.dimension = dimension, .offset = kOffset, .material = {}, .volume = {}};
  for (int i = 0; i < kParticles; ++i) {
    t.material.push_back(i % 3 == 0);
    t.volume.push_back(1e-3 * (1 + i % 5));
  }
  return t;
}

std::vector<double> random_state(int dimension) {
  std::vector<double> x(std::size_t(kOffset + kParticles * dimension));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.2 * normal(3, std::uint32_t(i), 0);
  return x;
}

LossTerm term(LossTerm::Kind kind) {
  LossTerm t;
  t.kind = kind;
  t.name = "test";
  t.weight = 1.7;
  t.steps = {4, kSteps};
  t.material = 0;
  t.region = {.kind = Region::Kind::cylinder, .centre = {0.1, 0.05, -0.05}, .size = {0.12, 0.1, 0}};
  t.width = 0.03;
  t.height = 0.02;
  t.target = {0.3, -0.1, 0.2};
  return t;
}

double value(const SceneLoss<double>& loss, const std::vector<double>& x) {
  double v = 0;
  loss.value({.k = kSteps, .steps = kSteps, .in = {x.data(), nullptr, nullptr}}, &v);
  return v;
}

// The gradient along every coordinate against a six-point difference.
void expect_gradient(const ParticleTable& t, const LossTerm& one) {
  const SceneLoss<double> loss(t, {one});
  const std::vector<double> x = random_state(t.dimension);
  std::vector<double> bar(x.size(), 0.5);
  loss.vjp({.k = kSteps, .steps = kSteps, .in = {x.data(), nullptr, nullptr}},
           {bar.data(), nullptr, nullptr});
  EXPECT_GT(value(loss, x), 0);
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto f = [&](double h) {
      std::vector<double> y = x;
      y[i] += h;
      return value(loss, y);
    };
    const double h = 1e-5;
    const double expected =
        (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h);
    EXPECT_NEAR(bar[i] - 0.5, expected, 1e-8 * (1 + std::abs(expected))) << i;
    largest = std::max(largest, std::abs(expected));
  }
  EXPECT_GT(largest, 1e-5);
}

TEST(SceneLoss, GradientsMatchDifferences) {
  for (int dimension : {2, 3}) {
    SCOPED_TRACE(dimension);
    for (auto region : {Region::Kind::box, Region::Kind::sphere, Region::Kind::cylinder}) {
      for (auto kind : {LossTerm::Kind::in_region, LossTerm::Kind::spilled}) {
        LossTerm t = term(kind);
        t.region.kind = region;
        t.region.size[2] = 0.08;
        expect_gradient(table(dimension), t);
      }
    }
    LossTerm centre = term(LossTerm::Kind::centre_of_mass);
    centre.axes = {true, false, true};
    expect_gradient(table(dimension), centre);
    LossTerm match = term(LossTerm::Kind::match_particles);
    int chosen = 0;
    for (int m : table(dimension).material) chosen += m == 0;
    for (int i = 0; i < chosen * dimension; ++i) match.targets.push_back(0.1 * std::sin(i));
    expect_gradient(table(dimension), match);
    LossTerm height = term(LossTerm::Kind::height_field);
    height.first_column = {-0.2, -0.1};
    height.columns = {5, 4};
    height.column_width = 0.07;
    for (int j = 0; j < (dimension == 2 ? 5 : 20); ++j) height.targets.push_back(0.01 * j);
    expect_gradient(table(dimension), height);
  }
}

TEST(SceneLoss, HeightFieldHoldsTheVolumeAboveIt) {
  // Columns that cover everything: the heights times the area of a column are the volume, wherever the particles are.
  LossTerm t = term(LossTerm::Kind::height_field);
  t.material = -1;
  t.weight = 2;
  t.steps = {kSteps};
  t.first_column = {-2, -2};
  t.columns = {1, 1};
  t.column_width = 1e6;  // one column: all particles at its centre
  t.targets = {0};
  t.first_column = {0, 0};
  const ParticleTable particles = table(3);
  double volume = 0;
  for (double v : particles.volume) volume += v;
  const double height = 0.75 * 0.75 * volume / 1e12;  // the bump's middle in both directions
  EXPECT_NEAR(value(SceneLoss<double>(particles, {t}), random_state(3)) / (height * height), 1, 1e-9);
}

TEST(SceneLoss, OfLiquidInsideItsRegionIsNearlyNothingAndGrowsWithDistance) {
  LossTerm t = term(LossTerm::Kind::in_region);
  t.material = -1;
  t.weight = 1;
  t.steps = {kSteps};
  t.region = {.kind = Region::Kind::sphere, .centre = {0, 0, 0}, .size = {1, 0, 0}};
  const SceneLoss<double> loss(table(3), {t});
  std::vector<double> x(std::size_t(kOffset + 3 * kParticles), 0.0);
  EXPECT_LT(value(loss, x), 1e-12);
  EXPECT_EQ(region_fraction(table(3), t, x.data()), 1);
  for (int i = 0; i < kParticles; ++i) x[std::size_t(kOffset + 3 * i)] = 5;
  EXPECT_NEAR(value(loss, x), 4, 1e-12);
  EXPECT_EQ(region_fraction(table(3), t, x.data()), 0);
}

TEST(SceneLoss, HasTermsAtItsStepsOnly) {
  LossTerm a = term(LossTerm::Kind::in_region), b = a;
  b.steps = {2, 4, 7};
  const SceneLoss<float> loss(table(3), {a, b});
  EXPECT_EQ(loss.next(0, kSteps), 2);
  EXPECT_EQ(loss.next(5, kSteps), 7);
  EXPECT_EQ(loss.next(11, kSteps), kNever);
  EXPECT_EQ(loss.previous(kSteps, kSteps), kSteps);
  EXPECT_EQ(loss.previous(3, kSteps), 2);
  EXPECT_EQ(loss.previous(1, kSteps), -1);
  EXPECT_THROW(loss.check(9, 1), Error);
  EXPECT_THROW(loss.check(10, 2), Error);
}

TEST(SceneLoss, RefusesTargetsThatDoNotFit) {
  LossTerm t = term(LossTerm::Kind::match_particles);
  t.targets = {1, 2, 3};
  EXPECT_THROW(SceneLoss<double>(table(3), {t}), Error);
  t = term(LossTerm::Kind::in_region);
  t.material = 7;
  EXPECT_THROW(SceneLoss<double>(table(3), {t}), Error);
}

}  // namespace
}  // namespace costate::io

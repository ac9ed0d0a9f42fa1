// Losses about points: their gradients, in lanes too, and what they mean.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/study/losses/height_field.h"
#include "costate/study/losses/match.h"
#include "costate/study/losses/region.h"
#include "costate/study/losses/squares.h"
#include "costate/system/program/program_objective.h"
#include "tests/expect_error.h"

namespace costate::study {
namespace {

constexpr int kPoints = 40;
constexpr std::int64_t kOffset = 3, kSteps = 10;
const std::vector<std::int64_t> kTwo = {4, kSteps}, kLast = {kSteps};

// Every point but each third.
Points some_points(int dimension) {
  Points p{.dimension = dimension};
  for (int i = 0; i < kPoints; ++i) {
    if (i % 3 == 0) continue;
    for (int a = 0; a < dimension; ++a) p.elements.push_back(kOffset + i * dimension + a);
    p.volume.push_back(1e-3 * (1 + i % 5));
  }
  return p;
}

std::vector<double> random_state(int dimension) {
  std::vector<double> x(std::size_t(kOffset + kPoints * dimension));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.2 * normal(3, std::uint32_t(i), 0);
  return x;
}

Objective<double>::At at(const double* x, int lanes = 1) {
  return {.k = kSteps, .steps = kSteps, .lanes = lanes, .in = {x, nullptr, nullptr}};
}
double value(const Objective<double>& loss, const std::vector<double>& x) {
  double v = 0;
  loss.value(at(x.data()), &v);
  return v;
}

// The gradient along every coordinate against a six-point difference; and the same in a block of two lanes.
void expect_gradient(const ObjectivePtr<double>& loss, int dimension) {
  const std::vector<double> x = random_state(dimension);
  std::vector<double> bar(x.size(), 0.5);
  loss->vjp(at(x.data()), {bar.data(), nullptr, nullptr});
  EXPECT_GT(value(*loss, x), 0);
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto f = [&](double h) {
      std::vector<double> y = x;
      y[i] += h;
      return value(*loss, y);
    };
    const double h = 1e-5;
    const double expected =
        (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h);
    EXPECT_NEAR(bar[i] - 0.5, expected, 1e-8 * (1 + std::abs(expected))) << i;
    largest = std::max(largest, std::abs(expected));
  }
  EXPECT_GT(largest, 1e-5);
  std::vector<double> pair(2 * x.size()), pair_bar(2 * x.size(), 0.5);
  for (std::size_t i = 0; i < x.size(); ++i) {
    pair[2 * i] = -x[i];
    pair[2 * i + 1] = x[i];
  }
  double values[2] = {0, 0};
  loss->value(at(pair.data(), 2), values);
  loss->vjp(at(pair.data(), 2), {pair_bar.data(), nullptr, nullptr});
  EXPECT_EQ(values[1], value(*loss, x));
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(pair_bar[2 * i + 1], bar[i]);
}

TEST(PointLosses, GradientsMatchDifferences) {
  for (const int dimension : {2, 3}) {
    SCOPED_TRACE(dimension);
    const Points points = some_points(dimension);
    for (const auto kind : {Region::Kind::box, Region::Kind::sphere, Region::Kind::cylinder}) {
      RegionLoss loss{.region = {kind, {0.1, 0.05, -0.05}, {0.12, 0.1, 0.08}}, .width = 0.03, .weight = 1.7};
      expect_gradient(in_region<double>(loss, points, kTwo), dimension);
      for (const std::size_t up : {std::size_t(0), std::size_t(1)}) {
        loss.height = 0.02;
        loss.up = up;
        expect_gradient(in_region<double>(loss, points, kTwo), dimension);
      }
    }
    std::vector<double> targets(points.elements.size());
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = 0.1 * std::sin(double(i));
    expect_gradient(match<double>(points, targets, 1.7, kTwo), dimension);
    HeightField field{.first = {-0.2, -0.1}, .columns = {5, 4}, .width = 0.07, .weight = 1.7};
    for (int j = 0; j < (dimension == 2 ? 5 : 20); ++j) field.heights.push_back(0.01 * j);
    expect_gradient(height_field<double>(field, points, kTwo), dimension);
  }
}

TEST(PointLosses, HeightFieldHoldsTheVolumeAboveIt) {
  // One column so wide that all points are at its middle.
  const Points points = some_points(3);
  const double volume = std::accumulate(points.volume.begin(), points.volume.end(), 0.0);
  const HeightField field{.width = 1e6, .heights = {0}, .weight = 2};
  const double height = 0.75 * 0.75 * volume / 1e12;  // the bump's middle in both directions
  EXPECT_NEAR(value(*height_field<double>(field, points, kLast), random_state(3)) / (height * height), 1,
              1e-9);
}

TEST(PointLosses, OfPointsInsideTheirRegionAreNearlyNothingAndGrowWithDistance) {
  const RegionLoss loss{.region = {Region::Kind::sphere, {0, 0, 0}, {1, 0, 0}}, .width = 0.03};
  const Points points = some_points(3);
  const auto far = in_region<double>(loss, points, kLast),
             share = inside<double>(loss.region, points, kSteps);
  std::vector<double> x(std::size_t(kOffset + 3 * kPoints), 0.0);
  EXPECT_LT(value(*far, x), 1e-12);
  EXPECT_EQ(value(*share, x), 1);
  for (int i = 0; i < kPoints; ++i) x[std::size_t(kOffset + 3 * i)] = 5;
  EXPECT_NEAR(value(*far, x), 4, 1e-12);
  EXPECT_EQ(value(*share, x), 0);
}

TEST(PointLosses, HaveTermsAtTheirStepsOnly) {
  const auto loss = in_region<double>({}, some_points(3), {2, 4, 7});
  EXPECT_EQ(loss->next(0, kSteps), 2);
  EXPECT_EQ(loss->next(5, kSteps), 7);
  EXPECT_EQ(loss->next(8, kSteps), kNever);
  EXPECT_EQ(loss->previous(3, kSteps), 2);
  EXPECT_EQ(loss->previous(1, kSteps), -1);
  costate::test::expect_error([&] { return loss->check(6, 1); }, "outside the rollout of 6 steps");
}

TEST(PointLosses, RefuseWhatDoesNotFit) {
  costate::test::expect_error(
      [&] {
        return match<double>(some_points(3), {1, 2, 3}, 1, kLast);
      },
      "targets for 1 points, not for 26");
  costate::test::expect_error([&] { return in_region<double>({}, {}, kLast); },
                              "a loss about points looks at none");
  Points massless = some_points(3);
  massless.volume.clear();
  costate::test::expect_error([&] { return height_field<double>({.heights = {0}}, massless, kLast); },
                              "needs points that have a volume");
}

TEST(Squares, AreHalfTheSumOfSquares) {
  Signature signature;
  signature.state("q", 3);
  const auto distance = loss::program<double>(
      signature, scaled(squared_distance("q", {1, 2, 3}, {true, false, true}), 4), loss::at_steps(kLast));
  EXPECT_DOUBLE_EQ(value(*distance, {0, 0, 0}), 4 * 0.5 * (1 + 9));
  const auto none = loss::program<double>(signature, squared_distance("q", {1, 2, 3}, {false, false, false}),
                                          loss::at_steps(kLast));
  EXPECT_EQ(value(*none, {5, 5, 5}), 0);
  EXPECT_TRUE(reads(squared_controls("u", {false, true}), "u"));
  EXPECT_FALSE(reads(squared_controls("u", {false, false}), "u"));
}

}  // namespace
}  // namespace costate::study

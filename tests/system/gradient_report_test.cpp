#include "costate/system/gradient_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace costate {
namespace {

constexpr double kEpsilon = 2.220446049250313e-16;

// |lambda_k| = exp(rate (T - k)) at eleven steps.
GradientReport growing(double rate, std::int64_t steps = 1000) {
  GradientReport r;
  r.steps = steps;
  for (std::int64_t k = 0; k <= steps; k += steps / 10) {
    r.sampled_steps.push_back(k);
    r.adjoint_norm.push_back(std::exp(rate * double(steps - k)));
  }
  return r;
}
bool advises(const GradientReport& r, const std::string& words) {
  for (const std::string& line : r.advice) {
    if (line.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST(GradientReport, GrowthIsMeasuredPerStep) {
  GradientReport r = growing(0.01);
  r.conclude(kEpsilon);
  EXPECT_NEAR(r.growth_rate, 0.01, 1e-12);
  EXPECT_NEAR(r.largest_growth, 0.01, 1e-12);
  EXPECT_EQ(r.signal_horizon, 1000);
  EXPECT_TRUE(r.advice.empty()) << r.to_text();
}

TEST(GradientReport, GrowthThroughManyContactsNamesTheOnset) {
  for (const double rate : {0.02, 0.05}) {  // a millionfold; beyond what carries a signal
    GradientReport r = growing(rate);
    r.conclude(kEpsilon);
    EXPECT_FALSE(advises(r, "onset = none")) << r.to_text();
    r = growing(rate);
    for (std::int64_t k = 0; k < 30; ++k) r.mode_switches.push_back(k);
    r.conclude(kEpsilon);
    EXPECT_TRUE(advises(r, "compare onset = none")) << r.to_text();
  }
}

TEST(GradientReport, TheWorstWindowStandsOut) {
  GradientReport r = growing(0.0);
  for (std::size_t i = 0; i <= 4; ++i) r.adjoint_norm[i] = 100;  // all the growth between two samples
  r.conclude(kEpsilon);
  EXPECT_NEAR(r.growth_rate, std::log(100.0) / 1000, 1e-12);
  EXPECT_NEAR(r.largest_growth, std::log(100.0) / 100, 1e-12);
}

// exp(0.05 (1000 - k)) exceeds 1/epsilon 720.9 steps before the end: the first sample beyond is step 200.
TEST(GradientReport, PastOneOverEpsilonThereIsNoSignal) {
  GradientReport r = growing(0.05);
  r.conclude(kEpsilon);
  EXPECT_EQ(r.signal_horizon, 800);
  EXPECT_TRUE(advises(r, "before step 200 carries no signal")) << r.to_text();
  GradientReport single = growing(0.05);
  single.conclude(1.1920929e-7);  // single precision loses it much earlier
  EXPECT_EQ(single.signal_horizon, 400);
}

TEST(GradientReport, LargeGrowthAndDecayAreAdvisedOn) {
  GradientReport large = growing(std::log(1e8) / 1000);
  large.conclude(kEpsilon);
  EXPECT_TRUE(advises(large, "-fold from the end to the start"));
  GradientReport gone = growing(-std::log(1e14) / 1000);
  gone.conclude(kEpsilon);
  EXPECT_TRUE(advises(gone, "has shrunk"));
  GradientReport zero = growing(0);
  for (double& n : zero.adjoint_norm) n = 0;
  zero.conclude(kEpsilon);
  EXPECT_TRUE(advises(zero, "does not depend on the state"));
}

TEST(GradientReport, ARunningLossHasNoCotangentAtTheEnd) {
  GradientReport r = growing(0.05);
  const double last = double(r.sampled_steps[r.sampled_steps.size() - 2]);
  const double growth = std::log(r.adjoint_norm[0] / r.adjoint_norm[r.adjoint_norm.size() - 2]);
  r.adjoint_norm.back() = 0;
  r.conclude(kEpsilon);
  EXPECT_NEAR(r.growth_rate, growth / last, 1e-12);
  EXPECT_TRUE(advises(r, "carries no signal: shorten the rollout, use truncated("));
}

TEST(GradientReport, SolutionsGrowPerUnitOfTime) {
  GradientReport r = growing(0.05);
  r.growth_per_time = std::log(1.5);
  r.conclude(kEpsilon);
  EXPECT_TRUE(advises(r, "the gradient grows 1.5x per unit of time"));
  EXPECT_TRUE(advises(r, "carries no signal: shorten the span"));
  EXPECT_NE(r.to_text().find("1.5x per unit of time\n"), std::string::npos);
}

TEST(GradientReport, WhatWasNoticedIsSaid) {
  GradientReport r = growing(0);
  r.mode_switches = {17, 40};
  r.adjoint_residual = 1e-5;
  r.spot_check = 0.3;
  r.masked_worlds = {4};
  r.conclude(kEpsilon);
  EXPECT_TRUE(advises(r, "2 steps changed their contact or branch pattern (first: step 17)"));
  EXPECT_TRUE(advises(r, "residual 1e-05"));
  EXPECT_TRUE(advises(r, "disagrees by 0.3"));
  EXPECT_TRUE(advises(r, "first: world 4"));
  const std::string text = r.to_text();
  EXPECT_NE(text.find("solver:   adjoint residual 1e-05"), std::string::npos) << text;
  EXPECT_NE(text.find("check:    directional difference agrees to 0.3"), std::string::npos) << text;
}

// Half of the digits are what a solver may leave: more, and the gradient is not called exact.
TEST(GradientReport, WhatWasNotSolvedIsNotExact) {
  const auto label = [](double residual, double epsilon, const char* before = "exact") {
    GradientReport r = growing(0);
    r.label = before;
    r.adjoint_residual = residual;
    r.conclude(epsilon);
    return r.label;
  };
  EXPECT_EQ(label(1e-9, kEpsilon), "exact");
  EXPECT_EQ(label(0.93, kEpsilon), "exact up to a residual of 0.93");
  EXPECT_EQ(label(1e-5, kEpsilon), "exact up to a residual of 1e-05");
  EXPECT_EQ(label(1e-5, std::numeric_limits<float>::epsilon()), "exact");
  EXPECT_EQ(label(0.93, kEpsilon, "grazing"), "grazing");
}

// A gradient that changes with dt is the time grid's only if the loss stays: an unresolved problem changes
// both.
TEST(GradientReport, DiscretisationDominatedMeansThatOnlyTheGradientChanges) {
  GradientReport r;
  EXPECT_FALSE(r.discretisation_dominated());
  r.gradient_by_time_step = 3;
  r.loss_by_time_step = 0.01;
  EXPECT_TRUE(r.discretisation_dominated());
  r.loss_by_time_step = 2;
  EXPECT_FALSE(r.discretisation_dominated());
  r.gradient_by_time_step = 0.04;
  r.loss_by_time_step = 0;
  EXPECT_FALSE(r.discretisation_dominated());
}

}  // namespace
}  // namespace costate

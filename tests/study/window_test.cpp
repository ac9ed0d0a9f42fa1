// The window that is chosen from the growth of an adjoint.
#include "costate/study/window.h"

#include <gtest/gtest.h>

#include <cmath>

namespace costate::study {
namespace {

GradientReport growing(double rate, std::int64_t steps = 1000) {
  GradientReport r;
  r.steps = steps;
  for (std::int64_t k = 0; k <= steps; k += 10) {
    r.sampled_steps.push_back(k);
    r.adjoint_norm.push_back(std::exp(rate * double(steps - k)));
  }
  return r;
}

TEST(Window, IsTheTimeInWhichTheAdjointGrowsThirtyTimes) {
  EXPECT_EQ(signal_window(growing(0)), 1000);
  EXPECT_EQ(signal_window(growing(std::log(29.9) / 1000)), 1000);
  EXPECT_EQ(signal_window(growing(std::log(30.0) / 205)), 200);
  EXPECT_EQ(signal_window(growing(0.5)), 10);  // never less than what was measured
}

TEST(Window, OneJumpDoesNotShortenIt) {
  GradientReport r = growing(0);
  for (std::size_t i = 0; i < 10; ++i) r.adjoint_norm[i] *= 1e3;
  EXPECT_GT(signal_window(r), 500);
}

// A loss over the second half only: no cotangent before the end of it, and none to divide by.
TEST(Window, StepsThatNothingDependsOnDoNotCount) {
  GradientReport r = growing(std::log(30.0) / 205);
  for (std::size_t i = 80; i < r.adjoint_norm.size(); ++i) r.adjoint_norm[i] = 0;
  EXPECT_EQ(signal_window(r), 200);
}

TEST(Window, ALossAtTheEndSeesOneWindow) {
  EXPECT_EQ(blind_steps({1000}, 100, 1000), 900);
  EXPECT_EQ(blind_steps({1000}, 1000, 1000), 0);
  EXPECT_EQ(blind_steps({1000}, 300, 1000), 700);
}

// Windows end at 1000, 700, 400 and 100: each feels what lies before its last loss.
TEST(Window, LossesOnTheWayFeelTheirOwnWindows) {
  EXPECT_EQ(blind_steps({100, 400, 700, 1000}, 300, 1000), 0);
  EXPECT_EQ(blind_steps({50, 350, 650, 950}, 300, 1000), 4 * 50);
  EXPECT_EQ(blind_steps({650, 1000}, 300, 1000), 100 + 300 + 50);
  EXPECT_EQ(blind_steps({0}, 300, 1000), 1000);
}

}  // namespace
}  // namespace costate::study

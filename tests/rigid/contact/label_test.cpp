// Gradients through impacts that are not those of the physics are not called exact: the causes that are known
// (part_watch.h, sweep_watch.h, split_step_body.h). How far off they are is measured by costate_bench_impacts
// toss, and docs/contact.md has the figures.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/rigid/contact/toss.h"

namespace costate::rigid {
namespace {

enum Body { box, capsule, ellipsoid, cylinder, die };
enum Floor { plane, sphere_floor = 3 };

GradientReport report_of(Body body, Floor floor, double seconds, const char* integrator = "Euler",
                         const std::vector<double>& x0 = {}) {
  test::Toss toss(test::kTossed[body], test::kFloors[floor], integrator, seconds);
  if (!x0.empty()) toss.x0 = x0;
  GradientReport report;
  toss.gradients(0.002, report);
  EXPECT_FALSE(report.mode_switches.empty()) << "it does not meet";
  return report;
}
bool says(const GradientReport& report, const std::string& words) {
  return report.to_text().find(words) != std::string::npos;
}

// One corner lets go 0.06 ms before another one lands, within the same part: the gradient is 0.6 off.
TEST(ContactLabel, APartThatPassesACornerOfTheForceBeforeAnImpactIsNotExact) {
  for (const char* integrator : {"Euler", "implicitfast", "RK4"}) {
    const auto wrong = report_of(die, plane, 0.2, integrator);
    EXPECT_EQ(wrong.label, "time grid") << integrator << "\n" << wrong.to_text();
    EXPECT_TRUE(says(wrong, "1 part of a world passes a corner of the force") &&
                says(wrong, "use integrator = adaptive or a smaller dt"))
        << wrong.to_text();
    // Before that impact, the gradient is right within 0.2 %.
    const auto right = report_of(die, plane, 0.16, integrator);
    EXPECT_EQ(right.label, "exact") << integrator << "\n" << right.to_text();
  }
  // Right within 1e-3 (docs/contact.md).
  const auto adaptive = report_of(die, plane, 0.2, "adaptive");
  EXPECT_EQ(adaptive.label, "exact") << adaptive.to_text();
}

// The contact point of a capsule runs past the end of its side: 7.3 off after 0.3 s, with adaptive steps 2.1.
TEST(ContactLabel, ACapsuleThatRollsOverTheEndOfItsSideIsNotExact) {
  for (const char* integrator : {"Euler", "RK4", "adaptive"}) {
    const auto wrong = report_of(capsule, sphere_floor, 0.3, integrator);
    EXPECT_EQ(wrong.label, "time grid") << integrator << "\n" << wrong.to_text();
    EXPECT_TRUE(says(wrong, "straight sides roll on round bodies (\"it\" on \"floor\")")) << wrong.to_text();
  }
  // On its round end alone.
  const auto right = report_of(capsule, sphere_floor, 0.1);
  EXPECT_EQ(right.label, "exact") << right.to_text();
}

// One corner lets go and another one, whose slot it is by now, lands within the same part: 3.8 off.
TEST(ContactLabel, ACornerThatLandsWhereAnotherHasJustLetGoIsNotExact) {
  const auto wrong =
      report_of(die, plane, 0.2, "Euler",
                {0, 0, 0.2, -0.227, -0.579, 0.653, -0.431, 0.129, -0.98, -1.69, -0.631, 1.72, 0.143});
  EXPECT_EQ(wrong.label, "time grid") << wrong.to_text();
  EXPECT_TRUE(says(wrong, "1 contact point of a world comes or goes with another")) << wrong.to_text();
}

// Impacts that are resolved, one after the other: right within 1 % (resolved_test.cpp).
TEST(ContactLabel, CleanTossesStayExact) {
  for (const auto& [body, floor, seconds] : {std::tuple{box, plane, 0.2},
                                             {capsule, plane, 0.3},
                                             {ellipsoid, plane, 0.3},
                                             {cylinder, plane, 0.2}}) {
    const auto right = report_of(body, floor, seconds);
    EXPECT_EQ(right.label, "exact") << test::kTossed[body].name << "\n" << right.to_text();
  }
}

}  // namespace
}  // namespace costate::rigid

// Every shape thrown onto every shape: a gradient that is called exact is that of the physics, and where the
// impact was left to the time grid the report says so, with the names of the geoms.
#include <gtest/gtest.h>

#include "tests/rigid/contact/toss.h"

namespace costate::rigid {
namespace {

TEST(EveryPair, IsCutAtItsImpactOrNotCalledExact) {
  int exact = 0, left = 0;
  for (const test::Thrown& floor : test::kFloors)
    for (const test::Thrown& body : test::kTossed) {
      const std::string both = std::string(body.name) + " on " + floor.name;
      constexpr double seconds = 0.1;  // one impact, and the flight after it
      GradientReport report;
      const test::Slopes got = test::Toss(body, floor, "Euler", seconds).gradients(0.002, report);
      if (report.label == "exact") {
        ++exact;
        EXPECT_FALSE(report.mode_switches.empty()) << both << ": it does not meet";
        const test::Slopes truth = test::Toss(body, floor, "RK4", seconds).differences(0.001, 1e-4);
        EXPECT_LT(test::errors_of(got, truth).most(), 0.03) << both;
      } else {
        ++left;
        EXPECT_EQ(report.label, "time grid") << both << "\n" << report.to_text();
        EXPECT_NE(report.to_text().find("\"it\""), std::string::npos) << both << "\n" << report.to_text();
      }
    }
  EXPECT_EQ(exact, 25);
  RecordProperty("exact", exact);
  RecordProperty("left to the time grid", left);
}

}  // namespace
}  // namespace costate::rigid

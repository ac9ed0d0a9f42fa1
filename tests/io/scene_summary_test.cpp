#include "costate/io/scene_summary.h"

#include <gtest/gtest.h>

namespace costate::io {
namespace {

Motion pour(double degrees, double shift) {
  Motion m;
  for (Path& path : m.position) path.points.assign(6, 0.3);
  m.angle.points = {0, 0, 0, degrees, degrees, degrees};
  for (double& a : m.angle.points) a *= -3.14159265358979 / 180;
  m.position[1].points.assign(6, 0.3 + shift);
  return m;
}

TEST(SceneSummary, SaysWhatChanged) {
  EXPECT_EQ(what_changed(pour(90, 0), pour(78, 0), 2), "tilt 12 degrees less");
  EXPECT_EQ(what_changed(pour(90, 0), pour(90, -0.05), 2), "5.0 cm lower");
  Motion late = pour(90, 0);
  late.angle.points = {0, 0, 0, 0, late.angle.points[3], late.angle.points[3]};
  EXPECT_EQ(what_changed(pour(90, 0), late, 2).find("0."), 0U);
  EXPECT_NE(what_changed(pour(90, 0), late, 2).find("s later"), std::string::npos);
  EXPECT_EQ(what_changed(late, pour(120, 0.01), 2).find("tilt 30 degrees more, 0."), 0U);
  EXPECT_EQ(what_changed(pour(90, 0), pour(90, 0), 2), "leave it as it is");
}

TEST(SceneSummary, KnowsTheHalfTimeOfARamp) {
  Motion m = pour(0, 0);
  m.angle.points = {0, 1.0 / 3, 2.0 / 3, 1};  // a straight line
  EXPECT_NEAR(summarise(m, 2).half_time, 1, 0.006);
  EXPECT_NEAR(summarise(m, 2).largest_angle, 1, 1e-12);
}

}  // namespace
}  // namespace costate::io

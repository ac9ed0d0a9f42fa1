#include "costate/study/motion_summary.h"

#include <gtest/gtest.h>

namespace costate::study {
namespace {

std::vector<Path> pour(double degrees, double shift) {
  std::vector<Path> paths(4);
  for (Path& path : paths) path.points.assign(6, 0.3);
  paths[3].points = {0, 0, 0, degrees, degrees, degrees};
  for (double& a : paths[3].points) a *= -3.14159265358979 / 180;
  paths[1].points.assign(6, 0.3 + shift);
  return paths;
}
std::string changed(const std::vector<Path>& before, const std::vector<Path>& after) {
  return what_changed({}, before, after, 2);
}

TEST(MotionSummary, SaysWhatChanged) {
  EXPECT_EQ(changed(pour(90, 0), pour(78, 0)), "tilt 12 degrees less");
  EXPECT_EQ(changed(pour(90, 0), pour(90, -0.05)), "5.0 cm lower");
  std::vector<Path> late = pour(90, 0);
  late[3].points = {0, 0, 0, 0, late[3].points[3], late[3].points[3]};
  EXPECT_EQ(changed(pour(90, 0), late).find("0."), 0U);
  EXPECT_NE(changed(pour(90, 0), late).find("s later"), std::string::npos);
  EXPECT_EQ(changed(late, pour(120, 0.01)).find("tilt 30 degrees more, 0."), 0U);
  EXPECT_EQ(changed(pour(90, 0), pour(90, 0)), "leave it as it is");
}

TEST(MotionSummary, KnowsTheHalfTimeOfARamp) {
  std::vector<Path> paths = pour(0, 0);
  paths[3].points = {0, 1.0 / 3, 2.0 / 3, 1};  // a straight line
  EXPECT_NEAR(summarise({}, paths, 2).half_time, 1, 0.006);
  EXPECT_NEAR(summarise({}, paths, 2).largest_angle, 1, 1e-12);
}

}  // namespace
}  // namespace costate::study

#include "costate/rigid/parameter_range.h"

#include <gtest/gtest.h>

#include <vector>

namespace costate::rigid {
namespace {

std::string fault(const char* name, std::vector<double> values) { return parameter_fault(name, values); }

TEST(ParameterRange, WhatNothingPhysicalHasIsSaid) {
  EXPECT_EQ(fault("body/pole/mass", {0.5, -1}), "is -1, and must not be negative");
  EXPECT_EQ(fault("body/pole/inertia", {1, 1, -2}), "is -2, and must not be negative");
  EXPECT_EQ(fault("dt", {0}), "is 0, and must be positive");
  EXPECT_EQ(fault("joint/hinge/range", {-1, 1, 2, 1}), "ends before it begins: 2 to 1");
  EXPECT_EQ(fault("actuator/push/control_range", {1, -1}), "ends before it begins: 1 to -1");
}

TEST(ParameterRange, WhatMayBeIsNot) {
  EXPECT_EQ(fault("body/pole/mass", {0}), "");
  EXPECT_EQ(fault("joint/hinge/range", {1, 1}), "");
  EXPECT_EQ(fault("gravity", {0, 0, -9.81}), "");
  EXPECT_EQ(fault("joint/hinge/damping", {-1}), "");  // an unstable joint is a model, too
}

}  // namespace
}  // namespace costate::rigid

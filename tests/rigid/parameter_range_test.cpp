#include "costate/rigid/parameter_range.h"

#include <gtest/gtest.h>

#include "costate/system/ranges.h"

namespace costate::rigid {
namespace {

std::string said(const char* name, std::vector<double> values) {
  Signature s;
  s.parameter(name, std::move(values));
  limit_parameters(s);
  return fault(s, Parameters<double>(s));
}

TEST(ParameterRange, WhatNothingPhysicalHasIsSaid) {
  EXPECT_EQ(said("body/pole/mass", {-1}), "'body/pole/mass' is -1, and must not be negative");
  EXPECT_EQ(said("body/pole/inertia", {1, 1, -2, 0, 0, 0}),
            "'body/pole/inertia[2]' is -2, and must not be negative");
  EXPECT_EQ(said("dt", {0}), "'dt' is 0, and must be positive");
  EXPECT_EQ(said("joint/hinge/range", {2, 1}), "'joint/hinge/range' ends before it begins: 2 to 1");
  EXPECT_EQ(said("actuator/push/control_range", {1, -1}),
            "'actuator/push/control_range' ends before it begins: 1 to -1");
}

TEST(ParameterRange, WhatMayBeIsNot) {
  EXPECT_EQ(said("body/pole/mass", {0}), "");
  EXPECT_EQ(said("body/pole/inertia", {1, 1, 1, -0.1, 0, 0.2}), "");  // products of inertia have any sign
  EXPECT_EQ(said("joint/hinge/range", {1, 1}), "");
  EXPECT_EQ(said("gravity", {0, 0, -9.81}), "");
  EXPECT_EQ(said("joint/hinge/damping", {-1}), "");  // an unstable joint is a model, too
}

}  // namespace
}  // namespace costate::rigid

#include "costate/rigid/dynamics/parameter_map.h"

#include <gtest/gtest.h>

#include "tests/rigid/models.h"

namespace costate::rigid {
namespace {

TEST(ParameterMap, ListsAFieldWhereItActs) {
  Model m = test::zoo(Integrator::euler);
  m.joints[2].limited = true;
  m.joints[3].frictionloss = 0.1;
  Signature s;
  const ParameterMap map = add_parameters(m, s);
  const auto has = [&](const char* name) { return s.find_if(Role::parameter, name) != nullptr; };
  EXPECT_TRUE(has("gravity"));
  EXPECT_TRUE(has("joint/wrist/range"));
  EXPECT_FALSE(has("joint/pitch/range"));
  EXPECT_TRUE(has("joint/rail/frictionloss"));
  EXPECT_FALSE(has("joint/wrist/frictionloss"));
  EXPECT_FALSE(has("body/base/pos"));  // its free joint places it
  EXPECT_TRUE(has("body/arm/pos"));
  EXPECT_FALSE(has("joint/float/axis"));
  EXPECT_EQ(map.size, s.parameters());
  EXPECT_EQ(s.find(Role::parameter, "body/arm/inertia").offset, map.bodies[2].inertia);
  EXPECT_EQ(s.find(Role::parameter, "actuator/thrust/gear").size, 6);
}

TEST(ParameterMap, CallsElementsWithoutANameByTheirNumber) {
  Model m = test::zoo(Integrator::euler);
  m.bodies[2].name.clear();
  Signature s;
  add_parameters(m, s);
  EXPECT_NE(s.find_if(Role::parameter, "body/#2/mass"), nullptr);
}

}  // namespace
}  // namespace costate::rigid

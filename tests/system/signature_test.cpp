#include "costate/system/signature.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/system/parameters.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using costate::test::expect_error;

Signature robot() {
  Signature s;
  s.state("q", 3, "rad").state("v", 3, "rad/s").control("torque", 2, "N m");
  s.parameter("body/torso/mass", 3.5, "kg")
      .parameter("geom/foot/friction", std::vector<double>{1, 0.1})
      .parameter("geom/hand/friction", std::vector<double>{2, 0.2});
  s.parameter_field("cell/stiffness", 4, 10.0).parameter("dt", 0.01, "s");
  return s;
}

TEST(Signature, OffsetsAreThoseOfTheRole) {
  const Signature s = robot();
  EXPECT_EQ(s.states(), 6);
  EXPECT_EQ(s.controls(), 2);
  EXPECT_EQ(s.parameters(), 10);
  EXPECT_EQ(s.find(Role::state, "v").offset, 3);
  EXPECT_EQ(s.describe(Role::state, 4), "v[1]");
  EXPECT_EQ(s.describe(Role::parameter, 0), "body/torso/mass");
}

TEST(Signature, GlobsChooseFields) {
  const Signature s = robot();
  EXPECT_EQ(s.match(Role::parameter, {"geom/*/friction"}),
            (std::vector<bool>{false, true, true, false, false}));
  EXPECT_EQ(s.match(Role::parameter, {"**"}), std::vector<bool>(5, true));
  EXPECT_EQ(s.match(Role::parameter, {"d?"}), (std::vector<bool>{false, false, false, false, true}));
  EXPECT_EQ(s.match(Role::parameter, {}), std::vector<bool>(5, false));
  EXPECT_TRUE(glob_match("a*b*c", "aXbYc"));
  EXPECT_FALSE(glob_match("*", "a/b"));
  EXPECT_TRUE(glob_match("**", "a/b"));
  EXPECT_TRUE(glob_match("**/mass", "body/torso/mass"));
  EXPECT_FALSE(glob_match("", "a"));
  std::string stars(200, '*');
  stars += 'x';
  EXPECT_FALSE(glob_match(stars, std::string(2000, 'a')));
}

TEST(Signature, AStarThatStopsAtASlashIsToldOf) {
  Signature s;
  s.parameter("body/left/hand/mass", 1.0);
  try {
    s.match(Role::parameter, {"body/*/mass"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("body/**/mass"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(s.match(Role::parameter, {"body/**/mass"})[0]);
}

TEST(Signature, MisspeltNamesGetASuggestion) {
  const Signature s = robot();
  try {
    s.find(Role::parameter, "body/torso/mas");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'body/torso/mass'"), std::string::npos) << e.what();
  }
  expect_error([&] { return s.match(Role::parameter, {"geom/*/frictoin"}); },
               "no parameter matches 'geom/*/frictoin'", "did you mean 'geom/foot/friction'");
  expect_error([&] { return robot().state("q"); }, "two state fields are named 'q'");
}

TEST(Parameters, AreSharedOrPerWorld) {
  Parameters<double> p(robot());
  EXPECT_EQ(p["cell/stiffness"].size(), 4u);
  EXPECT_EQ(p["cell/stiffness"][3], 10.0);
  p.set("cell/stiffness", 7.0);
  EXPECT_EQ(p["cell/stiffness"][2], 7.0);
  p.set("geom/foot/friction", {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(p.per_world(1));
  EXPECT_EQ(p.worlds(), 3);
  expect_error(
      [&] {
        return p.set("dt", {1, 2});
      },
      "parameter 'dt' is given for 2 worlds, another one for 3");
  expect_error(
      [&] {
        return p.set("geom/foot/friction", {1, 2, 3});
      },
      "takes 1, 2 or worlds x 2 numbers, not 3");
  EXPECT_EQ(p.zeros()["geom/foot/friction"].size(), 6u);
}

}  // namespace
}  // namespace costate

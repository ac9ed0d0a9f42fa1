#include "costate/rigid/compile/compile.h"

#include <gtest/gtest.h>

#include <numbers>

#include "costate/core/error.h"
#include "tests/expect_error.h"

namespace costate::rigid {
namespace {

Spec arm() {
  Spec spec("arm");
  spec.world.body("upper", {0, 0, 2})
      .hinge("shoulder", {0, 2, 0})
      .capsule("upper_arm", {0, 0, 0}, {0, 0, -0.5}, 0.03)
      .body("lower", {0, 0, -0.5})
      .hinge("elbow", {0, 1, 0})
      .capsule("lower_arm", {0, 0, 0}, {0, 0, -0.5}, 0.03)
      .site("hand", {0, 0, -0.5});
  return spec;
}

std::string message_of(const Spec& spec) {
  try {
    compile(spec);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Compile, NumbersTheTreeDepthFirst) {
  Spec spec = arm();
  spec.world.body("drone", {1, 0, 0}).free("root").sphere("hull", {0, 0, 0}, 0.1);
  spec.body("upper").body("side").ball("wrist").sphere("ball", {0, 0, 0}, 0.1);
  const Model m = compile(spec);
  ASSERT_EQ(m.bodies.size(), 5u);
  EXPECT_EQ(m.bodies[1].name, "upper");
  EXPECT_EQ(m.bodies[2].name, "lower");
  EXPECT_EQ(m.bodies[3].name, "side");
  EXPECT_EQ(m.bodies[3].parent, 1);
  EXPECT_EQ(m.bodies[4].name, "drone");
  EXPECT_EQ(m.nq, 1 + 1 + 4 + 7);
  EXPECT_EQ(m.nv, 1 + 1 + 3 + 6);
  EXPECT_EQ(m.qpos0, (std::vector<double>{0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(m.joints[0].axis, (Double3{0, 1, 0}));  // unit
}

TEST(Compile, InertialCountsUnlessGeomsAreAskedFor) {
  Spec spec = arm();
  spec.body("lower").mass(2, {0, 0, -0.1}, {0.1, 0.2, 0.25, 0.01, 0, 0});
  EXPECT_EQ(compile(spec).bodies[2].mass, 2);
  EXPECT_EQ(compile(spec).bodies[2].inertia, (Double6{0.1, 0.2, 0.25, 0.01, 0, 0}));
  spec.compiler.inertia_from_geom = CompilerSpec::InertiaFromGeom::always;
  EXPECT_NEAR(compile(spec).bodies[2].mass, compile(spec).bodies[1].mass, 1e-15);
}

TEST(Compile, GroupsDecideWhatHasMass) {
  Spec spec = arm();
  spec.body("lower").sphere("shell", {0, 0, 0}, 1);
  spec.geom("shell").group = 3;
  const double arm_alone = compile(arm()).bodies[2].mass, shell = 1000 * 4.0 / 3 * std::numbers::pi;
  EXPECT_NEAR(compile(spec).bodies[2].mass, arm_alone + shell, 1e-15 * shell);
  spec.compiler.inertia_group_range = {0, 2};
  EXPECT_EQ(compile(spec).bodies[2].mass, arm_alone);
  spec.compiler.inertia_group_range = {3, 3};
  test::expect_error([&] { return compile(spec); }, "body 'upper': it moves, but has no mass", "boundmass");
}

TEST(Compile, TotalMassScalesInertiaToo) {
  Spec spec = arm();
  const Model before = compile(spec);
  spec.compiler.set_total_mass = 10;
  const Model after = compile(spec);
  EXPECT_NEAR(after.bodies[1].mass + after.bodies[2].mass, 10, 1e-14);
  EXPECT_NEAR(after.bodies[1].inertia[0] / before.bodies[1].inertia[0],
              after.bodies[1].mass / before.bodies[1].mass, 1e-13);
}

TEST(Compile, BoundsAndBalanceMakePoorInertiasAdmissible) {
  Spec spec = arm();
  spec.body("lower").mass(1, {0, 0, 0}, Sym3<double>::diagonal(1, 1, 4));
  EXPECT_NE(message_of(spec).find("body 'lower': no body can have this inertia"), std::string::npos);
  spec.compiler.balance_inertia = true;
  EXPECT_NEAR(compile(spec).bodies[2].inertia[0], 2, 1e-14);
  spec.compiler.bound_inertia = 3;
  spec.compiler.bound_mass = 7;
  EXPECT_EQ(compile(spec).bodies[2].mass, 7);
  EXPECT_NEAR(compile(spec).bodies[2].inertia[0], 3, 1e-14);
}

TEST(Compile, AMovingBodyNeedsMassItsOwnOrFixedToIt) {
  Spec spec;
  BodySpec& frame = spec.world.body("frame").hinge("turn", {0, 0, 1});
  EXPECT_NE(message_of(spec).find("body 'frame': it moves, but has no mass"), std::string::npos);
  frame.body("load").sphere("ball", {1, 0, 0}, 0.1);
  EXPECT_EQ(message_of(spec), "no error");
}

TEST(Compile, LimitsFollowFromRanges) {
  Spec spec = arm();
  spec.joint("elbow").range = {-1, 2};
  EXPECT_TRUE(compile(spec).joints[1].limited);
  EXPECT_FALSE(compile(spec).joints[0].limited);
  spec.joint("elbow").limited = false;
  EXPECT_FALSE(compile(spec).joints[1].limited);
  spec.joint("elbow").limited.reset();
  spec.compiler.autolimits = false;
  EXPECT_NE(message_of(spec).find("does not say whether it is limited"), std::string::npos);
  spec.joint("elbow").limited = true;
  spec.joint("elbow").range = {2, -1};
  EXPECT_NE(message_of(spec).find("joint 'elbow': its range is empty"), std::string::npos);
}

TEST(Compile, FromtoPutsTheGeomBetweenItsEnds) {
  const Model m = compile(arm());
  const Geom& g = m.geoms[0];
  EXPECT_NEAR(g.size[1], 0.25, 1e-15);
  EXPECT_NEAR(g.pos[2], -0.25, 1e-15);
  EXPECT_NEAR(m.bodies[1].com[2], -0.25, 1e-15);
}

TEST(Compile, EqualitiesMeasureTheReferenceConfiguration) {
  Spec spec = arm();
  spec.add(EqualitySpec{.type = EqualityType::connect, .first = "lower", .anchor = {0, 0, -0.5}});
  spec.add(
      EqualitySpec{.type = EqualityType::weld, .first = "upper", .second = "lower", .anchor = {0.1, 0, 0}});
  spec.add(EqualitySpec{
      .type = EqualityType::joint, .first = "elbow", .second = "shoulder", .polycoef = {0, -1, 0, 0, 0}});
  const Model m = compile(spec);
  EXPECT_EQ(m.equalities[0].second, 0);
  EXPECT_NEAR(m.equalities[0].other_anchor[2], 1, 1e-15);  // in the world: 2 - 0.5 - 0.5
  EXPECT_NEAR(m.equalities[1].other_anchor[0], 0.1, 1e-15);
  EXPECT_NEAR(m.equalities[1].other_anchor[2], -0.5, 1e-15);
  EXPECT_EQ(m.equalities[2].first, 1);
}

TEST(Compile, ActuatorsInheritRanges) {
  Spec spec = arm();
  spec.joint("elbow").range = {-1, 3};
  spec.add(ActuatorSpec::position("servo", "elbow", 20, 1));
  spec.actuators[0].inherit_range = 0.5;
  const Model m = compile(spec);
  EXPECT_TRUE(m.actuators[0].control_limited);
  EXPECT_EQ(m.actuators[0].control_range, (Double2{0, 2}));
  EXPECT_EQ(m.actuators[0].gainprm, (Double3{20, 0, 0}));
  EXPECT_EQ(m.actuators[0].biasprm, (Double3{0, -20, -1}));
}

TEST(Compile, SensorsFollowOneAnother) {
  Spec spec = arm();
  spec.add(SensorSpec{.type = SensorType::framepos, .object_type = ObjectType::site, .object = "hand"});
  spec.add(SensorSpec{.type = SensorType::jointvel, .object_type = ObjectType::joint, .object = "elbow"});
  const Model m = compile(spec);
  EXPECT_EQ(m.sensors[0].size, 3);
  EXPECT_EQ(m.sensors[1].address, 3);
}

TEST(Compile, KeyframesHaveTheModelsSizes) {
  Spec spec = arm();
  spec.add(KeyframeSpec{.name = "bent", .qpos = {0.1, 0.2}});
  EXPECT_EQ(compile(spec).keyframes[0].qvel.size(), 2u);
  spec.keyframes[0].qpos = {1};
  EXPECT_NE(message_of(spec).find("key 'bent': qpos has 1 numbers, but the model has 2"), std::string::npos);
}

TEST(Compile, MistakesNameTheElement) {
  const auto broken = [](auto change) {
    Spec spec = arm();
    change(spec);
    return message_of(spec);
  };
  EXPECT_EQ(broken([](Spec& s) { s.add(ActuatorSpec::motor("m", "elbo")); }),
            "actuator 'm': there is no joint 'elbo'\n  did you mean 'elbow'?");
  EXPECT_EQ(broken([](Spec& s) {
              s.joint("elbow").axis = {0, 0, 0};
            }),
            "joint 'elbow': its axis has no length");
  EXPECT_EQ(broken([](Spec& s) { s.joint("elbow").damping = -1; }),
            "joint 'elbow': damping must not be negative");
  EXPECT_EQ(broken([](Spec& s) { s.body("lower").free("root"); }),
            "joint 'root': a free joint may only be in a body of the world");
  EXPECT_EQ(broken([](Spec& s) { s.geom("lower_arm").condim = 2; }),
            "geom 'lower_arm': condim must be 1, 3, 4 or 6");
  EXPECT_EQ(broken([](Spec& s) { s.body("lower").name = "upper"; }),
            "there are two elements of kind body named 'upper'\n  names must differ");
  EXPECT_EQ(broken([](Spec& s) {
              s.body("lower").where = "arm.xml:7";
              s.body("lower").quat = {0, 0, 0, 0};
            }),
            "arm.xml:7: body 'lower': its quaternion is zero or not finite");
  EXPECT_EQ(broken([](Spec& s) {
              s.add(TendonSpec{.name = "t", .path = {{.kind = TendonPoint::Kind::site, .object = "hand"}}});
            }),
            "tendon 't': a fixed tendon goes over joints, a spatial one over sites, geoms and pulleys");
  EXPECT_EQ(broken([](Spec& s) { s.options.timestep = 0; }), "option: the time step must be positive");
}

}  // namespace
}  // namespace costate::rigid

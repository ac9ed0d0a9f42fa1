#include "costate/io/model/mjcf.h"

#include <gtest/gtest.h>

#include <map>
#include <numbers>

#include "costate/core/error.h"
#include "costate/io/model/load_model.h"
#include "tests/expect_error.h"

namespace costate::io {
namespace {

using costate::test::expect_error;
using rigid::Spec;

const std::string kBall = "<geom size='1'/>";

std::string in_world(const std::string& content) {
  return "<mujoco><worldbody>" + content + "</worldbody></mujoco>";
}

// Files in memory.
FileReader files(std::map<std::string, std::string> content) {
  return [content = std::move(content)](const std::string& path) {
    const auto found = content.find(path);
    if (found == content.end()) throw Error({"cannot read the file '" + path + "'", path, {}});
    return found->second;
  };
}

TEST(Mjcf, AnglesAreDegreesUnlessTheFileSaysRadians) {
  const std::string joint =
      "<worldbody><body><joint range='-90 90' ref='45'/><geom size='1' euler='90 0 0'/></body></worldbody>";
  const Spec degrees = parse_mjcf("<mujoco>" + joint + "</mujoco>");
  EXPECT_DOUBLE_EQ(degrees.world.children.front().joints[0].range[1], std::numbers::pi / 2);
  EXPECT_DOUBLE_EQ(degrees.world.children.front().joints[0].ref, std::numbers::pi / 4);
  const Spec radians = parse_mjcf("<mujoco>" + joint + "<compiler angle='radian'/></mujoco>");
  EXPECT_DOUBLE_EQ(radians.world.children.front().joints[0].range[1], 90);
  // Slides are lengths.
  const Spec slide = parse_mjcf(in_world("<body><joint type='slide' range='-90 90'/>" + kBall + "</body>"));
  EXPECT_DOUBLE_EQ(slide.world.children.front().joints[0].range[1], 90);
}

TEST(Mjcf, ClassesInheritAndChildClassesReachDown) {
  const Spec spec = parse_mjcf(
      "<mujoco><default><joint damping='1' stiffness='5'/><default class='a'><joint damping='2'/>"
      "<default class='b'><joint armature='3'/></default></default></default>"
      "<worldbody><body childclass='a'><joint name='one'/><geom size='1'/>"
      "<body><joint name='two' class='b'/><joint name='three' class='main'/><joint name='four' damping='7'/>"
      "<geom size='1'/></body></body></worldbody></mujoco>");
  Spec s = spec;
  EXPECT_EQ(s.joint("one").damping, 2);
  EXPECT_EQ(s.joint("one").stiffness, 5);
  EXPECT_EQ(s.joint("two").armature, 3);
  EXPECT_EQ(s.joint("two").damping, 2);
  EXPECT_EQ(s.joint("three").damping, 1);
  EXPECT_EQ(s.joint("four").damping, 7);
  EXPECT_EQ(s.joint("four").armature, 0);
}

TEST(Mjcf, AShorterArrayKeepsTheRestOfItsDefault) {
  Spec spec = parse_mjcf(
      "<mujoco><default><geom friction='0.5 0.2 0.1' quat='0 1 0 0'/></default><worldbody>"
      "<geom name='g' size='1' friction='0.9'/><geom name='h' size='1' euler='0 0 0'/></worldbody></mujoco>");
  EXPECT_EQ(spec.geom("g").friction, (rigid::Double3{0.9, 0.2, 0.1}));
  EXPECT_EQ(spec.geom("g").quat.x, 1);
  EXPECT_EQ(spec.geom("h").quat.w, 1);  // its own orientation replaces the default's, however it is written
}

TEST(Mjcf, IncludesAreRelativeToTheMainFileAndMistakesNameTheirOwn) {
  const FileReader reader =
      files({{"robots/leg.xml", "<mujoco>\n<worldbody><body name='leg'/></worldbody></mujoco>"},
             {"robots/bad.xml", "<mujoco>\n<worldbody>\n<bdy/></worldbody></mujoco>"}});
  Spec spec = parse_mjcf("<mujoco><include file='leg.xml'/></mujoco>", "robots/main.xml", reader);
  EXPECT_EQ(spec.body("leg").where, "robots/leg.xml:2");
  try {
    parse_mjcf("<mujoco><include file='bad.xml'/></mujoco>", "robots/main.xml", reader);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "robots/bad.xml:3: there is no element <bdy> in <worldbody>\n  did you mean 'body'?");
  }
  expect_error(
      [&] { return parse_mjcf("<mujoco><include file='gone.xml'/></mujoco>", "robots/main.xml", reader); },
      "gone.xml");
}

TEST(Mjcf, MeshesLieInMeshdirAndAreNamedAfterTheirFile) {
  const std::string obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
  const FileReader reader = files({{"r/parts/foot.obj", obj}});
  const auto mass = [&](const std::string& compiler, const std::string& file) {
    const Spec spec =
        parse_mjcf("<mujoco><compiler " + compiler + "/><asset><mesh file='" + file +
                       "' scale='2 1 1'/></asset><worldbody><body><joint/><geom type='mesh' mesh='foot'/>"
                       "</body></worldbody></mujoco>",
                   "r/main.xml", reader);
    return rigid::compile(spec).bodies[1].mass;
  };
  EXPECT_NEAR(mass("meshdir='parts'", "foot.obj"), 1000.0 / 3, 1e-9);
  EXPECT_NEAR(mass("assetdir='parts/'", "foot.obj"), 1000.0 / 3, 1e-9);
  EXPECT_NEAR(mass("", "parts/foot.obj"), 1000.0 / 3, 1e-9);
  EXPECT_NEAR(mass("meshdir='parts' strippath='true'", "/home/somebody/foot.obj"), 1000.0 / 3, 1e-9);
}

TEST(Mjcf, WhatHasNoPhysicsIsReadOver) {
  const Spec spec = parse_mjcf(
      "<mujoco><visual><global fovy='3'/></visual><statistic extent='1'/><custom><numeric name='n' "
      "data='1'/></custom>"
      "<asset><texture name='t' builtin='flat'/><material name='m' texture='t'/></asset>"
      "<worldbody><light/><camera/><geom size='1' material='m' rgba='1 0 0 1'/></worldbody></mujoco>");
  EXPECT_TRUE(spec.warnings.empty());
  EXPECT_EQ(spec.world.geoms.size(), 1u);
}

TEST(Mjcf, WhatIsDoneOtherwiseIsAWarningWithItsLine) {
  const Spec spec =
      parse_mjcf("<mujoco>\n<option solver='PGS'/>\n<compiler fusestatic='true'/></mujoco>", "m.xml");
  ASSERT_EQ(spec.warnings.size(), 2u);
  EXPECT_TRUE(spec.warnings[0].starts_with("m.xml:3: fusestatic"));
  EXPECT_TRUE(spec.warnings[1].starts_with("m.xml:2: solver PGS"));
}

// Nothing moves by what a sensor says.
TEST(Mjcf, SensorsThatAreNotMeasuredAreLeftOutWithAWarning) {
  const Spec spec = parse_mjcf(
      "<mujoco><worldbody><geom name='a' size='1'/><geom name='b' size='1'/></worldbody>\n"
      "<sensor><distance geom1='a' geom2='b'/><clock/></sensor></mujoco>",
      "m.xml");
  ASSERT_EQ(spec.warnings.size(), 1u);
  EXPECT_TRUE(spec.warnings[0].starts_with("m.xml:2: the sensor <distance> is left out")) << spec.warnings[0];
  EXPECT_EQ(spec.sensors.size(), 1u);
}

// Hands come with a <muscle> in a default class of which they use the rest.
TEST(Mjcf, AnActuatorInADefaultClassCountsOnlyWhereAnotherTakesItsGains) {
  const auto with = [](const std::string& kind, const std::string& actuator) {
    return parse_mjcf(
        "<mujoco><default><default class='a'><" + kind +
        " ctrlrange='0 2' ctrllimited='true'/></default>"
        "</default><worldbody><body><joint name='j' type='hinge'/><geom size='1'/></body></worldbody>"
        "<actuator>" +
        actuator + "</actuator></mujoco>");
  };
  for (const std::string kind : {"muscle scale='300'", "adhesion gain='3'"}) {
    const Spec spec = with(kind, "<motor class='a' joint='j' gear='3'/>");
    ASSERT_EQ(spec.actuators.size(), 1u);
    EXPECT_EQ(spec.actuators[0].ctrl_range[1], 2);
    EXPECT_EQ(spec.actuators[0].gainprm[0], 1);
    EXPECT_EQ(spec.actuators[0].gain, rigid::GainType::fixed);
  }
  const Spec taken = with("muscle scale='300'", "<general class='a' joint='j'/>");
  EXPECT_EQ(taken.actuators[0].gain, rigid::GainType::muscle);
  EXPECT_EQ(taken.actuators[0].gain_muscle.scale, 300);
  expect_error([&] { return with("adhesion gain='3'", "<general class='a' joint='j'/>"); },
               "gains from a <adhesion> default", "a class without one");
  expect_error([&] { return with("adhesion gain='3'", "<adhesion body='b'/>"); }, "adhesion");
}

TEST(Mjcf, SizesOfTheInputAreBounded) {
  std::string deep, close;
  for (int i = 0; i < 2000; ++i) deep += "<body>", close += "</body>";
  expect_error([&] { return parse_mjcf(in_world(deep + close)); }, "nested too deeply");
  expect_error(
      [&] {
        return parse_mjcf(in_world("<replicate count='9999'><replicate count='9999'>" + kBall +
                                   "</replicate></replicate>"));
      },
      "makes too many elements");
  expect_error([&] { return parse_mjcf(std::string("<mujoco/>\0<x>", 13)); },
               "the file is not text: it has a zero byte");
  expect_error(
      [&] {
        return parse_mjcf(
            "<mujoco><asset><hfield name='h' nrow='10000' ncol='10000' size='1 1 1 1'/></asset></mujoco>");
      },
      "has too many cells");
}

TEST(Mjcf, ALoadedSpecCanBeChangedBeforeItIsCompiled) {
  const std::string file = std::string(COSTATE_SOURCE) + "/scenes/pendulum.xml";
  // [change]
  rigid::Spec spec = rigid::load_spec(file);
  spec.geom("bob").mass = 2;
  spec.joint("hinge").damping = 0;
  const rigid::Model heavier = rigid::compile(spec);
  // [/change]
  EXPECT_NEAR(heavier.bodies[1].mass, 2.2, 1e-14);
  EXPECT_EQ(heavier.joints[0].damping, 0);
  EXPECT_NEAR(rigid::load(file).bodies[1].mass, 1.2, 1e-14);
}

}  // namespace
}  // namespace costate::io

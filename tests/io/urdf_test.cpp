#include "costate/io/model/urdf.h"

#include <gtest/gtest.h>

#include <map>

#include "costate/core/error.h"
#include "costate/io/model/load_model.h"
#include "tests/expect_error.h"

namespace costate::io {
namespace {

using costate::test::expect_error;
using rigid::Model;
using rigid::Spec;

const std::string kInertial = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>";

std::string message(const std::string& text) {
  try {
    rigid::compile(parse_urdf(text, "r.urdf", [](const std::string& path) -> std::string {
      throw Error({"cannot read the file '" + path + "'", path, {}});
    }));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Urdf, LinksAndJointsBecomeATree) {
  const Model m = rigid::load(std::string(COSTATE_SOURCE) + "/tests/io/models/arm.urdf");
  ASSERT_EQ(m.bodies.size(), 7u);
  EXPECT_EQ(m.bodies[1].name, "base");
  EXPECT_EQ(m.bodies[1].mass, 0);
  EXPECT_EQ(m.bodies[2].name, "shoulder");
  EXPECT_EQ(m.nv, 4);
  EXPECT_EQ(m.joints[0].range, (rigid::Double2{-2, 1.5}));
  EXPECT_TRUE(m.joints[0].limited);
  EXPECT_EQ(m.joints[0].damping, 0.7);
  EXPECT_EQ(m.joints[0].frictionloss, 0.2);
  EXPECT_EQ(m.joints[0].actuator_force_range, (rigid::Double2{-40, 40}));
  EXPECT_FALSE(m.joints[1].limited);
  EXPECT_EQ(m.joints[2].type, rigid::JointType::slide);
  EXPECT_EQ(m.joints[2].axis, (rigid::Double3{1, 0, 0}));  // URDF's default
  ASSERT_EQ(m.equalities.size(), 1u);
  EXPECT_EQ(m.equalities[0].polycoef, (rigid::Double5{0.1, -2, 0, 0, 0}));
  EXPECT_EQ(m.geoms[1].size, (rigid::Double3{0.025, 0.03, 0.15}));
}

TEST(Urdf, MassesComeFromInertialsOnly) {
  Spec spec = rigid::load_spec(std::string(COSTATE_SOURCE) + "/tests/io/models/arm.urdf");
  EXPECT_EQ(rigid::compile(spec).bodies[2].mass, 2.5);
  const std::string shape = "<collision><geometry><sphere radius='1'/></geometry></collision>";
  EXPECT_EQ(
      message("<robot name='r'><link name='a'/><link name='b'>\n" + shape +
              "</link><joint name='j' type='continuous'><parent link='a'/><child link='b'/></joint></robot>"),
      "r.urdf:1: body 'b': it moves, but has no mass or no inertia\n"
      "  give it a geom with a volume or an inertial element, or set boundmass and boundinertia");
}

TEST(Urdf, ARootLinkNamedWorldIsTheWorldAndFloatingIsFree) {
  const Spec spec =
      parse_urdf("<robot name='r'><link name='world'/><link name='drone'>" + kInertial +
                 "</link><joint name='root' type='floating'><parent link='world'/><child link='drone'/>"
                 "</joint></robot>");
  const Model m = rigid::compile(spec);
  EXPECT_EQ(m.bodies.size(), 2u);
  EXPECT_EQ(m.nv, 6);
}

TEST(Urdf, AFixedRobotCanBeMadeToFly) {
  Spec spec = rigid::load_spec(std::string(COSTATE_SOURCE) + "/tests/io/models/arm.urdf");
  spec.body("base").free("root").mass(1, {0, 0, 0}, Sym3<double>::identity());
  EXPECT_EQ(rigid::compile(spec).nv, 10);
}

TEST(Urdf, MeshesOfAPackageLieBesideOrAbove) {
  const std::string obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
  const FileReader files = [&](const std::string& path) {
    if (path == "urdf/../meshes/hand.obj") return obj;
    throw Error({"cannot read the file '" + path + "'", path, {}});
  };
  const auto robot = [](const std::string& kind, const std::string& file) {
    return "<robot name='r'><link name='a'><" + kind + "><geometry><mesh filename='" + file +
           "' scale='2 2 2'/></geometry></" + kind + "></link></robot>";
  };
  const Spec spec = parse_urdf(robot("collision", "package://robot/meshes/hand.obj"), "urdf/r.urdf", files);
  ASSERT_EQ(spec.meshes.size(), 1u);
  EXPECT_EQ(spec.meshes[0].vertices[1].x, 2);
  EXPECT_EQ(rigid::compile(spec).geoms.size(), 1u);
  // One that is only seen may be missing, one that collides may not.
  const Spec unseen = parse_urdf(robot("visual", "package://robot/meshes/gone.dae"), "urdf/r.urdf", files);
  EXPECT_TRUE(unseen.meshes.empty());
  EXPECT_EQ(unseen.warnings.size(), 1u);
  expect_error(
      [&] { return parse_urdf(robot("collision", "package://robot/meshes/gone.stl"), "urdf/r.urdf", files); },
      "gone.stl");
}

TEST(Urdf, MistakesNameFileAndLine) {
  const auto robot = [](const std::string& content) { return "<robot name='r'>\n" + content + "\n</robot>"; };
  EXPECT_EQ(message(robot("<link name='a'/>\n<link name='a'/>")), "r.urdf:3: there are two links named 'a'");
  EXPECT_EQ(message(robot("<link name='a'/>\n<link name='b'/>")),
            "r.urdf:3: links 'a' and 'b' are both without a parent\n  a robot has one root link");
  EXPECT_EQ(message(robot("<link name='arm'/>\n<joint name='j' type='fixed'><parent link='arm'/><child "
                          "link='arn'/></joint>")),
            "r.urdf:3: joint 'j': there is no link 'arn'\n  did you mean 'arm'?");
  EXPECT_EQ(message(robot("<link name='a'/><link name='b'/>\n<joint name='j' type='fixed'><parent "
                          "link='a'/><child link='b'/></joint>"
                          "<joint name='k' type='fixed'><parent link='b'/><child link='a'/></joint>")),
            "r.urdf: every link is the child of a joint\n  a robot has one root link");
  EXPECT_EQ(message(robot("<link name='a'/><link name='b'/>\n<joint name='j' type='planar'><parent "
                          "link='a'/><child link='b'/></joint>")),
            "r.urdf:3: joint 'j': the type 'planar' is not supported\n  there is revolute, continuous, "
            "prismatic, fixed, floating");
  EXPECT_EQ(message(robot("<link name='a'/><link name='b'/>\n<joint name='j' type='revolute'><parent "
                          "link='a'/><child link='b'/></joint>")),
            "r.urdf:3: joint 'j' needs a <limit>\n  a joint without limits is of type continuous");
  EXPECT_EQ(message(robot("<link name='a'>\n<inertial><mass value='1'/></inertial></link>")),
            "r.urdf:3: <inertial> needs a <mass> and an <inertia>");
  EXPECT_EQ(message(robot("<link name='a'>\n<inertia/></link>")),
            "r.urdf:3: there is no element <inertia> in <link>\n  did you mean 'inertial'?");
  EXPECT_EQ(message(robot("<link name='a'><visual>\n<geometry><cone/></geometry></visual></link>")),
            "r.urdf:3: there is no shape <cone>\n  there is box, sphere, cylinder, capsule, mesh");
  EXPECT_EQ(message("<mujoco/>"),
            "r.urdf:1: the root element is <mujoco>, not <robot>\n  this is not a URDF file");
}

}  // namespace
}  // namespace costate::io

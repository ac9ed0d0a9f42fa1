#include "costate/io/rigid_picture.h"

#include <gtest/gtest.h>

#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/observer.h"
#include "costate/rigid/rigid_system.h"

namespace costate::io {
namespace {

rigid::Model every_shape() {
  return rigid::compile(parse_mjcf(R"(<mujoco>
  <option><flag contact="disable"/></option>
  <asset>
    <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
    <hfield name="hill" nrow="2" ncol="3" size="3 2 1 0.1" elevation="0 1 0  0 0.5 0"/>
  </asset>
  <worldbody>
    <geom type="plane" size="0 0 1" pos="0 0 -0.5"/>
    <geom name="wall" type="plane" size="1 2 1" euler="0 90 0"/>
    <geom name="hill" type="hfield" hfield="hill"/>
    <body pos="1 2 3" euler="0 0 90"><freejoint/>
      <geom name="ball" size="0.1"/>
      <geom name="pill" type="capsule" size="0.1 0.2" pos="1 0 0" rgba="1 0 0 0.5"/>
      <geom name="can" type="cylinder" size="0.1 0.3"/>
      <geom name="brick" type="box" size="0.1 0.2 0.3"/>
      <geom name="egg" type="ellipsoid" size="0.1 0.2 0.4"/>
      <geom name="wedge" type="mesh" mesh="wedge"/>
      <geom name="hidden" size="0.5" group="3"/>
    </body>
  </worldbody>
</mujoco>)",
                                   "shapes.xml"));
}

TEST(RigidPicture, ShowsEveryShapeWhereItIs) {
  const rigid::Model model = every_shape();
  const rigid::Observer observer(model, rigid::make_system<double>(model)->signature(), {});
  RigidPicture picture(model);
  for (int frame = 0; frame < 2; ++frame) {
    std::vector<double> x = rigid::initial_state(model);
    x[0] += frame;
    picture.add_frame(observer.body_poses(x));
  }
  picture.add_mark({1, 2, 3});
  const Recording r = picture.finish();
  check_recording(r, "shapes");
  EXPECT_EQ(r.frames, 2);
  EXPECT_FLOAT_EQ(r.ground, -0.5F);  // the level plane is the floor
  std::vector<std::string> names;
  for (const Body& b : r.bodies) names.push_back(b.name);
  EXPECT_EQ(names, (std::vector<std::string>{"wall", "hill", "ball", "pill", "can", "brick", "egg", "wedge",
                                             "target"}));
  const std::vector<Shape::Kind> kinds = {Shape::Kind::plane,     Shape::Kind::mesh,     Shape::Kind::sphere,
                                          Shape::Kind::capsule,   Shape::Kind::cylinder, Shape::Kind::box,
                                          Shape::Kind::ellipsoid, Shape::Kind::mesh,     Shape::Kind::sphere};
  for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(r.bodies[i].shape.kind, kinds[i]) << names[i];
  EXPECT_EQ(r.bodies[1].shape.triangles.size(), 12U);
  // One metre along the body's x, which points along the world's y.
  const Body& pill = r.bodies[3];
  EXPECT_NEAR(pill.poses[0][0], 1, 1e-6);
  EXPECT_NEAR(pill.poses[0][1], 3, 1e-6);
  EXPECT_NEAR(pill.poses[1][0], 2, 1e-6);
  EXPECT_EQ(pill.color, 0xff0000U);
  EXPECT_FLOAT_EQ(pill.opacity, 0.5F);
}

TEST(RigidPicture, TheFloorLiesUnderWhatMoves) {
  const rigid::Model model =
      rigid::compile(parse_mjcf("<mujoco><worldbody><body><freejoint/><geom type='capsule' size='0.1 "
                                "0.4'/></body></worldbody></mujoco>",
                                "pill.xml"));
  const rigid::Observer observer(model, rigid::make_system<double>(model)->signature(), {});
  RigidPicture picture(model);
  std::vector<double> x = rigid::initial_state(model);
  picture.add_frame(observer.body_poses(x));
  x[2] = 1;
  picture.add_frame(observer.body_poses(x));
  const float ground = picture.finish().ground;
  EXPECT_LT(ground, -0.5F);
  EXPECT_GT(ground, -0.6F);
}

}  // namespace
}  // namespace costate::io

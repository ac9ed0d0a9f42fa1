// A ball on a slide over a heightfield, as a rigid body: it comes to rest on the ground under it, and the
// height where it rests moves with the ball's size and with the field.
#include <gtest/gtest.h>

#include "costate/rigid/rigid_system.h"
#include "costate/system/rollout.h"

namespace costate::rigid {
namespace {

Model ball_over_ground() {
  Model m;
  m.options.timestep = 0.002;
  m.heightfields.push_back({.name = "ground",
                            .rows = 6,
                            .columns = 7,
                            .size = {1, 1, 0.4, 0.1},
                            .data = std::vector<double>(42, 0.5)});
  m.bodies.resize(2);
  m.bodies[1].name = "ball";
  m.bodies[1].parent = 0;
  m.bodies[1].mass = 1;
  m.bodies[1].inertia = {0.01, 0.01, 0.01, 0, 0, 0};
  Joint j;
  j.type = JointType::slide;
  j.body = 1;
  j.axis = {0, 0, 1};
  m.joints.push_back(j);
  Geom ground, ball;
  ground.name = "ground";
  ground.type = GeomType::heightfield;
  ground.heightfield = 0;
  ball.name = "ball";
  ball.type = GeomType::sphere;
  ball.body = 1;
  ball.size = {0.1, 0, 0};
  ball.pos = {0.03, 0.05, 0};
  m.geoms = {ground, ball};
  complete(m);
  return m;
}

TEST(Terrain, ABallRestsOnIt) {
  const auto system = make_system<double>(ball_over_ground(), {});
  const std::int64_t steps = 1000;
  Rollout<double> rollout(system, {.steps = steps, .hold = steps});
  auto at = rollout.arguments();
  at.x0 = {0.35, 0};
  const auto objective = loss::cotangents<double>(system->signature(), {steps}, {{1, 0}});
  const auto g = rollout.value_and_gradient(at, *objective);
  const double ground = 0.2, radius = 0.1;
  EXPECT_NEAR(rollout.simulate(at).final_state[0], ground + radius, 0.002);
  auto parameters = g.parameters;
  EXPECT_NEAR(parameters["geom/ball/size"][0], 1, 1e-6);
  EXPECT_NEAR(parameters["geom/ground/pos"][2], 1, 1e-6);
  EXPECT_NEAR(g.x0[0], 0, 1e-6);
}

}  // namespace
}  // namespace costate::rigid

// Jelly that meets a model, away from every wall.
#pragma once

#include "costate/coupled/articulated.h"
#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "tests/mpm/models.h"

namespace costate::coupled::test {

inline rigid::Model compiled(const std::string& mjcf) { return rigid::compile(io::parse_mjcf(mjcf)); }

// A block of jelly that flies along x.
inline mpm::Model jelly(int dimension, const mpm::Vector& gravity = {0, 0, 0}) {
  mpm::Model m;
  m.dimension = dimension;
  m.nodes = {18, 18, 18};
  m.dx = 0.1;
  m.dt = 1e-3;
  m.gravity = gravity;
  m.materials = {
      {.name = "jelly", .kind = mpm::MaterialKind::neo_hookean, .density = 1000, .E = 2e4, .nu = 0.3}};
  fill(m, mpm::Shape::box(0.2, 0.25, 0.2), {0.7, 0.9, 0.9}, 0.05, 0, {1.5, 0.1, -0.2});
  for (std::size_t i = 0; i < m.particles.x.size(); ++i)
    m.particles.x[i] += 0.011 * std::sin(3.0 * double(i));
  return m;
}

// A free body whose inertia is a sphere's: the rigid step keeps its angular momentum to rounding.
inline const char* const kBall = R"(<mujoco><option timestep="0.001"/><worldbody>
  <body name="block" pos="1.05 0.93 0.88">
    <freejoint/><inertial pos="0 0 0" mass="12" diaginertia="0.13 0.13 0.13"/>
  </body></worldbody></mujoco>)";

// Two links on a turning, sliding base, in three dimensions; all kinds of joints but the free one, motors
// with activation and without.
inline const char* const kArm = R"(<mujoco><compiler angle="radian"/><option timestep="0.001"/>
  <worldbody>
    <body name="base" pos="1.3 0.5 0.9">
      <joint name="rail" type="slide" axis="1 0.1 0" damping="2"/>
      <inertial pos="0.01 0 0.02" mass="3" diaginertia="0.02 0.03 0.025"/>
      <body name="upper" pos="0 0.1 0">
        <joint name="shoulder" type="ball" damping="0.2"/>
        <inertial pos="0 0.1 0.01" mass="2" diaginertia="0.02 0.01 0.03"/>
        <body name="hand" pos="-0.1 0.2 0" euler="0.1 0.2 0.3">
          <joint name="elbow" axis="0 0.2 1" range="-2 2" limited="false" armature="0.01" stiffness="3"/>
          <inertial pos="-0.02 0.05 0" mass="1.5" diaginertia="0.01 0.012 0.011"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="rail" gear="10"/>
    <position joint="elbow" kp="20"/>
    <general joint="elbow" dyntype="filter" dynprm="0.05" gainprm="5"/>
  </actuator></mujoco>)";

inline mpm::Model with(mpm::Model m, const Articulation& a) {
  m.mechanism = articulated(a);
  return m;
}
inline mpm::Model arm_scene(mpm::Contact contact, mpm::Shape hand) {
  mpm::Collider on_hand{.name = "palm", .shape = std::move(hand), .contact = contact, .friction = 0.3};
  on_hand.position = {-0.13, 0.12, 0.02}, on_hand.rotation = {0.3, -0.2, 0.4};
  mpm::Collider on_arm{.name = "sleeve", .shape = mpm::Shape::sphere(0.09), .contact = contact};
  on_arm.position = {-0.11, 0.12, 0};
  const rigid::Model model = compiled(kArm);
  std::vector<double> start = rigid::initial_state(model);
  const double q[] = {0.02, 0.95, 0.1, -0.05, 0.2, 0.15}, v[] = {-0.3, 0.2, -0.1, 0.4, 0.3};
  std::copy(q, q + 6, start.begin());
  std::copy(v, v + 5, start.begin() + 6);
  start.back() = 0.3;
  return with(jelly(3, {0.2, -1, 0.3}),
              {.model = model, .shapes = {{on_hand, "hand"}, {on_arm, "upper"}}, .initial_state = start});
}

}  // namespace costate::coupled::test

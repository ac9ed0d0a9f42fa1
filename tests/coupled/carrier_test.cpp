// Soft bodies on an articulated model: closed forms, momentum, contact, exact gradients, errors.
#include "costate/coupled/carrier.h"

#include <gtest/gtest.h>

#include "costate/core/philox.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/spec.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/mesh/surface.h"
#include "costate/soft/soft_system.h"
#include "tests/coupled/by_itself.h"
#include "tests/coupled/models.h"
#include "tests/expect_error.h"
#include "tests/soft/crossed.h"
#include "tests/soft/light_cloth.h"
#include "tests/system/contract.h"

namespace costate::coupled {
namespace {

using costate::test::expect_error;
using soft::Cells;
using soft::SoftModel;

std::vector<int> all_of(int first, const SoftModel& m) {
  std::vector<int> list;
  for (int i = first; i < m.vertices(); ++i) list.push_back(i);
  return list;
}
std::vector<double> numbers_of(const Signature& signature, const std::vector<double>& state,
                               const std::string& name) {
  const Field& f = signature.find(Role::state, name);
  return {state.begin() + f.offset, state.begin() + f.offset + f.size};
}

// --- against closed forms ----------------------------------------------------------------------------------

// A body on a slide stands on a column without weight and without lateral strain (nu = 0), whose upper face
// rides on it. The column is a spring of stiffness k = E A/h, and a step is implicit Euler:
//   (m + dt^2 k) v' = m v - dt (k q + m g),   q' = q + dt v'
TEST(Carrier, AColumnIsTheSpringThatItIsMadeOf) {
  constexpr double kE = 2e4, kSide = .1, kHeight = .2, kMass = 3, kStep = .01;
  rigid::Spec spec("press");
  spec.options.timestep = kStep;
  spec.world.body("plate", {0, 0, kHeight}).slide("up", {0, 0, 1}).mass(kMass, {0, 0, 0}, {1, 1, 1, 0, 0, 0});
  SoftModel m{.materials = {{.name = "foam",
                             .law = "corotated",
                             .numbers = {{"E", kE}, {"nu", 0.0}},
                             .density = 1e-9}},
              .dt = kStep,
              .tolerance = 1e-13};
  soft::add_part(m, "column", Cells::hexahedra,
                 soft::block_mesh(Cells::hexahedra, {kSide, kSide, kHeight}, {1, 1, 3}), 0);
  m.holds = {{"ground", {0, 1, 2, 3}}, {"plate", {12, 13, 14, 15}}};
  m.holds[1].body = "plate";
  m.carrier = carrier({.model = rigid::compile(spec)});
  const auto system = soft::soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 60});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft::soft_state(m);
  const std::vector<double> end = rollout.forward(at).final_state;
  const double k = kE * kSide * kSide / kHeight, g = 9.81;
  double q = 0, v = 0;
  for (int i = 0; i < 60; ++i) {
    v = (kMass * v - kStep * (k * q + kMass * g)) / (kMass + kStep * kStep * k);
    q += kStep * v;
  }
  EXPECT_NEAR(numbers_of(system->signature(), end, "model/q")[0], q, 1e-10);
  EXPECT_NEAR(numbers_of(system->signature(), end, "model/v")[0], v, 1e-8);
  EXPECT_NEAR(end[3 * 12 + 2], kHeight + q, 1e-10);  // its face is where the plate is
}

// A free box lies on a pad without lateral strain, all over it. Virtual work of a uniform compression: the
// mean of the pad's upper face is lower by F h/(E A), wherever the forces of contact act, and F is the box's
// weight (of small strains: to the order of the strain). The box lies on the barrier.
TEST(Carrier, ABoxLiesOnAPadAsHighAsItsWeightSays) {
  constexpr double kSide = .1, kHeight = .05, kMass = 2, kGap = .004;
  for (const double E : {1e5, 1e6}) {
    rigid::Spec spec("box");
    spec.world.body("box", {.05, .05, kHeight + kGap})
        .free("free")
        .mass(kMass, {0, 0, .03}, {4e-3, 4e-3, 4e-3, 0, 0, 0});
    SoftModel m{.materials = {{.name = "rubber",
                               .law = "corotated",
                               .numbers = {{"E", E}, {"nu", 0.0}},
                               .density = 1,
                               .viscosity = 2e-2 * E}},
                .contact = {.self = true, .distance = .003, .stiffness = 1e4, .friction = .5},
                .dt = .01,
                .tolerance = 1e-9};
    soft::add_part(m, "pad", Cells::hexahedra,
                   soft::block_mesh(Cells::hexahedra, {kSide, kSide, kHeight}, {2, 2, 2}), 0);
    const int box = soft::add_part(m, "box", Cells::hexahedra,
                                   soft::block_mesh(Cells::hexahedra, {.12, .12, .06}, {1, 1, 1}), -1,
                                   {-.01, -.01, kHeight + kGap});
    m.holds = {{"ground", {0, 1, 2, 3, 4, 5, 6, 7, 8}}, {"box", all_of(box, m)}};
    m.holds[1].body = "box";
    m.carrier = carrier({.model = rigid::compile(spec)});
    const auto system = soft::soft_bodies<double>(m);
    Rollout<double> rollout(system, {.steps = 150});
    Arguments<double> at = rollout.arguments();
    at.x0 = soft::soft_state(m);
    const std::vector<double> end = rollout.forward(at).final_state;
    const auto v = numbers_of(system->signature(), end, "model/v");
    for (const double speed : v) EXPECT_NEAR(speed, 0, 2e-4) << E;
    const double sink = kMass * 9.81 * kHeight / (E * kSide * kSide);
    double top = 0;
    for (std::size_t i = 0; i < 9; ++i) {
      const double share = (i % 3 == 1 ? 2 : 1) * (i / 3 == 1 ? 2 : 1) / 16.0;
      top += share * end[3 * (18 + i) + 2];
    }
    EXPECT_NEAR(kHeight - top, sink, 1.5 * sink / kHeight * sink) << E;
    const double lies = numbers_of(system->signature(), end, "model/q")[2] - top;
    EXPECT_GT(lies, 0) << E;
    EXPECT_LT(lies, .003) << E;
  }
}

// --- momentum ----------------------------------------------------------------------------------------------

constexpr const char* kStone = R"(<mujoco><worldbody><body name="stone" pos="0.02 0.01 0.16">
  <freejoint/><inertial pos="0 0 0" mass="0.2" diaginertia="8e-4 8e-4 8e-4"/></body></worldbody></mujoco>)";

// A stone that flies into a block which nothing holds, with friction: what one gains the other loses.
SoftModel stone_and_block(double turn) {
  SoftModel m{.materials = {{.name = "rubber", .law = "neo_hookean", .numbers = {{"E", 2e4}, {"nu", .3}}}},
              .gravity = {0, 0, 0},
              .contact = {.self = true, .distance = .005, .stiffness = 2e4, .friction = .4},
              .dt = .005,
              .tolerance = 1e-12};
  soft::add_part(m, "block", Cells::tetrahedra, soft::block_mesh(Cells::tetrahedra, {.1, .1, .08}, {2, 2, 2}),
                 0, {-.05, -.05, 0});
  const int stone =
      soft::add_part(m, "stone", Cells::triangles, soft::ball_mesh(.05, 2), -1, {.02, .01, .16});
  m.holds = {{"stone", all_of(stone, m)}};
  m.holds[0].body = "stone";
  const rigid::Model model = test::compiled(kStone);
  std::vector<double> start = rigid::initial_state(model);
  const double v[] = {.2, .1, -1.5, turn, 2 * turn, -turn};
  std::copy(v, v + 6, start.begin() + 7);
  m.carrier = carrier({.model = model, .initial_state = start});
  return m;
}

struct Momentum {
  Vec3<double> linear, angular;
};
// What momentum is gained over 0.2 s.
Momentum gained(double dt, double friction) {
  SoftModel m = stone_and_block(3);
  m.dt = dt, m.contact.friction = friction;
  const auto system = soft::soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = std::int64_t(std::lround(.2 / dt))});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft::soft_state(m);
  const auto end = rollout.forward(at).final_state;
  const std::size_t n3 = m.rest.size(), block = 27;
  const auto three = [](const double* v) { return Vec3<double>{v[0], v[1], v[2]}; };
  std::vector<double> mass(block, 0.0);
  for (std::size_t e = 0; e < m.parts[0].vertices.size(); e += 4) {
    const auto corner = [&](std::size_t a) { return three(m.rest.data() + 3 * m.parts[0].vertices[e + a]); };
    const double volume = dot(cross(corner(1) - corner(0), corner(2) - corner(0)), corner(3) - corner(0)) / 6;
    for (std::size_t a = 0; a < 4; ++a) mass[std::size_t(m.parts[0].vertices[e + a])] += 250 * volume;
  }
  const auto total = [&](const std::vector<double>& state) {
    const double* q = state.data() + 2 * n3;  // place, quaternion; velocity, spin in the stone's axes
    const Vec3<double> p = .2 * three(q + 7);
    Momentum r{p, cross(three(q), p) + 8e-4 * rotate(Quat<double>{q[3], q[4], q[5], q[6]}, three(q + 10))};
    for (std::size_t i = 0; i < block; ++i) {
      const Vec3<double> own = mass[i] * three(state.data() + n3 + 3 * i);
      r.linear += own, r.angular += cross(three(state.data() + 3 * i), own);
    }
    return r;
  };
  EXPECT_GT(end[2 * n3 + 9], -1.0);  // and it was a collision
  const Momentum before = total(at.x0), after = total(end);
  return {after.linear - before.linear, after.angular - before.angular};
}

// Angular momentum without friction, which acts across the gap of the barrier: to the order of the step, of
// 0.2 kg x 1.5 m/s x 0.1 m.
TEST(Carrier, MomentumOfSoftAndRigidIsConserved) {
  const Momentum coarse = gained(.005, 0), fine = gained(.0025, 0), finest = gained(.00125, 0);
  for (const Momentum& m : {gained(.005, .4), coarse, fine, finest}) EXPECT_LT(norm(m.linear), 1e-11);
  EXPECT_LT(norm(coarse.angular), 0.02 * 0.03);
  EXPECT_LT(norm(fine.angular), 0.65 * norm(coarse.angular));
  EXPECT_LT(norm(finest.angular), 0.65 * norm(fine.angular));
}

// --- gradients ---------------------------------------------------------------------------------------------

// All kinds of joints but the free one, motors with activation and without, light links that feel a cloth.
constexpr const char* kLimb = R"(<mujoco><compiler angle="radian"/><worldbody>
  <body name="base" pos="0.25 0 -0.15">
    <joint name="rail" type="slide" axis="1 0.1 0" damping="0.2"/>
    <inertial pos="0.01 0 0.02" mass="0.3" diaginertia="2e-3 3e-3 2e-3"/>
    <body name="upper" pos="0 0.05 0">
      <joint name="shoulder" type="ball" damping="0.01"/>
      <inertial pos="0 0.05 0.01" mass="0.2" diaginertia="2e-3 1e-3 2e-3"/>
      <body name="hand" pos="-0.15 0.05 0.03" euler="0.1 0.2 0.3">
        <joint name="elbow" axis="0 0.2 1" armature="1e-3" stiffness="0.1"/>
        <inertial pos="-0.02 0.05 0" mass="0.1" diaginertia="1e-3 1e-3 1e-3"/>
      </body></body></body></worldbody>
  <actuator>
    <motor name="push" joint="rail" gear="2"/><position name="servo" joint="elbow" kp="0.5"/>
    <general name="filtered" joint="elbow" dyntype="filter" dynprm="0.05" gainprm="0.2"/>
  </actuator></mujoco>)";

// A cloth above a ball on the hand, and by one corner on the base.
SoftModel limb_and_cloth(double friction) {
  SoftModel m = soft::light_cloth(friction);
  soft::add_part(m, "cloth", Cells::triangles, soft::cloth_mesh({.3, .3}, {3, 3}), 0, {-.16, -.13, .03});
  const int ball = soft::add_part(m, "ball", Cells::triangles, soft::ball_mesh(.1, 2), -1, {0, 0, -.1});
  m.holds = {{"corner", {3}}, {"ball", all_of(ball, m)}};
  m.holds[0].body = "base", m.holds[1].body = "hand";
  m.carrier = carrier({.model = test::compiled(kLimb)});
  return m;
}
auto limb_states(const SoftModel& m) {
  return [m](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    std::vector<double> x = m.rest, v(m.rest.size(), 0.0);
    for (std::size_t i = 0; i < 16; ++i)
      if (i != 3) x[3 * i + 2] -= .024;  // onto the ball, but for the corner that rides
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += .1 * (2 * uniform(seed, 3, i) - 1);
    const auto start = soft::soft_state(m, x, v);
    for (std::size_t i = 0; i < start.size(); ++i) a.x0[i] = decltype(a.x0[0] + 0)(start[i]);
    const auto model = std::size_t(rollout.system().signature().find(Role::state, "model/v").offset);
    for (std::size_t i = model; i < start.size(); ++i)
      a.x0[i] += decltype(a.x0[0] + 0)(.3 * (2 * uniform(seed, 5, i) - 1));
    for (std::size_t i = 0; i < a.controls.size(); ++i)
      a.controls[i] = decltype(a.x0[0] + 0)(2 * uniform(seed, 4, i) - 1);
    return a;
  };
}

TEST(Carrier, AnArmUnderAClothMeetsTheContract) {
  const SoftModel m = limb_and_cloth(.4);
  costate::test::expect_contract(
      soft::soft_bodies<double>(m),
      {.states = limb_states(m), .steps = 3, .long_steps = 8, .seeds = 1, .stencil_step = 1e-5});
}

TEST(Carrier, WithBdf2ItMeetsTheContract) {
  SoftModel m = limb_and_cloth(0);
  m.integrator = soft::Integrator::bdf2;
  costate::test::expect_contract(
      soft::soft_bodies<double>(m),
      {.states = limb_states(m), .steps = 3, .long_steps = 8, .seeds = 1, .stencil_step = 1e-5});
}

TEST(Carrier, EveryKindOfInputHasItsExactGradient) {
  const SoftModel m = limb_and_cloth(.4);
  const auto system = soft::soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 6, .hold = 3});
  std::vector<double> weights(std::size_t(system->signature().states()));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(1.0 + double(i));
  test::expect_each_by_itself(
      rollout, limb_states(m)(rollout, 1), *loss::cotangents<double>(system->signature(), {6}, {weights}),
      {.states = {"x", "v", "model/q", "model/v", "model/act"},
       .parameters = {"rest", "gravity", "dt", "material/m/E", "material/m/density", "material/m/bending",
                      "contact/stiffness", "contact/distance", "contact/friction", "body/hand/mass",
                      "body/upper/com", "body/hand/inertia", "body/hand/pos", "body/hand/quat",
                      "joint/elbow/axis", "joint/rail/damping"},
       .step = 1e-5,
       .control_step = 1e-4,
       .rounding = 1e-12});
}

// A free body, whose configuration is no vector: the stone about to hit the block, turning.
TEST(Carrier, AStoneThatHitsABlockMeetsTheContract) {
  SoftModel m = stone_and_block(3);
  m.tolerance = 1e-13, m.gravity = {.1, .2, -9.81}, m.drag = .1;
  const auto states = [m](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    std::vector<double> x = m.rest, v(m.rest.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      v[i] = .1 * (2 * uniform(seed, 3, i) - 1);
      if (i >= 81 && i % 3 == 2) x[i] -= .027;  // the stone's, within reach of the block
    }
    const auto start = soft::soft_state(m, x, v);
    std::copy(start.begin(), start.end(), a.x0.begin());
    a.x0[2 * x.size() + 2] -= .027;
    return a;
  };
  costate::test::expect_contract(
      soft::soft_bodies<double>(m),
      {.states = states, .steps = 2, .long_steps = 4, .seeds = 1, .stencil_step = 1e-5});
}

// --- contact, and what cannot be ---------------------------------------------------------------------------

// In each step the stone would go further than it is away, and it turns.
TEST(Carrier, WhatRidesNeverPasses) {
  SoftModel m = stone_and_block(30);
  m.tolerance = 1e-8, m.dt = .02;
  m.holds.push_back({"ground", {0, 1, 2, 3, 4, 5, 6, 7, 8}});
  const auto system = soft::soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 12, .keep = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft::soft_state(m);
  const auto run = rollout.forward(at);
  std::vector<int> triangles = soft::surface_of(m.parts[0]);
  triangles.insert(triangles.end(), m.parts[1].vertices.begin(), m.parts[1].vertices.end());
  const std::size_t size = at.x0.size();
  for (std::size_t k = 0; k < run.kept.size(); ++k)
    EXPECT_FALSE(soft::test::crossed(triangles, run.states.data() + k * size)) << k;
  EXPECT_GT(numbers_of(system->signature(), run.final_state, "model/v")[2], 0);  // it was thrown back
}

TEST(Carrier, BadModelsAreErrorsThatSayWhatToDo) {
  const auto made = [](auto change) {
    SoftModel m = limb_and_cloth(0);
    change(m);
    return soft::soft_bodies<double>(m);
  };
  expect_error([&] { made([](SoftModel& m) { m.holds[0].body = "hnad"; }); },
               "hold 'corner' rides on body 'hnad', which the model does not have", "it has 'hand'");
  expect_error([&] { made([](SoftModel& m) { m.carrier = nullptr; }); },
               "rides on body 'base', but there is no model with bodies", "add a carrier");
  expect_error([&] { made([](SoftModel& m) { m.holds[0].driven = true; }); },
               "rides on body 'base' and is driven", "drive the model's actuators");
  expect_error([&] { made([](SoftModel& m) { m.integrator = soft::Integrator::still; }); },
               "a carrier with integrator = still", "use euler or bdf2");
  expect_error(
      [&] {
        carrier({.model = test::compiled(kLimb), .initial_state = {1, 2}});
      },
      "the model has 12 states, and its start 2 numbers", "");
}

}  // namespace
}  // namespace costate::coupled

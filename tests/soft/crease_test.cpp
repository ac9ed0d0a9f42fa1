// Creases: one hinge against closed forms of perfect plasticity, a fold that stays, and the contract.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/philox.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/program/program_objective.h"
#include "tests/expect_error.h"
#include "tests/soft/light_cloth.h"
#include "tests/system/contract.h"

namespace costate::soft {
namespace {

using costate::test::expect_error;

// Two triangles that share the edge of vertices 0 and 1, which is 1 m long: c = 3 and h = 1/3 m. The wing of
// vertex 3 is 1 m wide and stands up by `angle`; the angle of the hinge is -angle.
constexpr double kWidth = 1.0 / 3, kYield = 0.6, kMost = kYield * kWidth;
SoftModel hinge() {
  return {.rest = {0, 0, 0, 0, 1, 0, -1, .5, 0, 1, .5, 0},
          .parts = {{"sheet", Cells::triangles, {0, 1, 2, 1, 0, 3}, 0}},
          .materials = {{.name = "paper",
                         .law = "stvk",
                         .numbers = {{"E", 1e9}, {"nu", .3}},
                         .density = .6,
                         .bending = .05,
                         .yield_curvature = kYield}},
          .holds = {{"table", {0, 1, 2}}},
          .gravity = {0, 0, 0},
          .integrator = Integrator::still,
          .tolerance = 1e-12};
}
std::vector<double> standing(const SoftModel& m, double angle, double crease) {
  std::vector<double> x = m.rest;
  x[9] = std::cos(angle), x[11] = std::sin(angle);
  std::vector<double> state = soft_state(m, x);
  state.back() = crease;
  return state;
}
Rollout<double> one_step(const SoftModel& m) { return {soft_bodies<double>(m), {.steps = 1}}; }
Gradient<double> crease_of(const SoftModel& m, double angle, double crease) {
  Rollout<double> rollout = one_step(m);
  Arguments<double> at = rollout.arguments();
  at.x0 = standing(m, angle, crease);
  const auto loss =
      loss::lambda<double>(rollout.system().signature(), [](auto x, auto, auto) { return x[24]; });
  return rollout.value_and_gradient(at, *loss);
}

TEST(Crease, WhatBendsFurtherThanTheYieldStays) {
  SoftModel m = hinge();
  m.holds[0].vertices.push_back(3);                              // all of it is held where the state has it
  EXPECT_EQ(crease_of(m, .15, 0).value, 0);                      // elastic
  EXPECT_EQ(crease_of(m, .15, .01).value, .01);                  // and stays what it was
  EXPECT_NEAR(crease_of(m, 1.2, 0).value, -1.2 + kMost, 1e-14);  // folded up
  EXPECT_NEAR(crease_of(m, -1.2, 0).value, 1.2 - kMost, 1e-14);  // down
  EXPECT_NEAR(crease_of(m, .2, -1.2 + kMost).value, -.2 - kMost, 1e-14);  // and open again
}

TEST(Crease, DerivativesOfOneHingeAreThoseOfReturnMapping) {
  SoftModel m = hinge();
  m.holds[0].vertices.push_back(3);
  const auto folded = crease_of(m, 1.2, .1), elastic = crease_of(m, .15, .01);
  EXPECT_NEAR(folded.parameters["material/paper/yield_curvature"][0], kWidth, 1e-14);
  EXPECT_EQ(elastic.parameters["material/paper/yield_curvature"][0], 0);
  EXPECT_EQ(folded.x0[24], 0);  // what it was before is forgotten
  EXPECT_EQ(elastic.x0[24], 1);
  // The angle is that of vertex 3, which moves along (-sin, 0, cos) of its angle, at a distance of 1 m.
  EXPECT_NEAR(-std::sin(1.2) * folded.x0[9] + std::cos(1.2) * folded.x0[11], -1, 1e-14);
  // The width: h = 2 A/(3 l). A wing of 1 m has a third of its own width in it, and so has the other one;
  // where both grow h grows alike. In the rest shape vertex 3 moves outwards by dX: dh = dX/6.
  EXPECT_NEAR(folded.parameters["rest"][9], kYield / 6, 1e-14);
  EXPECT_EQ(elastic.parameters["rest"][9], 0);
  EXPECT_NEAR(folded.parameters["rest"][11], 1, 1e-14);  // its own angle: crease = theta - theta_rest + Y
}

// Let go, it springs back by the yield, and no further.
TEST(Crease, AFreeWingComesToRestAtItsCrease) {
  const SoftModel m = hinge();
  Rollout<double> rollout = one_step(m);
  Arguments<double> at = rollout.arguments();
  at.x0 = standing(m, 1.2, -1.2 + kMost);
  const auto end = rollout.forward(at).final_state;
  EXPECT_NEAR(std::atan2(end[11], end[9]), 1.2 - kMost, 1e-9);
  EXPECT_NEAR(end[24], -1.2 + kMost, 1e-12);
}

// A wing sinks under its weight until the lever is as short as the yield moment can hold: m g cos = 2 b c Y.
TEST(Crease, AHeavyWingSinksToWhereTheYieldMomentHoldsIt) {
  SoftModel m = hinge();
  m.gravity = {0, 0, -9.81};
  const double weight = .6 * .5 / 3 * 9.81, moment = 2 * .05 * 3 * kMost, angle = std::acos(moment / weight);
  ASSERT_GT(angle, kMost);
  Rollout<double> rollout = one_step(m);
  Arguments<double> at = rollout.arguments();
  at.x0 = standing(m, -.98 * angle, 0);
  const auto loss =
      loss::lambda<double>(rollout.system().signature(), [](auto x, auto, auto) { return x[24]; });
  const auto g = rollout.value_and_gradient(at, *loss);
  EXPECT_NEAR(g.value, angle - kMost, 1e-5);
  // crease = acos(k Y) - Y, k Y = moment/weight, and Y = yield h.
  const double by_most = -moment / kMost / weight / std::sin(angle) - 1;
  EXPECT_NEAR(g.parameters["material/paper/yield_curvature"][0], by_most * kWidth, 1e-5);
  EXPECT_NEAR(g.parameters["material/paper/bending"][0], (by_most + 1) * kMost / .05, 1e-4);
}

// A strip is folded over by its end, in half a turn, and let go: it stays folded. Without a yield it opens.
double angle_of_a_fold(double yield_curvature) {
  SoftModel m = light_cloth(0);
  m.contact.self = false;
  m.wind_drag = 0, m.drag = 20, m.gravity = {0, 0, 0}, m.tolerance = 1e-8;
  m.materials[0].bending_viscosity = 0;
  m.materials[0].yield_curvature = yield_curvature;
  add_part(m, "strip", Cells::triangles, cloth_mesh({.08, .02}, {8, 2}), 0);
  m.holds = {{.name = "table"}, {.name = "end", .driven = true, .turns = true}};
  for (int i = 0; i < m.vertices(); ++i) {
    const double X = m.rest[std::size_t(3 * i)];
    if (X < .035) m.holds[0].vertices.push_back(i);
    if (X > .045) m.holds[1].vertices.push_back(i);
  }
  // The end turns by 2 rad about the middle of the strip in half of the time, then stays, then is free.
  Rollout<double> fold(soft_bodies<double>(m), {.steps = 40});
  Arguments<double> at = fold.arguments();
  at.x0 = soft_state(m);
  const double radius = .065 - .04, speed = 2 / (20 * m.dt);
  for (std::size_t k = 0; k < 20; ++k) {
    const double from = speed * m.dt * double(k), to = from + speed * m.dt;
    at.controls[6 * k] = radius * (std::cos(to) - std::cos(from)) / m.dt;
    at.controls[6 * k + 2] = radius * (std::sin(to) - std::sin(from)) / m.dt;
    at.controls[6 * k + 4] = -speed;
  }
  const std::vector<double> folded = fold.forward(at).final_state;
  m.holds.pop_back();
  Rollout<double> release(soft_bodies<double>(m), {.steps = 100});
  at = release.arguments();
  at.x0 = folded;
  const std::vector<double> end = release.forward(at).final_state;
  double rise = 0, run = 0;  // of the end: from its first row of vertices to its last one
  for (std::size_t i = 0; i < m.rest.size(); i += 3) {
    const double X = m.rest[i], sign = X > .075 ? 1 : X > .045 && X < .055 ? -1 : 0;
    rise += sign * end[i + 2], run += sign * end[i];
  }
  return std::atan2(rise, run);
}
TEST(Crease, AFoldedStripStaysFolded) {
  EXPECT_NEAR(angle_of_a_fold(0), 0, 0.05);
  const double weak = angle_of_a_fold(20), strong = angle_of_a_fold(60);
  EXPECT_GT(weak, strong);  // what yields later springs back further
  EXPECT_GT(strong, 0.5);
  EXPECT_LT(weak, 2);
}

// Some hinges yield and others do not, in a cloth that has creases from the start.
TEST(Crease, ACreasingClothMeetsTheContract) {
  for (const Integrator integrator : {Integrator::euler, Integrator::bdf2}) {
    SCOPED_TRACE(kIntegratorNames[int(integrator)]);
    SoftModel m = light_cloth(0);
    m.contact.self = false;
    m.integrator = integrator;
    m.materials[0].bending = 1e-3;
    m.materials[0].yield_curvature = 2.5;
    SoftMesh mesh = cloth_mesh({.2, .2}, {2, 2});
    for (std::size_t i = 0; i < mesh.vertices.size(); i += 3)
      mesh.vertices[i + 2] = .02 * std::sin(double(i));
    add_part(m, "cloth", Cells::triangles, mesh, 0);
    m.holds = {{"corner", {0, 2}, true}};
    const auto states = [m](const auto& rollout, unsigned seed) {
      auto a = rollout.arguments();
      std::vector<double> x = m.rest, v(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] += .01 * (2 * uniform(seed, 3, i) - 1);
        v[i] = 2 * uniform(seed, 4, i) - 1;
      }
      a.x0 = soft_state(m, x, v);
      for (std::size_t i = a.x0.size() - 8; i < a.x0.size(); ++i)
        a.x0[i] = .1 * (2 * uniform(seed, 5, i) - 1);
      for (std::size_t i = 0; i < a.controls.size(); ++i) a.controls[i] = uniform(seed, 6, i);
      return a;
    };
    const auto system = soft_bodies<double>(m);
    ASSERT_EQ(system->signature().find(Role::state, "part/cloth/crease").size, 8);
    costate::test::expect_contract(
        system, {.states = states, .steps = 4, .long_steps = 40, .stencil_step = 1e-5, .taylor_step = 0});
    // Both branches are there.
    Rollout<double> rollout(system, {.steps = 1});
    const Arguments<double> at = states(rollout, 0);
    const auto end = rollout.forward(at).final_state;
    int same = 0;
    for (std::size_t i = end.size() - 8; i < end.size(); ++i) same += end[i] == at.x0[i];
    EXPECT_GT(same, 0);
    EXPECT_LT(same, 8);
  }
}

TEST(Crease, WhatCannotCreaseIsAnErrorThatSaysWhatToDo) {
  const auto with = [](auto change) {
    return [change] {
      SoftModel m = hinge();
      change(m);
      return soft_bodies<double>(m);
    };
  };
  expect_error(with([](SoftModel& m) { m.materials[0].bending = 0; }),
               "material 'paper' has a yield_curvature, but nothing of it bends", "bending > 0");
  expect_error(with([](SoftModel& m) { m.integrator = Integrator::midpoint; }),
               "yield_curvature with integrator = midpoint", "use euler, bdf2 or still");
  expect_error(with([](SoftModel& m) { m.materials[0].yield_curvature = -1; }), "yield_curvature = -1",
               "0 or more");
}

}  // namespace
}  // namespace costate::soft

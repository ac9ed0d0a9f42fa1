// Obstacles of any shape that move: parts of no material whose vertices are held. What holds do in a step,
// that they push and never pass, and the derivatives with respect to their motion and their shape.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/philox.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "tests/expect_error.h"
#include "tests/soft/crossed.h"
#include "tests/soft/light_cloth.h"
#include "tests/system/contract.h"

namespace costate::soft {
namespace {

using costate::test::expect_error;

// A cloth that lies just above a ball; the ball is an obstacle that can move and turn.
SoftModel cloth_above_a_ball(double friction) {
  SoftModel m = light_cloth(friction);
  add_part(m, "cloth", Cells::triangles, cloth_mesh({.3, .3}, {3, 3}), 0, {-.16, -.13, .03});
  const int ball = add_part(m, "ball", Cells::triangles, ball_mesh(.1, 2), -1, {0, 0, -.1});
  Hold hold{.name = "ball", .driven = true, .turns = true};
  for (int i = ball; i < m.vertices(); ++i) hold.vertices.push_back(i);
  m.holds = {{"corner", {0}}, hold};
  return m;
}

TEST(SoftObstacle, AMovingTurningBallMeetsTheContract) {
  const SoftModel m = cloth_above_a_ball(.4);
  const auto states = [m](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    std::vector<double> x = m.rest, v(m.rest.size(), 0.0);
    for (std::size_t i = 0; i < 16; ++i) x[3 * i + 2] -= .024;
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += .1 * (2 * uniform(seed, 3, i) - 1);
    a.x0 = soft_state(m, x, v);
    for (std::size_t i = 0; i < a.controls.size(); ++i)
      a.controls[i] = (i % 6 < 3 ? .1 : 2) * (2 * uniform(seed, 4, i) - 1);
    return a;
  };
  costate::test::expect_contract(
      soft_bodies<double>(m),
      {.states = states, .steps = 3, .long_steps = 8, .seeds = 1, .stencil_step = 1e-5});
}

TEST(SoftObstacle, AHoldTurnsAboutItsMeanAndStaysRigid) {
  const SoftModel m = cloth_above_a_ball(0);
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 10});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(m);
  for (std::size_t k = 0; k < 10; ++k) {  // down and about z, by .2 rad a step
    at.controls[6 * k + 2] = -1;
    at.controls[6 * k + 5] = 20;
  }
  const std::vector<double> end = rollout.forward(at).final_state;
  const std::size_t n3 = m.rest.size();
  for (std::size_t i = 16; i < n3 / 3; ++i) {
    const double x = m.rest[3 * i], y = m.rest[3 * i + 1], c = std::cos(2), s = std::sin(2);
    EXPECT_NEAR(end[3 * i], c * x - s * y, 1e-14);
    EXPECT_NEAR(end[3 * i + 1], s * x + c * y, 1e-14);
    EXPECT_NEAR(end[3 * i + 2], m.rest[3 * i + 2] - .1, 1e-14);
    EXPECT_NEAR(end[n3 + 3 * i], -20 * end[3 * i + 1], 1e-12);
    EXPECT_NEAR(end[n3 + 3 * i + 2], -1, 1e-14);
  }
}

// In each step the ball moves by more than its distance to the cloth.
TEST(SoftObstacle, WhatPushesNeverPasses) {
  SoftModel m = cloth_above_a_ball(.2);
  m.tolerance = 1e-8;
  m.holds[0] = {"corners", {0, 3, 12, 15}};
  const auto system = soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 8, .keep = 1});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft_state(m);
  for (std::size_t k = 0; k < 8; ++k) at.controls[6 * k + 2] = 1;
  const auto run = rollout.forward(at);
  std::vector<int> triangles = m.parts[0].vertices;
  triangles.insert(triangles.end(), m.parts[1].vertices.begin(), m.parts[1].vertices.end());
  const std::size_t size = at.x0.size();
  for (std::size_t k = 0; k < run.kept.size(); ++k)
    EXPECT_FALSE(test::crossed(triangles, run.states.data() + k * size)) << k;
  double highest = -1;
  for (int i = 0; i < 16; ++i) highest = std::max(highest, run.final_state[std::size_t(3 * i + 2)]);
  EXPECT_GT(highest, .08);  // the ball went up by .08, and took the cloth along
}

TEST(SoftObstacle, BadObstaclesAreErrorsThatSayWhatToDo) {
  expect_error(
      [] {
        SoftModel m = cloth_above_a_ball(0);
        m.holds.pop_back();
        return soft_bodies<double>(m);
      },
      "part 'ball' has no material, and its vertex 18 is free", "hold all of them");
  expect_error(
      [] {
        SoftModel m = cloth_above_a_ball(0);
        m.contact.self = false;
        return soft_bodies<double>(m);
      },
      "part 'ball' is an obstacle", "self = true");
}

}  // namespace
}  // namespace costate::soft

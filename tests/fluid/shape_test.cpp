// Shapes of bodies, the torque on them, and bodies made of the depths of cells.
#include <gtest/gtest.h>

#include "costate/fluid/flow_places.h"
#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;
using std::numbers::pi;

std::vector<double> end_of(const FlowOptions& o) {
  Rollout<double> rollout(flow<double>(o), {.steps = 4});
  return rollout.simulate(rollout.arguments()).final_state;
}
void expect_same(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-12) << i;
}

TEST(Shape, ACapsuleWithoutLengthIsABall) {
  for (const std::size_t dim : {2, 3}) {
    FlowOptions o{.cells = std::vector<Index>(dim, 8), .dt = 0.1, .viscosity = 0.1};
    o.force = {1, 0.3, 0.1};
    o.obstacles = {{.center = {4.1, 3.8, 4.2}, .size = {2.0}}};
    const auto ball = end_of(o);
    o.obstacles[0].shape = Obstacle::Shape::capsule, o.obstacles[0].size = {2.0, 0.0};
    expect_same(end_of(o), ball);
  }
}
TEST(Shape, ABoxTurnedByAQuarterHasItsEdgesExchanged) {
  FlowOptions o{.cells = {12, 12}, .dt = 0.1, .viscosity = 0.1};
  o.force = {1, 0.3, 0};
  o.obstacles = {
      {.shape = Obstacle::Shape::box, .center = {6.1, 5.8, 0}, .size = {3.0, 1.8}, .angle = pi / 2}};
  const auto turned = end_of(o);
  o.obstacles[0].angle = 0, o.obstacles[0].size = {1.8, 3.0};
  expect_same(end_of(o), turned);
}

// Between a cylinder that turns and a ring: torque = 4 pi nu omega r^2 R^2 / (R^2 - r^2) on both, with its
// derivative with respect to r. The ring is a level set.
TEST(Torque, BetweenACylinderAndARingIsCouettes) {
  const Index n = 64, steps = 500;
  const double h = 1.0 / double(n), r = 0.15, ring = 0.38, nu = 0.2, omega = 1;
  FlowOptions o{.cells = {n, n}, .width = {h, h, 1}, .dt = 3e-4, .viscosity = nu};
  for (std::size_t side = 0; side < 4; ++side) o.sides[side] = wall();
  std::vector<double> depth;
  for (const auto& x : cell_places(o)) depth.push_back(std::hypot(x[0] - 0.5, x[1] - 0.5) - ring);
  o.obstacles = {{.name = "cylinder", .center = {0.5, 0.5, 0}, .size = {r}, .spin = {0, 0, omega}},
                 {.name = "ring", .shape = Obstacle::Shape::level, .center = {0.5, 0.5, 0}, .size = depth}};
  const auto system = flow<double>(o);
  Rollout<double> rollout(system, {.steps = steps, .active = {"cylinder/size"}});
  const auto g = rollout.value_and_gradient(
      rollout.arguments(), *loss::final_value<double>(system->signature(), "cylinder/torque", 0, 1));
  const double R2 = ring * ring, torque = 4 * pi * nu * omega * r * r * R2 / (R2 - r * r),
               slope = 8 * pi * nu * omega * r * R2 * R2 / std::pow(R2 - r * r, 2);
  EXPECT_NEAR(g.value, -torque, 0.04 * torque);
  EXPECT_NEAR(g.parameters["cylinder/size"][0], -slope, 0.04 * slope);
  const auto end = rollout.simulate(rollout.arguments()).final_state;
  EXPECT_NEAR(end[std::size_t(system->signature().find(Role::state, "ring/torque").offset)], torque,
              0.04 * torque);
}

template <class Real>
costate::test::Contract<Real> gentle(std::string name) {
  return {.states = test::stirred<Real>,
          .name = std::move(name),
          .steps = 6,
          .hold = 3,
          .long_steps = 30,
          .stencil_step = 1e-4};
}

TEST(Shape, KeepsTheContract) {
  FlowOptions o{.cells = {10, 9}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.1};
  o.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}};
  o.sides[1] = {Side::Kind::outflow};
  o.sides[2] = o.sides[3] = wall();
  std::vector<double> depth;
  for (const auto& x : cell_places(o)) depth.push_back(2.2 - std::hypot(x[0] - 6.3, 1.3 * (x[1] - 3.1)));
  o.obstacles = {
      {.name = "capsule", .shape = Obstacle::Shape::capsule, .center = {3.1, 6, 0}, .size = {1.8, 0.7}},
      {.name = "level", .shape = Obstacle::Shape::level, .center = {6, 3, 0}, .size = depth}};
  o.obstacles[0].angle = 0.3, o.obstacles[0].spin = {0, 0, 0.2}, o.obstacles[0].moves = true;
  o.obstacles[1].spin = {0, 0, 0.1};
  expect_contract(flow<double>(o), gentle<double>("capsule and level set"));
  expect_contract(flow<float>(o), gentle<float>("capsule and level set"));
  FlowOptions box{.cells = {5, 6, 5}, .dt = 0.2, .viscosity = 0.1};
  box.obstacles = {{.shape = Obstacle::Shape::box, .center = {2.4, 3.1, 2.3}, .size = {1.6, 1.8, 1.7}}};
  box.obstacles[0].velocity = {0.1, 0.05, 0.2}, box.obstacles[0].spin = {0.1, 0.2, 0.3};
  expect_contract(flow<double>(box), gentle<double>("box"));
}

TEST(Shape, SaysWhatIsWrong) {
  FlowOptions o;
  o.obstacles = {{.shape = Obstacle::Shape::level, .size = {1, 2}}};
  expect_error([&] { flow<double>(o); }, "'body' has 2 sizes", "one depth per cell");
  o.obstacles[0].size.assign(32 * 32, -1.0);
  expect_error([&] { flow<double>(o); }, "thinner than the mask", "three cells thick");
  o.obstacles[0].size[40] = 2;
  o.obstacles[0].moves = true;
  expect_error([&] { flow<double>(o); }, "which neither move nor have points", "take another shape");
  o.obstacles = {{.shape = Obstacle::Shape::capsule, .center = {9, 9, 0}, .size = {2, -1}}};
  expect_error([&] { flow<double>(o); }, "negative half length");
}

}  // namespace
}  // namespace costate::fluid

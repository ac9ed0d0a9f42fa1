// Bodies that the flow moves: momentum, added mass, the limits of heavy and weightless bodies, and the
// contract.
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;
using std::numbers::pi;

FlowOptions pool(Index n, double dt, double viscosity) {
  FlowOptions o{.cells = {n, n}, .width = {1.0 / double(n), 1.0 / double(n), 1}, .dt = dt};
  o.viscosity = viscosity;
  return o;
}
Obstacle disc(double radius, double mass) {
  Obstacle b{.name = "disc", .center = {0.5, 0.5, 0}, .size = {radius}};
  b.free = Obstacle::Free{.mass = mass, .inertia = mass * radius * radius / 2};
  return b;
}

// What the body gains the fluid loses: mass V + h^2 sum u stays, the fluid inside the body included.
TEST(FreeBody, ExchangesMomentumWithTheFluid) {
  for (const Scheme scheme : {Scheme::rk3, Scheme::euler}) {
    FlowOptions o = pool(24, 0.01, 0.01);
    o.scheme = scheme;
    o.obstacles = {disc(0.15, 0.05)};
    const auto system = flow<double>(o);
    Rollout<double> rollout(system, {.steps = 40});
    auto at = rollout.arguments();
    const auto rate = std::size_t(system->signature().find(Role::state, "disc/rate").offset);
    for (std::size_t i = 0; i < rate; ++i) at.x0[i] = 0.3 * std::sin(2.3 * double(i));
    at.x0[rate] = 0.4, at.x0[rate + 1] = -0.2, at.x0[rate + 2] = 1.5;
    const auto momentum = [&](const std::vector<double>& x, std::size_t c) {
      double sum = 0;
      for (std::size_t i = 0; i < 24 * 24; ++i) sum += x[c * 24 * 24 + i] / (24 * 24);
      return sum + 0.05 * x[rate + c];
    };
    const auto end = rollout.simulate(at).final_state;
    for (const std::size_t c : {std::size_t(0), std::size_t(1)})
      EXPECT_NEAR(momentum(end, c), momentum(at.x0, c), 1e-14) << c;
    EXPECT_LT(std::abs(end[rate + 2]), 1.5);  // viscosity takes its spin
  }
}

// A square array of discs that sink slowly, while the fluid is pushed up as much: they pass the fluid as fast
// as the same push drives it through discs that are held, and the derivative with respect to the weight is
// one over the drag. Sharp discs have a drag of 30.35063565 (by finite elements of high order).
TEST(FreeBody, SinksThroughAnArrayAsItsDragSays) {
  const Index n = 32;
  const double weight = 0.5;
  FlowOptions o = pool(n, 2e-4, 1);
  o.force = {0, weight, 0};
  o.obstacles = {disc(0.2, 0.1)};
  o.obstacles[0].free->gravity = {0, -10 * weight};
  const auto system = flow<double>(o);
  const Index steps = 750;
  Rollout<double> rollout(system, {.steps = steps});
  std::vector<double> weights(std::size_t(system->signature().states()), 0.0);
  const auto rate = std::size_t(system->signature().find(Role::state, "disc/rate").offset);
  std::fill_n(weights.begin() + n * n, n * n, 1.0 / double(n * n));  // the mean of v
  weights[rate + 1] = -1;
  const auto passed = loss::cotangents<double>(system->signature(), {steps}, {weights});
  const auto g = rollout.value_and_gradient(rollout.arguments(), *passed);
  EXPECT_NEAR(g.value, weight / 30.35063565, 0.07 * weight / 30.35);
  // What pushes the fluid and the body: the same, and ten times the mass times gravity.
  EXPECT_NEAR(g.parameters["force"][1] - 10 * g.parameters["disc/gravity"][1], g.value / weight, 1e-5);
  o.obstacles[0].free.reset();
  Rollout<double> held(flow<double>(o), {.steps = 2000});  // all of the fluid must be set in motion
  const auto end = held.simulate(held.arguments()).final_state;
  double flux = 0;
  for (std::size_t i = 0; i < std::size_t(n * n); ++i) flux += end[std::size_t(n * n) + i] / double(n * n);
  EXPECT_NEAR(g.value, flux, 2e-3 * flux);
}

// A tilted plate in such an array glides to the side while it sinks, as far as the flow through plates that
// are held is turned aside, and no torque turns it: the array looks the same along both of its diagonals.
TEST(FreeBody, ATiltedPlateGlidesAsItsDragSays) {
  const Index n = 32;
  FlowOptions o = pool(n, 2e-4, 1);
  o.force = {0, 1e-4, 0};
  Obstacle plate = disc(0.1, 0.1);
  plate.shape = Obstacle::Shape::ellipsoid, plate.size = {0.28, 0.1}, plate.angle = pi / 4;
  plate.free->gravity = {0, -1e-3};
  o.obstacles = {plate};
  const auto means = [&](const std::vector<double>& x) {
    std::array<double, 2> mean{};
    for (std::size_t i = 0; i < 2 * n * n; ++i) mean[i / (n * n)] += x[i] / double(n * n);
    return mean;
  };
  Rollout<double> free(flow<double>(o), {.steps = 750});
  const auto end = free.simulate(free.arguments()).final_state;
  const auto rate = std::size_t(free.system().signature().find(Role::state, "disc/rate").offset);
  o.obstacles[0].free.reset();
  Rollout<double> held(flow<double>(o), {.steps = 2000});
  const auto passed = means(held.simulate(held.arguments()).final_state), carried = means(end);
  EXPECT_GT(passed[0], 0.05 * passed[1]);
  for (const std::size_t a : {std::size_t(0), std::size_t(1)})
    EXPECT_NEAR(carried[a] - end[rate + a], passed[a], 2e-3 * passed[1]) << a;
  EXPECT_NEAR(end[rate + 2] * 0.28, 0, 2e-3 * passed[1]);
}

// A body as heavy as the fluid goes with it, whatever dt is.
TEST(FreeBody, WithoutExcessMassGoesWithTheFlow) {
  FlowOptions o = pool(20, 0.02, 0.01);
  o.obstacles = {disc(0.2, 0)};
  const auto system = flow<double>(o);
  Rollout<double> rollout(system, {.steps = 15});
  auto at = rollout.arguments();
  const auto rate = std::size_t(system->signature().find(Role::state, "disc/rate").offset);
  const auto moved = std::size_t(system->signature().find(Role::state, "disc/moved").offset);
  std::fill_n(at.x0.begin(), 400, 0.5);
  at.x0[rate] = 0.5;
  const auto end = rollout.simulate(at).final_state;
  EXPECT_NEAR(end[rate], 0.5, 1e-13);
  EXPECT_NEAR(end[moved], 0.5 * 15 * 0.02, 1e-13);
  for (std::size_t i = 0; i < 400; ++i) EXPECT_NEAR(end[i], 0.5, 1e-13);
}

// A very heavy one is not moved: it is a body that is led.
TEST(FreeBody, OfGreatMassIsABodyThatIsLed) {
  FlowOptions o = pool(20, 0.02, 0.02);
  o.obstacles = {{.name = "disc", .center = {0.5, 0.5, 0}, .size = {0.2}, .velocity = {0.3, 0.1, 0}}};
  o.obstacles[0].spin = {0, 0, 2};
  o.obstacles[0].moves = true;
  Rollout<double> led(flow<double>(o), {.steps = 10});
  const auto wanted = led.simulate(led.arguments()).final_state;
  const auto force = std::size_t(led.system().signature().find(Role::state, "disc/force").offset);
  o.obstacles = {disc(0.2, 1e9)};
  Rollout<double> free(flow<double>(o), {.steps = 10});
  auto at = free.arguments();
  const auto rate = std::size_t(free.system().signature().find(Role::state, "disc/rate").offset);
  at.x0[rate] = 0.3, at.x0[rate + 1] = 0.1, at.x0[rate + 2] = 2;
  const auto found = free.simulate(at).final_state;
  const auto felt = std::size_t(free.system().signature().find(Role::state, "disc/force").offset);
  for (std::size_t i = 0; i < 800; ++i) EXPECT_NEAR(found[i], wanted[i], 1e-9);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[felt + i], wanted[force + i], 1e-8);
}

// In a stream a body on a spring comes to rest where the spring holds what the flow does to it.
TEST(FreeBody, OnASpringRestsWhereTheSpringHoldsTheDrag) {
  FlowOptions o = pool(24, 0.0025, 0.2);
  o.force = {1, 0, 0};
  o.obstacles = {disc(0.15, 0.1)};
  o.obstacles[0].free->axes = {true, false, false};
  o.obstacles[0].free->spring = {20, 0, 0};
  const auto system = flow<double>(o);
  Rollout<double> rollout(system, {.steps = 2000});
  const auto end = rollout.simulate(rollout.arguments()).final_state;
  const auto moved = std::size_t(system->signature().find(Role::state, "disc/moved").offset);
  const auto force = std::size_t(system->signature().find(Role::state, "disc/force").offset);
  EXPECT_NEAR(end[force], 1, 1e-6);  // all that pushes the fluid of the box
  EXPECT_NEAR(20 * end[moved], end[force], 1e-6);
  EXPECT_EQ(end[moved + 1], 0);
}

template <class Real>
costate::test::Contract<Real> gentle(std::string name) {
  return {.states = test::stirred<Real>,
          .name = std::move(name),
          .steps = 6,
          .hold = 3,
          .long_steps = 30,
          .stencil_step = 1e-4,
          .second_order_step = 1e-4};
}

TEST(FreeBody, KeepsTheContract) {
  FlowOptions o{.cells = {10, 9}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.1};
  o.sides[2] = wall({0.1, 0, 0}), o.sides[3] = wall();
  Obstacle plate{.name = "plate", .shape = Obstacle::Shape::ellipsoid, .center = {3.5, 5, 0}};
  plate.size = {2.2, 1.7}, plate.angle = 0.4;
  plate.free = Obstacle::Free{.mass = 2, .inertia = 3, .gravity = {0.1, -0.2}, .spring = {0.3, 0.2, 0.4}};
  plate.free->damper = {0.1, 0.2, 0.3};
  Obstacle foil{.name = "foil", .shape = Obstacle::Shape::box, .center = {6.1, 4.3, 0}, .size = {1.9, 1.8}};
  foil.free = Obstacle::Free{.mass = 1, .inertia = 2, .spring = {0, 0, 0.5}, .axes = {false, true, true}};
  foil.driven = true;
  o.obstacles = {plate, foil};
  expect_contract(flow<double>(o), gentle<double>("a plate and a foil"));
  o.scheme = Scheme::euler;
  o.pressure = true;
  o.obstacles = {plate, {.name = "post", .center = {6.3, 4.1, 0}, .size = {1.9}, .spin = {0, 0, 0.2}}};
  expect_contract(flow<double>(o), gentle<double>("a plate and a post"));
  expect_contract(flow<float>(o), gentle<float>("a plate and a post"));
}

TEST(FreeBody, SaysWhatIsWrong) {
  FlowOptions o;
  o.obstacles = {disc(4, 1)};
  o.obstacles[0].center = {16, 16, 0};
  o.implicit = true;
  expect_error([&] { flow<double>(o); }, "'disc' is free, which bodies are in two dimensions",
               "leave out `free`");
  o.implicit = false;
  o.obstacles[0].free->mass = -1;
  expect_error([&] { flow<double>(o); }, "a mass of -1", "at least as heavy as the fluid");
}

}  // namespace
}  // namespace costate::fluid

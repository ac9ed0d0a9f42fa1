// Flows that are traced back: smoke.
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;
using Carried = Scalar::Carried;

// A closed box of 32 x 40 cells, into which smoke flows in a disc around (x, y) and rises.
FlowOptions plume(double x, double y) {
  FlowOptions o{.cells = {32, 40}, .dt = 1, .viscosity = 0.0, .scheme = Scheme::semi_lagrangian};
  for (std::size_t side = 0; side < 4; ++side) o.sides[side] = wall();
  std::vector<double> inflow;
  for (int j = 0; j < 40; ++j)
    for (int i = 0; i < 32; ++i)
      inflow.push_back(std::hypot(i + 0.5 - x, j + 0.5 - y) <= 3 ? double(1.0F / 3) : 0.0);
  o.scalars = {{.name = "smoke",
                .diffusivity = 0,
                .source = inflow,
                .buoyancy = {0, 1, 0},
                .carried = Carried::mac_cormack}};
  return o;
}

// The example of Thuerey et al., Physics-based Deep Learning (2021), chapter "Differentiable fluid
// simulations", as PhiFlow 3.4 computes it in double precision with exact projections; its inflow of a third
// is rounded to single precision.
TEST(Smoke, ThePlumesOfABookAreAsFarApartAsAnotherProgramSays) {
  const double places[4][2] = {{12, 4}, {13, 6}, {14, 5}, {16, 5}};
  std::vector<std::vector<double>> smoke;
  for (const auto& [x, y] : places) {
    Rollout<double> rollout(flow<double>(plume(x, y)), {.steps = 20});
    const auto end = rollout.simulate(rollout.arguments()).final_state;
    const auto at = end.begin() + rollout.system().signature().find(Role::state, "smoke").offset;
    smoke.emplace_back(at, at + 32 * 40);
  }
  const double wanted[] = {120.57393604, 98.69309531, 79.0193355};
  for (std::size_t k = 0; k < 3; ++k) {
    double loss = 0;
    for (std::size_t i = 0; i < smoke[k].size(); ++i) loss += 0.5 * std::pow(smoke[k][i] - smoke[3][i], 2);
    EXPECT_NEAR(loss, wanted[k], 1e-6) << k;
  }
}

// In a flow of one velocity that passes 2.25 cells per step, a number is 3/4 of the one two cells upstream
// and 1/4 of the one behind that, and with dt it moves along the slope between them.
TEST(Smoke, InAUniformFlowNumbersComeFromUpstream) {
  for (const Index far : {4, 15}) {  // a cell that gets its numbers from within, and from across the sides
    FlowOptions o{.cells = {16, 8}, .dt = 0.5, .viscosity = 0.01, .scheme = Scheme::semi_lagrangian};
    o.scalars = {{.name = "c", .diffusivity = 0, .carried = Carried::semi_lagrangian}};
    const auto system = flow<double>(o);
    Rollout<double> rollout(system, {.steps = 1});
    auto at = rollout.arguments();
    const auto c = std::size_t(system->signature().find(Role::state, "c").offset);
    std::fill_n(at.x0.begin(), 16 * 8, 4.5);
    for (std::size_t i = 0; i < 16 * 8; ++i) at.x0[c + i] = std::sin(1.7 * double(i));
    const auto from = [&](Index i) { return std::sin(1.7 * double(3 * 16 + (i + 16) % 16)); };
    std::vector<double> weights(at.x0.size(), 0.0);
    weights[c + std::size_t(3 * 16 + (far + 3) % 16)] = 1;
    const auto g =
        rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {1}, {weights}));
    const Index near = (far + 3) % 16 - 2;
    EXPECT_NEAR(g.value, 0.75 * from(near) + 0.25 * from(near - 1), 1e-14);
    EXPECT_NEAR(g.parameters["dt"][0], -4.5 * (from(near) - from(near - 1)), 1e-13);
    EXPECT_NEAR(g.x0[c + std::size_t(3 * 16 + (near + 16) % 16)], 0.75, 1e-14);
  }
}

// Tracing back has no limit to dt, and leaves numbers between the least and the largest.
TEST(Smoke, LongStepsNeitherRunAwayNorOvershoot) {
  for (const Carried carried : {Carried::semi_lagrangian, Carried::mac_cormack}) {
    FlowOptions o{.cells = {16, 12}, .dt = 20, .viscosity = 0.0, .scheme = Scheme::semi_lagrangian};
    for (std::size_t side = 0; side < 4; ++side) o.sides[side] = wall();
    o.scalars = {{.name = "c", .diffusivity = 0, .carried = carried}};
    Rollout<double> rollout(flow<double>(o), {.steps = 50, .keep = 1});
    auto at = test::stirred(rollout, 3);
    const auto c = std::size_t(rollout.system().signature().find(Role::state, "c").offset);
    const auto [least, most] = std::minmax_element(at.x0.begin() + std::ptrdiff_t(c), at.x0.end());
    const auto run = rollout.simulate(at);
    for (std::size_t k = 0; k < run.kept.size(); ++k) {
      for (std::size_t i = c; i < at.x0.size(); ++i) {
        EXPECT_GE(run.states[k * at.x0.size() + i], *least - 1e-13);
        EXPECT_LE(run.states[k * at.x0.size() + i], *most + 1e-13);
      }
    }
    for (std::size_t i = 0; i < c; ++i) EXPECT_LT(std::abs(run.final_state[i]), 1);
  }
}

// The mean of a wave that is carried along over a whole turn of the box: MacCormack keeps what tracing alone
// smears out.
TEST(Smoke, MacCormackKeepsAWaveThatTracingAloneSmears) {
  double left[2];
  for (const bool corrected : {false, true}) {
    FlowOptions o{.cells = {32, 4}, .dt = 0.5, .viscosity = 0.0, .scheme = Scheme::semi_lagrangian};
    o.scalars = {{.name = "c",
                  .diffusivity = 0,
                  .carried = corrected ? Carried::mac_cormack : Carried::semi_lagrangian}};
    Rollout<double> rollout(flow<double>(o), {.steps = 64});
    auto at = rollout.arguments();
    const auto c = std::size_t(rollout.system().signature().find(Role::state, "c").offset);
    std::fill_n(at.x0.begin(), 32 * 4, 1.0);
    double before = 0, after = 0;
    for (std::size_t i = 0; i < 32 * 4; ++i) {
      at.x0[c + i] = std::cos(2 * std::numbers::pi * double(i % 32) / 16);
      before += at.x0[c + i] * at.x0[c + i];
    }
    const auto end = rollout.simulate(at).final_state;
    for (std::size_t i = 0; i < 32 * 4; ++i) after += end[c + i] * at.x0[c + i];
    left[corrected] = after / before;
  }
  // Half a cell per step: every step is a mean of neighbours, which multiplies by cos(pi / 16).
  EXPECT_NEAR(left[0], std::pow(std::cos(std::numbers::pi / 16), 64), 1e-12);
  EXPECT_GT(left[1], 0.8);  // crests are held
}

// Still air lies on a corner everywhere. The derivative with respect to its speeds is the slope for speeds
// that turn negative, and MacCormack's correction has no part in it.
TEST(Smoke, AtRestTheDerivativeIsThatOfNegativeSpeeds) {
  std::vector<double> bars[2];
  for (const bool corrected : {false, true}) {
    FlowOptions o{.cells = {6, 5}, .dt = 0.3, .viscosity = 0.0, .scheme = Scheme::semi_lagrangian};
    o.scalars = {{.name = "c",
                  .diffusivity = 0,
                  .carried = corrected ? Carried::mac_cormack : Carried::semi_lagrangian}};
    Rollout<double> rollout(flow<double>(o), {.steps = 1});
    auto at = rollout.arguments();
    const auto c = std::size_t(rollout.system().signature().find(Role::state, "c").offset);
    std::vector<double> weights(30);
    for (std::size_t i = 0; i < 30; ++i)
      at.x0[c + i] = std::sin(double(i * i)), weights[i] = double(i % 7) - 3;
    const auto loss = loss::final<double>(rollout.system().signature(), "c", weights);
    const auto g = rollout.value_and_gradient(at, *loss);
    bars[corrected].assign(g.x0.begin(), g.x0.end());
    if (corrected) continue;
    const auto slope = [&](double h) {
      auto moved = at;
      for (std::size_t i = 0; i < c; ++i) moved.x0[i] = h * (i < 30 ? 1.0 : 0.5);
      return (rollout.value(moved, *loss) - g.value) / h;
    };
    double along = 0;
    for (std::size_t i = 0; i < c; ++i) along += g.x0[i] * (i < 30 ? 1.0 : 0.5);
    EXPECT_NEAR(along, slope(-1e-7), 1e-5);
    EXPECT_GT(std::abs(along - slope(1e-7)), 0.1);
  }
  for (std::size_t i = 0; i < bars[0].size(); ++i) EXPECT_NEAR(bars[1][i], bars[0][i], 1e-12) << i;
}

TEST(Smoke, KeepsTheContractAroundAnObstacle) {
  FlowOptions o{.cells = {8, 7}, .dt = 0.4, .viscosity = 0.1, .scheme = Scheme::semi_lagrangian};
  o.sides[0] = {Side::Kind::velocity, {0.3, 0.05, 0.0}};
  o.sides[1] = {Side::Kind::outflow};
  o.sides[2] = wall();
  o.sides[3] = {Side::Kind::slip};
  o.scalars = {{.name = "smoke", .buoyancy = {0, 0.1, 0}, .carried = Carried::semi_lagrangian}};
  o.scalars[0].sides[0] = 0.5;
  o.obstacles = {{.center = {4.2, 3.1, 0}, .size = {2}, .velocity = {0.1, 0.05, 0}, .spin = {0, 0, 0.2}}};
  const auto drift = [](const Rollout<double>& rollout, unsigned seed) {
    auto a = test::stirred(rollout, seed);
    for (double& x : a.x0) x += 0.6;
    return a;
  };
  expect_contract(flow<double>(o), {.states = drift,
                                    .steps = 2,
                                    .long_steps = 30,
                                    .stencil_step = 1e-5,
                                    .taylor_step = 0,
                                    .second_order_step = 1e-5});
}

TEST(Smoke, SaysWhatIsWrong) {
  FlowOptions o;
  o.scalars = {{.carried = Carried::mac_cormack}};
  expect_error([&] { flow<double>(o); }, "'c' is to be traced back", "semi_lagrangian");
}

}  // namespace
}  // namespace costate::fluid

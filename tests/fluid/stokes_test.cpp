// Creeping flow: channels, porous media and powers against closed forms; the contract.
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;
using test::sum;

FlowOptions between_plates(Index n, double viscosity, double resistance) {
  const double h = 1.0 / double(n);
  FlowOptions o{.cells = {3, n}, .width = {h, h, 1}, .viscosity = viscosity};
  o.force = {1, 0, 0};
  o.sides[2] = o.sides[3] = wall();
  o.scheme = Scheme::stokes;
  o.resistance = resistance;
  return o;
}

// u_j = (y (1 - y) + h^2 / 4) / (2 nu); all of what the force does is dissipated.
TEST(Stokes, FlowBetweenPlatesIsThatOfTheSchemeWithItsDerivatives) {
  const Index n = 16;
  const double nu = 0.1, h = 1.0 / double(n), Q = (1 + 2 * h * h) / (12 * nu);
  const auto system = flow<double>(between_plates(n, nu, 0));
  Rollout<double> rollout(system, {.steps = 1});
  const auto at = rollout.arguments();
  const auto end = rollout.simulate(at).final_state;
  for (Index j = 0; j < n; ++j) {
    const double y = (double(j) + 0.5) * h;
    EXPECT_NEAR(end[std::size_t(3 * j)], (y * (1 - y) + h * h / 4) / (2 * nu), 1e-12);
  }
  const auto power = std::size_t(system->signature().find(Role::state, "dissipation").offset);
  EXPECT_NEAR(end[power], Q * 3 * h, 1e-12);
  EXPECT_EQ(end[power + 1], 0);
  std::vector<double> flux(end.size(), 0.0);
  for (Index j = 0; j < n; ++j) flux[std::size_t(3 * j)] = h;
  const auto g = rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {1}, {flux}));
  EXPECT_NEAR(g.value, Q, 1e-12);
  EXPECT_NEAR(g.parameters["viscosity"][0], -Q / nu, 1e-10);
  EXPECT_NEAR(g.parameters["force"][0], Q, 1e-11);
}

// Brinkman: u = (1 - cosh(k (y - 1/2)) / cosh(k / 2)) / alpha, k^2 = alpha / nu.
TEST(Stokes, APorousChannelApproachesBrinkmansProfileWithSecondOrder) {
  const double nu = 0.1, alpha = 5, k = std::sqrt(alpha / nu);
  double error[2];
  for (const int level : {0, 1}) {
    const Index n = level == 0 ? 32 : 64;
    Rollout<double> rollout(flow<double>(between_plates(n, nu, alpha)), {.steps = 1});
    const auto end = rollout.simulate(rollout.arguments()).final_state;
    error[level] = 0;
    for (Index j = 0; j < n; ++j) {
      const double y = (double(j) + 0.5) / double(n);
      const double exact = (1 - std::cosh(k * (y - 0.5)) / std::cosh(k / 2)) / alpha;
      error[level] = std::max(error[level], std::abs(end[std::size_t(3 * j)] - exact));
    }
  }
  EXPECT_LT(error[1], 1e-3);
  EXPECT_NEAR(error[0] / error[1], 4, 0.4);
}

// Darcy: layers in series. The same speed everywhere, and a pressure that falls by alpha u per length.
TEST(Stokes, WithoutViscosityPressureFallsAsDarcySays) {
  FlowOptions o{.cells = {8, 3}, .width = {0.5, 0.5, 1}, .viscosity = 0.0};
  std::vector<double> alpha;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 8; ++i) alpha.push_back(i < 4 ? 2.0 : 6.0);
  o.resistance = alpha;
  o.sides[0] = {Side::Kind::velocity, {0.3, 0.0, 0.0}};
  o.sides[1] = {Side::Kind::outflow};
  o.sides[2] = o.sides[3] = {Side::Kind::slip};
  o.scheme = Scheme::stokes;
  o.pressure = true;
  const auto system = flow<double>(o);
  Rollout<double> rollout(system, {.steps = 1});
  const auto end = rollout.simulate(rollout.arguments()).final_state;
  const auto p = std::size_t(system->signature().find(Role::state, "p").offset);
  EXPECT_NEAR(end[9 + 4], 0.3, 1e-13);
  EXPECT_NEAR(end[p] - end[p + 3], 3 * 0.5 * 2 * 0.3, 1e-12);
  EXPECT_NEAR(end[p + 7], 0.25 * 6 * 0.3, 1e-12);  // half a cell before the side, where it is 0
  EXPECT_NEAR(end[system->signature().find(Role::state, "resisted").offset], 1.5 * 2 * (2 + 6) * 0.09, 1e-12);
}

// A still cylinder in a channel, made by a medium: J = int |grad u|^2 / 2 of dolfin-adjoint's control of
// Stokes flow, without its control, and dJ/dr. Sharp ones, by finite elements: 47.3906311 and 46.534. Here
// both are approached with second order: what two grids say together is within 1 %.
TEST(Stokes, AMediumMakesACylinderWithItsShapeDerivative) {
  double J[2], slope[2];
  for (const int level : {0, 1}) {
    const Index n = level == 0 ? 24 : 32;
    const double h = 10 / double(n), hard = 1 / (0.8905362089950989 * h * 0.8905362089950989 * h);
    FlowOptions o{.cells = {3 * n, n}, .width = {h, h, 1}, .viscosity = 1.0, .scheme = Scheme::stokes};
    std::vector<double> inflow, alpha, by_radius;
    for (Index j = 0; j < n; ++j) {
      const double y = (double(j) + 0.5) * h;
      inflow.push_back(y * (10 - y) / 25);
      for (Index i = 0; i < 3 * n; ++i) {
        const double fade = std::exp(-2 * (2.5 - std::hypot((double(i) + 0.5) * h - 10, y - 5)) / h);
        const double chi = 1 / (1e-6 + fade);
        alpha.push_back(hard * chi), by_radius.push_back(hard * 2 / h * fade * chi * chi);
      }
    }
    o.resistance = alpha;
    o.sides[0] = {Side::Kind::velocity, {inflow, 0.0, 0.0}};
    o.sides[1] = {Side::Kind::outflow};
    o.sides[2] = o.sides[3] = wall();
    const auto system = flow<double>(o);
    Rollout<double> rollout(system, {.steps = 1, .active = {"resistance"}});
    std::vector<double> weights(std::size_t(system->signature().states()), 0.0);
    for (const char* power : {"dissipation", "resisted"})
      weights[std::size_t(system->signature().find(Role::state, power).offset)] = 0.5;
    const auto g = rollout.value_and_gradient(rollout.arguments(),
                                              *loss::cotangents<double>(system->signature(), {1}, {weights}));
    J[level] = g.value, slope[level] = 0;
    for (std::size_t i = 0; i < alpha.size(); ++i)
      slope[level] += g.parameters["resistance"][i] * by_radius[i];
  }
  const double more = 1 / (16.0 / 9 - 1);
  EXPECT_NEAR((J[1] + more * (J[1] - J[0])) / 47.3906311, 1, 0.01);
  EXPECT_NEAR((slope[1] + more * (slope[1] - slope[0])) / 46.534, 1, 0.03);
}

TEST(Stokes, KeepsTheContract) {
  const auto states = [](const auto& rollout, unsigned seed) { return test::stirred(rollout, seed); };
  FlowOptions o{.cells = {6, 5}, .width = {0.9, 1.1, 1}, .viscosity = 0.3, .pressure = true};
  o.scheme = Scheme::stokes;
  std::vector<double> alpha;
  for (int i = 0; i < 30; ++i) alpha.push_back(0.5 + 0.4 * std::sin(double(i)));
  o.resistance = alpha;
  o.force = {0.2, -0.1, 0};
  o.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}, true};
  o.sides[1] = {Side::Kind::outflow};
  o.sides[2] = wall({0.1, 0, 0});
  o.sides[3] = {Side::Kind::slip};
  const auto contract = [&]<class Real>(std::string name, Real) {
    return costate::test::Contract<Real>{
        .states = states, .name = std::move(name), .steps = 2, .hold = 1, .long_steps = 3};
  };
  expect_contract(flow<double>(o), contract("channel", 0.0));
  expect_contract(flow<float>(o), contract("channel", 0.0F));
  o.sides[0].driven = false, o.sides[1] = wall({0.2, 0, 0}), o.sides[2] = o.sides[3] = wall();
  expect_contract(flow<double>(o), contract("closed", 0.0));
  FlowOptions box{.cells = {4, 3, 5}, .viscosity = 0.3, .pressure = true};
  box.scheme = Scheme::stokes, box.resistance = 0.4, box.force = {0.1, 0.2, 0.3};
  box.sides[4] = wall({0.2, 0.1, 0}), box.sides[5] = {Side::Kind::outflow};
  expect_contract(flow<double>(box), contract("box", 0.0));
}

TEST(Stokes, SaysWhatIsWrong) {
  FlowOptions o = between_plates(8, 0.1, 0);
  o.obstacles = {{.center = {0.1, 0.5, 0}}};
  expect_error([&] { flow<double>(o); }, "knows neither obstacles", "high `resistance`");
  o = between_plates(8, 0.1, -1);
  expect_error([&] { flow<double>(o); }, "the resistance is -1", "zero or positive");
  o = between_plates(8, 0.1, 0);
  o.sides = {};
  Rollout<double> rollout(flow<double>(o), {.steps = 1});
  expect_error([&] { return rollout.simulate(rollout.arguments()); }, "the creeping flow is not found",
               "resistance that holds it");
  o.scheme = Scheme::rk3, o.resistance = 2.0;
  expect_error([&] { flow<double>(o); }, "for the scheme stokes", "take that scheme");
}

}  // namespace
}  // namespace costate::fluid

// Implicit viscosity: closed forms of the scheme, its order in time, steps that explicit viscosity does not
// survive.
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;
using std::numbers::pi;
using test::sum;

// The factor of one step for z = nu lambda dt, and its derivative.
std::pair<double, double> factor(Scheme scheme, double z) {
  if (scheme == Scheme::euler) return {1 / (1 - z), 1 / ((1 - z) * (1 - z))};
  const auto step = [](std::pair<double, double> kept, std::pair<double, double> from, double share,
                       double theta, double x) {
    // (kept + share (1 + (1 - theta) x) from) / (1 - theta share x)
    const double top = kept.first + share * (1 + (1 - theta) * x) * from.first, low = 1 - theta * share * x;
    const double top_dot =
        kept.second + share * (1 - theta) * from.first + share * (1 + (1 - theta) * x) * from.second;
    return std::pair{top / low, (top_dot + top / low * theta * share) / low};
  };
  const auto a = step({0, 0}, {1, 0}, 1, 1, z), b = step({0.75, 0}, a, 0.25, 4, z);
  return step({1.0 / 3, 0}, b, 2.0 / 3, 0.5, z);
}

// Vortices of Taylor and Green are multiplied by R(z) with every step, on any grid and for any dt.
TEST(ImplicitViscosity, TaylorGreenDecaysByTheFactorOfTheSchemeWithAllDerivatives) {
  const Index n = 16, steps = 10;
  const double h = 2 * pi / double(n), nu = 0.05;
  for (const Scheme scheme : {Scheme::rk3, Scheme::euler}) {
    for (const double dt : {0.1, 20.0}) {  // 4 nu dt sum 1/h^2 is 0.26, and 52
      const auto system = flow<double>({.cells = {n, n},
                                        .width = {h, h, 1},
                                        .dt = dt,
                                        .viscosity = nu,
                                        .scheme = scheme,
                                        .implicit = true});
      Rollout<double> rollout(system, {.steps = steps});
      auto at = rollout.arguments();
      const double small = 1e-3;  // so that the Courant number is small too
      for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) {
          at.x0[std::size_t(j * n + i)] = small * std::sin(double(i) * h) * std::cos((double(j) + 0.5) * h);
          at.x0[std::size_t(n * n + j * n + i)] =
              -small * std::cos((double(i) + 0.5) * h) * std::sin(double(j) * h);
        }
      }
      const auto g = rollout.value_and_gradient(at, *test::energy<double>(system->signature(), h * h));
      const double z = -nu * dt * 8 / (h * h) * std::sin(h / 2) * std::sin(h / 2);
      const auto [R, slope] = factor(scheme, z);
      const double E = small * small * pi * pi * std::pow(R, 2 * steps), rate = 2 * steps * E * slope / R * z;
      EXPECT_NEAR(g.value / E, 1, 1e-12);
      EXPECT_NEAR(sum(g.parameters["viscosity"]), rate / nu, 1e-11 * std::abs(rate / nu));
      EXPECT_NEAR(g.parameters["dt"][0], rate / dt, 1e-11 * std::abs(rate / dt));
    }
  }
}

// A channel between walls, pushed: the steady profile is exact for any step.
TEST(ImplicitViscosity, PoiseuilleIsExactWithLongSteps) {
  const Index n = 16;
  FlowOptions options{.cells = {4, n}, .width = {1.0 / n, 1.0 / n, 1}, .dt = 1, .viscosity = 0.1};
  options.force = {1, 0, 0};
  options.sides[2] = options.sides[3] = wall();
  options.implicit = true;
  for (const bool varies : {false, true}) {
    if (varies)
      options.viscosity = std::vector<double>(std::size_t(4 * n), 0.1), options.viscosity.values[3] += 1e-13;
    const auto system = flow<double>(options);
    Rollout<double> rollout(system, {.steps = 80});
    std::vector<double> weights(std::size_t(system->signature().states()), 0.0);
    for (Index j = 0; j < n; ++j) weights[std::size_t(4 * j)] = 1.0 / n;
    const auto g = rollout.value_and_gradient(
        rollout.arguments(), *loss::cotangents<double>(system->signature(), {80}, {weights}));
    EXPECT_NEAR(g.value, 0.83984375, 1e-11) << varies;  // 4 nu dt sum 1/h^2 is 205
    EXPECT_NEAR(sum(g.parameters["viscosity"]), -8.3984375, 1e-9) << varies;
    EXPECT_NEAR(g.parameters["force"][0], 0.83984375, 1e-10) << varies;
  }
}

// Stirred in a periodic box, where nothing but time is approximated: the error falls with the square of dt.
// At walls, a projection behind an implicit stage leaves a layer whose error falls with dt.
TEST(ImplicitViscosity, IsOfSecondOrderInTimeAwayFromWalls) {
  const Index n = 12;
  const auto distance = [](const std::vector<double>& x, const std::vector<double>& y) {
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
    return most;
  };
  for (const bool walls : {false, true}) {
    FlowOptions options{.cells = {n, n}, .width = {1.0 / n, 1.0 / n, 1}, .viscosity = 0.01};
    for (std::size_t side = 0; walls && side < 4; ++side) options.sides[side] = wall();
    std::vector<double> start;  // free of divergence: what one step makes of waves
    const auto end = [&](double dt, bool implicit, double differs, double time = 0.5) {
      options.dt = dt, options.implicit = implicit;
      options.viscosity = std::vector<double>(std::size_t(n * n), 0.01);
      options.viscosity.values[5] += differs;
      Rollout<double> rollout(flow<double>(options), {.steps = std::lround(time / dt)});
      auto at = rollout.arguments();
      if (!start.empty()) at.x0 = start;
      for (std::size_t i = 0; start.empty() && i < at.x0.size(); ++i)  // long waves
        at.x0[i] = 0.3 * std::sin(2 * std::numbers::pi * double(i % 12) / 12 + 0.1 * double(i / 12));
      return rollout.simulate(at).final_state;
    };
    start = end(1e-3, false, 0, 1e-3);
    const auto exact = end(0.5 / 2048, false, 0);
    const double coarse = distance(end(1.0 / 64, true, 0), exact),
                 fine = distance(end(1.0 / 128, true, 0), exact);
    if (walls)
      EXPECT_GT(coarse / fine, 1.7);
    else
      EXPECT_NEAR(std::log2(coarse / fine), 2, 0.25);
    EXPECT_LT(fine, 5e-3);
    // Conjugate gradients find what transforms do.
    EXPECT_LT(distance(end(1.0 / 64, true, 0), end(1.0 / 64, true, 1e-14)), 1e-11);
  }
}

template <class Real>
costate::test::Contract<Real> gentle(std::string name) {
  return {.states = test::stirred<Real>,
          .name = std::move(name),
          .steps = 6,
          .hold = 3,
          .long_steps = 30,
          .stencil_step = 3e-4};
}

TEST(ImplicitViscosity, KeepsTheContract) {
  FlowOptions channel{.cells = {8, 5}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 2.0, .implicit = true};
  channel.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}, true};
  channel.sides[1] = {Side::Kind::outflow};
  channel.sides[2] = wall({0.1, 0, 0});
  channel.sides[3] = {Side::Kind::slip};
  expect_contract(flow<double>(channel), gentle<double>("implicit channel"));
  expect_contract(flow<float>(channel), gentle<float>("implicit channel"));
  channel.scheme = Scheme::euler;
  std::vector<double> nu;
  for (int k = 0; k < 40; ++k) nu.push_back(1 + 0.5 * std::sin(double(k)));
  channel.viscosity = nu;
  expect_contract(flow<double>(channel), gentle<double>("implicit channel, viscosity per cell"));
  FlowOptions box{.cells = {4, 3, 5}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 2.0, .implicit = true};
  box.sides[0] = {Side::Kind::outflow};
  box.sides[1] = wall();
  box.sides[4] = wall({0.1, 0.2, 0}), box.sides[5] = {Side::Kind::slip};
  expect_contract(flow<double>(box), gentle<double>("implicit box"));
}

TEST(ImplicitViscosity, KeepsTheContractAroundAnObstacleAndWithEddies) {
  FlowOptions channel{
      .cells = {10, 9}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 1.0, .implicit = true};
  channel.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}};
  channel.sides[1] = {Side::Kind::outflow};
  channel.sides[2] = channel.sides[3] = wall();
  channel.obstacles = {
      {.center = {4.2, 5.1, 0}, .size = {2}, .velocity = {0.1, 0.05, 0}, .spin = {0, 0, 0.2}}};
  auto contract = gentle<double>("implicit disc");
  contract.stencil_step = 1e-4;
  expect_contract(flow<double>(channel), contract);
  channel.obstacles = {};
  channel.smagorinsky = 0.3;
  expect_contract(flow<double>(channel), gentle<double>("implicit eddies"));
  channel.scheme = Scheme::semi_lagrangian;
  channel.smagorinsky = 0;
  channel.dt = 0.01;
  contract = gentle<double>("implicit, traced back");
  contract.smooth = false;
  expect_contract(flow<double>(channel), contract);
}

TEST(ImplicitViscosity, IsNotOfCreepingFlow) {
  expect_error([] { flow<double>({.scheme = Scheme::stokes, .implicit = true}); }, "implicit viscosity",
               "rk3");
}

}  // namespace
}  // namespace costate::fluid

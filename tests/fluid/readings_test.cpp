// What a state says about the flow besides its fields: probes, dissipation, mix-norms.
#include <gtest/gtest.h>

#include "costate/fluid/flow_places.h"
#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;
using std::numbers::pi;

double number(const Rollout<double>& rollout, const std::vector<double>& state, const std::string& name,
              std::size_t at = 0) {
  return state[std::size_t(rollout.system().signature().find(Role::state, name).offset) + at];
}

// Between plates that are pushed apart by a force, flow is a parabola and ghosts know the walls: a probe
// between two speeds says their mean, one on a wall nothing, and dissipation is what the force does: g times
// the flux.
TEST(Readings, ProbesAndDissipationOfFlowBetweenPlates) {
  constexpr Index kN = 8;
  const double nu = 0.1, g = 1, h = 1.0 / kN;
  FlowOptions o{.cells = {4, kN}, .width = {h, h, 1}, .dt = 0.02, .viscosity = nu, .force = {g, 0, 0}};
  o.sides[2] = o.sides[3] = wall();
  o.probes = {{.name = "middle", .place = {0.3, 0.5, 0}}, {.name = "wall", .place = {0.1, 1, 0}}};
  o.dissipation = true;
  Rollout<double> rollout(flow<double>(o), {.steps = 3000});
  const auto end = rollout.simulate(rollout.arguments()).final_state;
  const auto profile = [&](double y) { return g / (2 * nu) * (y * (1 - y) + h * h / 4); };
  EXPECT_NEAR(number(rollout, end, "middle/velocity"), profile(0.5 - h / 2), 1e-12);
  EXPECT_NEAR(number(rollout, end, "middle/velocity", 1), 0, 1e-14);
  EXPECT_NEAR(number(rollout, end, "wall/velocity"), 0, 1e-14);
  const double flux = g * (1 + 2 * h * h) / (12 * nu);
  EXPECT_NEAR(number(rollout, end, "dissipation"), g * flux * 4 * h, 1e-12);
}

// The vortices of Taylor and Green: the dissipation is what the energy loses.
TEST(Readings, DissipationIsWhatTheEnergyLoses) {
  constexpr Index kN = 16;
  const double h = 2 * pi / kN, nu = 0.05;
  FlowOptions o{.cells = {kN, kN}, .width = {h, h, 1}, .dt = 1e-3, .viscosity = nu};
  o.dissipation = true;
  Rollout<double> rollout(flow<double>(o), {.steps = 1});
  auto at = rollout.arguments();
  double energy = 0;
  for (int c = 0; c < 2; ++c) {
    const auto places = face_places(o, c);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& x = places[i];
      const double u = c == 0 ? std::sin(x[0]) * std::cos(x[1]) : -std::cos(x[0]) * std::sin(x[1]);
      at.x0[std::size_t(c) * kN * kN + i] = u, energy += h * h * u * u / 2;
    }
  }
  const auto end = rollout.simulate(at).final_state;
  const double rate = 8 / (h * h) * std::sin(h / 2) * std::sin(h / 2) * nu, z = -rate * 1e-3;
  const double factor = 1 + z + z * z / 2 + z * z * z / 6;
  EXPECT_NEAR(number(rollout, end, "dissipation"), 2 * rate * energy * factor * factor, 1e-12);
}

// A closed box at rest under gravity: the pressure drop between two depths is that of the column between
// them.
TEST(Readings, APressureDropIsTheWeightOfTheColumn) {
  FlowOptions o{
      .cells = {6, 8}, .width = {0.5, 0.25, 1}, .dt = 0.1, .force = {0, -9.81, 0}, .pressure = true};
  for (std::size_t side = 0; side < 4; ++side) o.sides[side] = wall();
  o.scalars = {{.name = "T"}};
  o.probes = {{.name = "drop", .place = {1.1, 0.3, 0}, .minus = {{2.2, 1.5, 0}}}};
  Rollout<double> rollout(flow<double>(o), {.steps = 2, .active = {"force", "dt"}});
  auto at = rollout.arguments();
  const Signature& fields = rollout.system().signature();
  const auto T = std::size_t(fields.find(Role::state, "T").offset);
  for (std::size_t k = 0; k < 48; ++k) at.x0[T + k] = double(k / 6);
  const auto g = rollout.value_and_gradient(at, *loss::final_value<double>(fields, "drop/p", 0));
  EXPECT_NEAR(g.value, 9.81 * 1.2, 1e-12);
  EXPECT_NEAR(g.parameters["force"][1], -1.2, 1e-12);
  EXPECT_NEAR(g.parameters["dt"][0], 0, 1e-11);
  EXPECT_NEAR(number(rollout, rollout.simulate(at).final_state, "drop/T"), -1.2 / 0.25, 0.2);
}

// A plug of water in a channel is set in motion at once, by what comes in: that takes a pressure of length
// du/dt, half of it in the last stage of RK3. The step of Euler begins with what comes in beside water at
// rest: the first cell has a flux of momentum.
TEST(Readings, PressureHasTheShareOfTheLastStageInWhatASideThatChangesTakes) {
  for (const Scheme scheme : {Scheme::rk3, Scheme::euler}) {
    const double wanted = 5.5 * 0.3 / 0.1;
    FlowOptions o{.cells = {6, 4}, .dt = 0.1, .viscosity = 0.0, .scheme = scheme, .pressure = true};
    o.sides[0] = {.kind = Side::Kind::velocity, .velocity = {0.0, 0.0, 0.0}, .driven = true};
    o.sides[1] = {Side::Kind::outflow};
    o.sides[2] = o.sides[3] = {Side::Kind::slip};
    o.probes = {{.name = "inlet", .place = {0.5, 2, 0}}};
    Rollout<double> rollout(flow<double>(o), {.steps = 1});
    auto at = rollout.arguments();
    const Field& u = rollout.system().signature().find(Role::control, "west/u");
    std::fill_n(at.controls.begin() + u.offset, 4, 0.3);
    const auto end = rollout.simulate(at).final_state;
    const auto p = std::size_t(rollout.system().signature().find(Role::state, "inlet/p").offset);
    EXPECT_NEAR(end[p], scheme == Scheme::rk3 ? wanted / 2 : wanted - 0.15 * 0.15, 1e-12);
    EXPECT_NEAR(end[3], 0.3, 1e-13);
  }
}

// Of a wave, the square of the mix-norm is that of its amplitude over its discrete eigenvalue; its derivative
// with respect to the wave, the wave over the eigenvalue.
TEST(Readings, TheMixNormOfAWaveIsItsSquareOverItsEigenvalue) {
  constexpr Index kN = 12;
  const double h = 1.0 / kN;
  for (const bool walled : {false, true}) {
    FlowOptions o{.cells = {kN, 6}, .width = {h, 0.1, 1}, .dt = 0.1, .viscosity = 0.1};
    if (walled) o.sides[0] = o.sides[1] = wall();
    o.scalars = {{.name = "c", .diffusivity = 0, .mix_norm = true}};
    Rollout<double> rollout(flow<double>(o), {.steps = 1});
    auto at = rollout.arguments();
    const Signature& fields = rollout.system().signature();
    const auto c = std::size_t(fields.find(Role::state, "c").offset);
    const double k = walled ? 3 * pi : 4 * pi, lambda = 4 / (h * h) * std::pow(std::sin(k * h / 2), 2);
    double square = 0;
    for (std::size_t i = 0; i < kN * 6; ++i) {
      const double wave = std::cos(k * h * (double(i % kN) + 0.5));
      at.x0[c + i] = 5 + wave, square += wave * wave * h * 0.1;
    }
    const auto g =
        rollout.value_and_gradient(at, *loss::final_value<double>(fields, "c/mix_norm_squared", 0));
    EXPECT_NEAR(g.value, square / lambda, 1e-14);
    for (std::size_t i = 0; i < kN * 6; ++i)
      EXPECT_NEAR(g.x0[c + i], 2 * h * 0.1 * (at.x0[c + i] - 5) / lambda, 1e-14);
  }
}

TEST(Readings, KeepTheContract) {
  const auto gentle = [](auto real, std::string name) {
    return costate::test::Contract<decltype(real)>{.states = test::stirred<decltype(real)>,
                                                   .name = std::move(name),
                                                   .steps = 5,
                                                   .long_steps = 30,
                                                   .stencil_step = 3e-4};
  };
  FlowOptions box{.cells = {7, 5}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.1, .pressure = true};
  box.sides[2] = wall();
  box.sides[3] = wall({0.2, 0, 0});
  box.scalars = {{.name = "T", .diffusivity = 0.1, .buoyancy = {0.1, 0.3, 0}, .mix_norm = true}};
  box.obstacles = {{.center = {3.3, 2.8, 0}, .size = {1.8}}};
  box.probes = {{.name = "a", .place = {0.2, 0.1, 0}},
                {.name = "b", .place = {3, 2, 0}, .minus = {{6.2, 5, 0}}}};
  box.dissipation = true;
  expect_contract(flow<double>(box), gentle(0.0, "between walls"));
  expect_contract(flow<float>(box), gentle(0.0F, "between walls"));
  FlowOptions channel{.cells = {6, 5}, .dt = 0.2, .viscosity = 0.1};
  channel.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}, true};
  channel.sides[1] = {Side::Kind::outflow};
  channel.sides[2] = wall();
  channel.sides[3] = {Side::Kind::slip};
  channel.smagorinsky = 0.1, channel.dissipation = true;
  expect_contract(flow<double>(channel), gentle(0.0, "a channel"));
  FlowOptions cube{.cells = {4, 3, 5}, .dt = 0.2, .viscosity = 0.1, .scheme = Scheme::euler};
  cube.sides[4] = cube.sides[5] = wall();
  cube.scalars = {{.name = "T", .diffusivity = 0.1, .mix_norm = true}};
  cube.probes = {{.name = "a", .place = {0.2, 0.1, 4.9}}};
  cube.dissipation = true;
  expect_contract(flow<double>(cube), gentle(0.0, "3-D"));
}

TEST(Readings, SayWhatIsWrong) {
  FlowOptions o;
  o.probes = {{.name = "far", .place = {1, 40, 0}}};
  expect_error([&] { flow<double>(o); }, "'far' lies outside of the box: at 40 along axis 1", "inside");
  o.probes = {};
  o.sides[0] = wall(), o.sides[1] = {Side::Kind::outflow};
  o.scalars = {{.name = "dye", .mix_norm = true}};
  expect_error([&] { flow<double>(o); }, "'dye' can leave through the side east", "close the side");
}

}  // namespace
}  // namespace costate::fluid

// Limited upwind fluxes of speeds and scalars.
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;
using Carried = Scalar::Carried;

// --- against complex steps of an independent program -------------------------------------------------------

constexpr Index kNx = 9, kNy = 7, kSteps = 12;

// An inflow, an open side, a wall and a lid; warm fluid that rises. Both are carried by limited fluxes.
FlowOptions channel() {
  FlowOptions o{.cells = {kNx, kNy}, .width = {0.1, 0.12, 1}, .dt = 0.03, .viscosity = 0.002};
  o.limited = true;
  o.sides[0] = {Side::Kind::velocity, {1.0, 0.1, 0.0}};
  o.sides[1] = {Side::Kind::outflow};
  o.sides[2] = wall();
  o.sides[3] = wall({0.5, 0, 0});
  o.scalars = {{.name = "T",
                .diffusivity = 0.001,
                .buoyancy = {0, 0.5, 0},
                .carried = Carried::limited,
                .sides = {0.8}}};
  return o;
}

// The start for an amplitude of 1, and a direction, over u, v and T.
struct Start {
  std::vector<double> x, amplitude, direction;
};
Start start() {
  Start s;
  const auto add = [&](double kept, double by_amplitude, double along) {
    s.x.push_back(kept + by_amplitude);
    s.amplitude.push_back(by_amplitude), s.direction.push_back(along);
  };
  for (Index j = 0; j < kNy; ++j)
    for (Index i = 0; i <= kNx; ++i)
      add(0.6, 0.5 * std::sin(1.3 * double(i) + 2.1 * double(j)), std::sin(double(3 * i + 5 * j)));
  for (Index j = 0; j <= kNy; ++j)
    for (Index i = 0; i < kNx; ++i)
      add(0, 0.4 * std::cos(0.7 * double(i * j) + 1.1 * double(i) + 0.3 * double(j)),
          std::cos(double(2 * i + 7 * j)));
  for (Index j = 0; j < kNy; ++j)
    for (Index i = 0; i < kNx; ++i)
      add(0, std::sin(2.3 * double(i) + 0.9 * double(j * j)), std::cos(double(i + j)));
  return s;
}

// In the order of the program: value, nu, inflow, T on the inflow, dt, amplitude, buoyancy, direction, lid,
// D.
std::vector<double> derivatives(const Gradient<double>& g, const Start& s) {
  double amplitude = 0, along = 0;
  for (std::size_t i = 0; i < s.x.size(); ++i)
    amplitude += g.x0[i] * s.amplitude[i], along += g.x0[i] * s.direction[i];
  return {g.value,
          test::sum(g.parameters["viscosity"]),
          test::sum(g.parameters["west/u"]),
          test::sum(g.parameters["T/west"]),
          g.parameters["dt"][0],
          amplitude,
          g.parameters["T/buoyancy"][1],
          along,
          test::sum(g.parameters["north/u"]),
          g.parameters["T/diffusivity"][0]};
}

TEST(Limited, AChannelMatchesComplexStepsInAllDerivatives) {
  const auto system = flow<double>(channel());
  Rollout<double> rollout(system, {.steps = kSteps});
  auto at = rollout.arguments();
  const Start from = start();
  at.x0 = from.x;
  // The faces of the inflow count in the energy: the program has them too.
  const auto& fields = system->signature();
  const auto speeds =
      derivatives(rollout.value_and_gradient(at, *loss::sum<double>({loss::final<double>(fields, "u", {}),
                                                                     loss::final<double>(fields, "v", {})})),
                  from);
  const double energy[] = {35.32490924822935,   11.707330422057192,  70.08250849228827, 0.15746396234034546,
                           5.477741455936768,   0.17652919100608938, 0.255712034656263, -0.18320596346956647,
                           0.04576323763585341, 0.1263270398497847};
  const auto warmth =
      derivatives(rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "T", {})), from);
  const double content[] = {7.183999534848823,     2.983365168264483,   7.608173762871782,
                            17.454682837275403,    251.46325220743438,  0.3555283353525975,
                            -0.005615808928109245, 0.21673931524349527, -0.003147228738636952,
                            -12.707430283460193};
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_NEAR(warmth[i], content[i], 1e-11 * std::max(1.0, std::abs(content[i]))) << i;
    EXPECT_NEAR(speeds[i], energy[i], 1e-11 * std::max(1.0, std::abs(energy[i]))) << i;
  }
}

// --- fronts ------------------------------------------------------------------------------------------------

// A square of dye that a stirred closed box carries along: the least and the largest number.
std::array<double, 2> extremes_of_dye(Carried carried) {
  FlowOptions o{.cells = {24, 24}, .dt = 0.2, .viscosity = 0.02};
  for (std::size_t side = 0; side < 4; ++side) o.sides[side] = wall();
  o.sides[3] = wall({1, 0, 0});
  o.scalars = {{.name = "dye", .diffusivity = 0, .carried = carried}};
  Rollout<double> rollout(flow<double>(o), {.steps = 300});
  auto at = rollout.arguments();
  const auto dye = std::size_t(rollout.system().signature().find(Role::state, "dye").offset);
  for (std::size_t k = 0; k < 24 * 24; ++k) at.x0[dye + k] = k % 24 > 7 && k % 24 < 16 && k / 24 > 12 ? 1 : 0;
  const double before = test::sum({at.x0.data() + dye, 24 * 24});
  const auto end = rollout.simulate(at).final_state;
  EXPECT_NEAR(test::sum({end.data() + dye, 24 * 24}), before, 1e-10);
  const auto [least, most] = std::minmax_element(end.begin() + std::ptrdiff_t(dye), end.end());
  return {*least, *most};
}

TEST(Limited, FrontsMakeNoRipples) {
  const auto limited = extremes_of_dye(Carried::limited), central = extremes_of_dye(Carried::central);
  EXPECT_GE(limited[0], -1e-10);
  EXPECT_LE(limited[1], 1 + 1e-10);
  EXPECT_GT(limited[1], 0.2);  // of which something is left
  EXPECT_LT(central[0], -0.05);
}

// Shear layers that a grid is too coarse for: with central fluxes speeds of an inviscid flow keep their
// energy and become noise, limited ones lose it and stay smooth. The largest speed does not grow.
TEST(Limited, AnInviscidShearLayerStaysTame) {
  FlowOptions o{.cells = {32, 32}, .width = {1.0 / 32, 1.0 / 32, 1}, .dt = 0.01, .viscosity = 0.0};
  o.limited = true;
  Rollout<double> rollout(flow<double>(o), {.steps = 150});
  auto at = rollout.arguments();
  for (std::size_t j = 0; j < 32; ++j)
    for (std::size_t i = 0; i < 32; ++i) {
      at.x0[32 * j + i] = j >= 8 && j < 24 ? 1 : -1;
      at.x0[32 * 32 + 32 * j + i] = 0.05 * std::sin(2 * std::numbers::pi * (double(i) + 0.5) / 32);
    }
  double before = 0, after = 0, fastest = 0;
  const auto end = rollout.simulate(at).final_state;
  for (std::size_t i = 0; i < end.size(); ++i) {
    before += at.x0[i] * at.x0[i], after += end[i] * end[i];
    fastest = std::max(fastest, std::abs(end[i]));
  }
  EXPECT_LT(after, before);
  EXPECT_GT(after, 0.7 * before);
  EXPECT_LT(fastest, 1.5);
}

// The mean error of a wave after a turn of the box falls as h^2.
TEST(Limited, ASmoothWaveIsCarriedWithSecondOrder) {
  std::vector<double> error;
  for (const Index n : {32, 64, 128}) {
    FlowOptions o{.cells = {n, 4}, .width = {1.0 / double(n), 1, 1}, .dt = 0.4 / double(n), .viscosity = 0.0};
    o.scalars = {{.name = "c", .diffusivity = 0, .carried = Carried::limited}};
    Rollout<double> rollout(flow<double>(o), {.steps = n * 5 / 2});
    auto at = rollout.arguments();
    const auto c = std::size_t(rollout.system().signature().find(Role::state, "c").offset);
    std::fill_n(at.x0.begin(), 4 * n, 1.0);
    for (std::size_t i = 0; i < std::size_t(4 * n); ++i)
      at.x0[c + i] = std::sin(2 * std::numbers::pi * double(i % std::size_t(n)) / double(n));
    const auto end = rollout.simulate(at).final_state;
    double sum = 0;
    for (std::size_t i = 0; i < std::size_t(4 * n); ++i) sum += std::abs(end[c + i] - at.x0[c + i]);
    error.push_back(sum / double(4 * n));
  }
  EXPECT_GT(std::log2(error[0] / error[1]), 1.8);
  EXPECT_GT(std::log2(error[1] / error[2]), 1.8);
}

// Rounding does not choose the side of a corner: where a scalar is the same everywhere, its derivative with
// respect to the value of what comes in is that of a smooth field (1 through the side, 1/4 less of twice the
// ghost through the face behind it), and the same if rounding has disturbed it.
TEST(Limited, APlainHasTheDerivativeOfASmoothField) {
  for (const double noise : {0.0, 1e-16}) {
    FlowOptions o{.cells = {8, 4}, .dt = 0.25, .viscosity = 0.0, .scheme = Scheme::euler};
    o.sides[0] = {Side::Kind::velocity, {1.0, 0.0, 0.0}};
    o.sides[1] = {Side::Kind::outflow};
    o.scalars = {{.name = "c", .diffusivity = 0, .carried = Carried::limited, .sides = {0.7}}};
    const auto system = flow<double>(o);
    Rollout<double> rollout(system, {.steps = 1});
    auto at = rollout.arguments();
    std::fill_n(at.x0.begin(), 9 * 4, 1.0);
    const Index c = system->signature().find(Role::state, "c").offset;
    for (Index k = 0; k < 32; ++k) at.x0[std::size_t(c + k)] = 0.7 + noise * double(k % 3 - 1);
    const auto g = rollout.value_and_gradient(at, *loss::final_value<double>(system->signature(), "c", 0));
    EXPECT_NEAR(g.value, 0.7, 1e-15);
    EXPECT_NEAR(g.parameters["c/west"][0], 0.25 * 1.5, 1e-14);
  }
}

// The flux through a wall that stands still has a corner: what is blown in comes from beyond it, what is
// sucked out from inside. The derivative with respect to the speed across the wall is the mean of both
// slopes.
TEST(Limited, AcrossAWallTheDerivativeIsTheMeanOfBothSlopes) {
  FlowOptions o{.cells = {6, 5}, .dt = 0.08, .viscosity = 0.04, .scheme = Scheme::euler};
  o.limited = true;
  o.sides[2] = o.sides[3] = wall();
  o.scalars = {{.name = "c", .diffusivity = 0.02, .carried = Carried::limited}};
  const auto system = flow<double>(o);
  Rollout<double> rollout(system, {.steps = 1});
  auto at = rollout.arguments();
  for (std::size_t i = 0; i < at.x0.size(); ++i) at.x0[i] = std::sin(double(i * i + 3 * i));
  const auto loss = loss::sum<double>(
      {loss::final<double>(system->signature(), "c", {}), loss::final<double>(system->signature(), "u", {})});
  const auto g = rollout.value_and_gradient(at, *loss);
  const auto slope = [&](const std::string& side, std::size_t i, double h) {
    auto moved = at;
    std::vector<double> v(6, -h / 6);  // nothing in all
    v[i] += h;
    moved.parameters.set(side, v);
    return (rollout.value(moved, *loss) - g.value) / h;
  };
  for (const std::string side : {"south/v", "north/v"})
    for (std::size_t i = 0; i < 6; ++i) {
      const std::span<const double> bar = g.parameters[side];
      const double along = bar[i] - test::sum(bar) / 6, in = slope(side, i, 1e-6),
                   out = slope(side, i, -1e-6);
      EXPECT_NEAR(along, 0.5 * (in + out), 1e-6) << side << i;
      EXPECT_GT(std::abs(in - out), 1e-4);
    }
}

// --- contract ----------------------------------------------------------------------------------------------

TEST(Limited, KeepsTheContractOnWhateverSides) {
  FlowOptions o{.cells = {7, 5}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.05, .push = true};
  o.limited = true, o.smagorinsky = 0.1;
  o.sides[0] = {Side::Kind::outflow};
  o.sides[1] = {Side::Kind::velocity, {-0.3, 0.05, 0.0}, true};
  o.sides[2] = wall({0.1, 0.02, 0});  // speeds across a wall of 0 lie on a corner
  o.sides[3] = {Side::Kind::slip};
  o.scalars = {{.name = "T", .diffusivity = 0.05, .buoyancy = {0, 0.2, 0}, .carried = Carried::limited},
               {.name = "salt", .carried = Carried::central}};
  o.scalars[0].sides[1] = 0.3;
  o.obstacles = {{.center = {3.2, 2.8, 0}, .size = {1.8}, .velocity = {0.1, 0, 0}}};
  const auto near_no_corner = [](std::string name) {
    return costate::test::Contract<double>{.states = test::stirred<double>,
                                           .name = std::move(name),
                                           .steps = 4,
                                           .long_steps = 30,
                                           .stencil_step = 1e-5,
                                           .taylor_step = 0,
                                           .second_order_step = 1e-6};
  };
  expect_contract(flow<double>(o), near_no_corner("sides"));
  FlowOptions box{.cells = {4, 3, 5}, .dt = 0.2, .viscosity = 0.05};
  box.limited = true;
  box.sides[2] = box.sides[3] = wall({0, 0.02, 0.01});
  expect_contract(flow<double>(box), near_no_corner("3-D"));
  FlowOptions traced{.cells = {6, 5}, .dt = 0.3, .viscosity = 0.1, .scheme = Scheme::semi_lagrangian};
  traced.scalars = {{.name = "T", .buoyancy = {0, 0.1, 0}, .carried = Carried::limited}};
  expect_contract(flow<double>(traced), near_no_corner("traced speeds"));
}

TEST(Limited, SaysWhatIsWrong) {
  FlowOptions o;
  o.limited = true, o.scheme = Scheme::semi_lagrangian;
  expect_error([&] { flow<double>(o); }, "the scheme semi_lagrangian has no fluxes of speeds", "rk3");
  o.scheme = Scheme::stokes;
  expect_error([&] { flow<double>(o); }, "the scheme stokes has no fluxes", "leave out `limited`");
}

}  // namespace
}  // namespace costate::fluid

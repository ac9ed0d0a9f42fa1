// Grids whose cells have different widths.
#include <gtest/gtest.h>

#include "costate/fluid/flow_places.h"
#include "costate/fluid/grid/graded.h"
#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;
using std::numbers::pi;
using test::sum;

// Widths between 0.7 and 1.3 of `width`, without any order.
std::vector<double> uneven(Index n, double width, unsigned seed) {
  std::vector<double> widths;
  for (Index i = 0; i < n; ++i) widths.push_back(width * (0.7 + 0.6 * uniform(seed, 8, std::uint32_t(i))));
  return widths;
}
// d of a face of component c, times the widths of its cell along the other axes: in the order of the state.
std::vector<double> face_sizes(const FlowOptions& o, int c) {
  std::array<std::vector<double>, 3> along;
  const auto n = face_counts(o, c);
  for (std::size_t a = 0; a < 3; ++a) {
    const bool wraps = o.sides[2 * a].kind == Side::Kind::periodic;
    const std::vector<double> w = a < o.cells.size() ? o.widths[a] : std::vector<double>{1};
    for (Index i = 0; i < n[a]; ++i) {
      const Index m = Index(w.size()), low = i > 0 ? i - 1 : wraps ? m - 1 : 0, high = std::min(i, m - 1);
      along[a].push_back(int(a) == c ? (w[std::size_t(low)] + w[std::size_t(high)]) / 2 : w[std::size_t(i)]);
    }
  }
  std::vector<double> sizes;
  for (const double z : along[2])
    for (const double y : along[1])
      for (const double x : along[0]) sizes.push_back(x * y * z);
  return sizes;
}

TEST(GradedWidths, AreTheSameWhereAskedAndGrowByOneFactorElsewhere) {
  const auto w = graded_widths({{0, 1}, {0.5, 1}, {2, 4}}, 60);
  ASSERT_EQ(w.size(), 60U);
  EXPECT_NEAR(sum(w), 2, 1e-14);
  double place = w[0];
  for (std::size_t i = 1; i < 60; ++i) {
    if (place + w[i] < 0.5) {
      EXPECT_NEAR(w[i], w[0], 1e-13);
    } else if (place - w[i - 1] > 0.5) {
      EXPECT_NEAR(w[i] / w[i - 1], w[59] / w[58], 1e-12);
    }
    place += w[i];
  }
  // dx/di = c (1 + 2 (x - 1/2)) from 1/2 on: the logarithm of the last width over the first one is that of 4,
  // but for half a cell.
  EXPECT_NEAR(w[59] / w[0], 4, 0.1);
  const auto told = graded_widths({{0, 0.01}, {0.503, 0.01}, {1, 0.02}});
  EXPECT_NEAR(told[0], 0.01, 1e-4);
  EXPECT_NEAR(sum(told), 1, 1e-14);
}
TEST(GradedWidths, SayWhatIsWrong) {
  expect_error([] { graded_widths({{0, 1}}, 8); }, "pairs of a place and a width", "write pairs");
  expect_error([] { graded_widths({{0.1, 1}, {1, 1}}, 8); }, "the first place is 0", "write pairs");
  expect_error([] { graded_widths({{0, 1}, {1, 0}}, 8); }, "widths be positive", "write pairs");
  expect_error([] { graded_widths({{0, 1}, {1, 1}, {1, 2}}, 8); }, "places must grow", "write pairs");
  expect_error([] { graded_widths({{0, 1}, {1, 1}}, 1); }, "an axis has 1 cells", "at least 2");
  expect_error(
      [] {
        graded_widths({{0, 1e-6}, {1, 1e-6}});
      },
      "an axis of such widths has", "make cells wider");
}

// Between plates a force is balanced by the shear, which falls linearly from wall to wall: speeds are sums of
// it over the distances between middles of cells. With all derivatives of the flux.
TEST(Stretched, FlowBetweenPlatesIsThatOfTheScheme) {
  constexpr Index kN = 9;
  const double nu = 0.1, g = 1;
  FlowOptions o{.cells = {4, kN}, .width = {0.1, 1, 1}, .dt = 0.02, .viscosity = nu, .force = {g, 0, 0}};
  o.widths[1] = uneven(kN, 0.11, 1);
  o.sides[2] = o.sides[3] = wall();
  o.dissipation = true;
  const std::vector<double>& w = o.widths[1];
  const double height = sum(w);
  // u = C a - (g / nu) b
  std::vector<double> a = {w[0] / 2}, b = {0};
  double y = 0;
  for (std::size_t j = 1; j < kN; ++j) {
    const double d = (w[j - 1] + w[j]) / 2;
    y += w[j - 1];
    a.push_back(a.back() + d), b.push_back(b.back() + d * y);
  }
  const double C = (b.back() + w[kN - 1] / 2 * height) / (a.back() + w[kN - 1] / 2) * g / nu;
  Rollout<double> rollout(flow<double>(o), {.steps = 4000, .active = {"viscosity", "force"}});
  const Signature& fields = rollout.system().signature();
  std::vector<double> weights(std::size_t(fields.states()), 0.0);
  double flux = 0;
  for (std::size_t j = 0; j < kN; ++j) {
    weights[4 * j] = w[j];
    flux += w[j] * (C * a[j] - g / nu * b[j]);
  }
  const auto end = rollout.simulate(rollout.arguments()).final_state;
  for (std::size_t j = 0; j < kN; ++j) EXPECT_NEAR(end[4 * j], C * a[j] - g / nu * b[j], 1e-12);
  EXPECT_NEAR(end[std::size_t(fields.find(Role::state, "dissipation").offset)], g * flux * 0.4, 1e-12);
  const auto gradient =
      rollout.value_and_gradient(rollout.arguments(), *loss::cotangents<double>(fields, {4000}, {weights}));
  EXPECT_NEAR(gradient.parameters["force"][0], flux / g, 1e-11);
  EXPECT_NEAR(sum(gradient.parameters["viscosity"]), -flux / nu, 1e-10);
}

// Without viscosity what a field of speeds without divergence carries neither gives nor takes energy, however
// uneven the grid is; and no momentum is lost in a box that wraps.
TEST(Stretched, FluxesKeepEnergyAndMomentum) {
  for (const bool closed : {false, true}) {
    FlowOptions o{.cells = {7, 6, 5}, .dt = 1e-9, .viscosity = 0.0, .scheme = Scheme::euler};
    for (std::size_t a = 0; a < 3; ++a) o.widths[a] = uneven(o.cells[a], 1, unsigned(a));
    for (std::size_t side = 0; closed && side < 6; ++side) o.sides[side] = {Side::Kind::slip};
    Rollout<double> rollout(flow<double>(o), {.steps = 1, .active = {"dt"}});
    auto at = rollout.arguments();
    at.x0 = rollout.simulate(test::stirred(rollout, 3)).final_state;  // without divergence
    const Signature& fields = rollout.system().signature();
    std::vector<double> energy, momentum;
    for (int c = 0; c < 3; ++c)
      for (const double size : face_sizes(o, c)) {
        energy.push_back(size * at.x0[energy.size()]);
        momentum.push_back(c == 0 ? size : 0.0);
      }
    const auto rate = [&](const std::vector<double>& weights) {
      return rollout.value_and_gradient(at, *loss::cotangents<double>(fields, {1}, {weights}))
          .parameters["dt"][0];
    };
    EXPECT_NEAR(rate(energy), 0, 1e-12);
    if (!closed) {
      EXPECT_NEAR(rate(momentum), 0, 1e-12);
    }
  }
}

// The vortices of Taylor and Green, on a grid that is finer in the middle: approached with second order, with
// the derivatives.
TEST(Stretched, TaylorGreenIsApproachedWithSecondOrder) {
  const double nu = 0.05, dt = 0.01;
  double before[2] = {};
  for (const Index n : {16, 32, 64}) {
    FlowOptions o{.cells = {n, n}, .dt = dt, .viscosity = nu};
    for (std::size_t a = 0; a < 2; ++a) {
      const auto face = [&](Index i) {
        const double s = 2 * pi * double(i) / double(n);
        return s + 0.3 * std::sin(s + double(a));
      };
      for (Index i = 0; i < n; ++i) o.widths[a].push_back(face(i + 1) - face(i));
    }
    Rollout<double> rollout(flow<double>(o), {.steps = 50, .active = {"viscosity"}});
    auto at = rollout.arguments();
    std::vector<double> weights;
    for (int c = 0; c < 2; ++c) {
      const auto places = face_places(o, c);
      const auto sizes = face_sizes(o, c);
      for (std::size_t i = 0; i < places.size(); ++i) {
        const auto& x = places[i];
        at.x0[weights.size()] = c == 0 ? std::sin(x[0]) * std::cos(x[1]) : -std::cos(x[0]) * std::sin(x[1]);
        weights.push_back(sizes[i] * at.x0[weights.size()]);
      }
    }
    const auto g = rollout.value_and_gradient(
        at, *loss::cotangents<double>(rollout.system().signature(), {50}, {weights}));
    const double decayed = 2 * pi * pi * std::exp(-2 * nu * 50 * dt);
    const double error[2] = {std::abs(g.value - decayed),
                             std::abs(sum(g.parameters["viscosity"]) + 2 * 50 * dt * decayed)};
    for (std::size_t k = 0; k < 2; ++k) {
      if (before[k] > 0) {
        EXPECT_NEAR(std::log2(before[k] / error[k]), 2, 0.2) << "of " << k;
      }
      before[k] = error[k];
    }
  }
}

// Cells of one width, told one by one, are an even grid.
TEST(Stretched, EqualWidthsAreAnEvenGrid) {
  FlowOptions even{.cells = {14, 13}, .width = {0.1, 0.12, 1}, .dt = 0.02, .viscosity = 0.05};
  even.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}};
  even.sides[1] = {Side::Kind::outflow};
  even.sides[2] = wall({0.1, 0, 0});
  even.sides[3] = {Side::Kind::slip};
  even.smagorinsky = 0.1;
  even.obstacles = {
      {.name = "mask", .center = {0.5, 0.7, 0}, .size = {0.25}, .spin = {0, 0, 0.3}},
      {.name = "held", .center = {0.93, 0.82, 0}, .size = {0.25}, .core = Obstacle::Core::surface}};
  even.scalars = {{.name = "T", .buoyancy = {0.1, 0.3, 0}}};
  even.probes = {{.name = "near", .place = {0.31, 0.02, 0}}};
  even.tracers = {{.name = "seeds", .count = 2}};
  even.dissipation = true;
  FlowOptions told = even;
  told.widths = {std::vector<double>(14, 0.1), std::vector<double>(13, 0.12)};
  std::vector<double> value[2];
  Gradient<double> gradient[2];
  for (const std::size_t k : {std::size_t(0), std::size_t(1)}) {
    Rollout<double> rollout(flow<double>(k == 0 ? even : told), {.steps = 5});
    auto at = test::stirred(rollout, 4);
    const Field& seeds = rollout.system().signature().find(Role::state, "seeds");
    for (std::size_t i = 0; i < 4; ++i) at.x0[std::size_t(seeds.offset) + i] = 0.3 + 0.2 * double(i);
    value[k] = rollout.simulate(at).final_state;
    gradient[k] = rollout.value_and_gradient(
        at, *loss::cotangents<double>(rollout.system().signature(), {5}, {value[k]}));
  }
  for (std::size_t i = 0; i < value[0].size(); ++i) EXPECT_NEAR(value[1][i], value[0][i], 1e-12);
  for (std::size_t i = 0; i < value[0].size(); ++i) EXPECT_NEAR(gradient[1].x0[i], gradient[0].x0[i], 1e-11);
  for (const char* name : {"viscosity", "dt", "force", "smagorinsky", "west/u", "mask/center", "mask/size",
                           "mask/spin", "held/center", "held/size", "T/diffusivity", "T/buoyancy"})
    for (std::size_t i = 0; i < gradient[0].parameters[name].size(); ++i) {
      const double expected = gradient[0].parameters[name][i];
      EXPECT_NEAR(gradient[1].parameters[name][i], expected, 1e-10 * (1 + std::abs(expected))) << name;
    }
}

// What a body takes the flow loses: with a mask, and with points where cells have one width.
TEST(Stretched, ForceOnABodyIsTheMomentumThatTheFlowLoses) {
  for (const auto core : {Obstacle::Core::firm, Obstacle::Core::surface}) {
    FlowOptions o{.cells = {24, 26}, .dt = 0.002, .viscosity = 0.1, .force = {1, 0, 0}};
    for (std::size_t a = 0; a < 2; ++a)
      o.widths[a] = graded_widths({{0, 2}, {0.25, 1}, {0.75, 1}, {1, 2}}, o.cells[a]);
    o.obstacles = {{.name = "disc", .center = {0.52, 0.47, 0}, .size = {0.12}, .core = core}};
    Rollout<double> rollout(flow<double>(o), {.steps = 30, .keep = 1});
    const auto run = rollout.simulate(rollout.arguments());
    const Signature& fields = rollout.system().signature();
    const auto sizes = face_sizes(o, 0);
    const auto momentum = [&](std::size_t k) {
      double total = 0;
      for (std::size_t i = 0; i < sizes.size(); ++i)
        total += sizes[i] * run.states[k * std::size_t(fields.states()) + i];
      return total;
    };
    const double drag = run.final_state[std::size_t(fields.find(Role::state, "disc/force").offset)];
    EXPECT_GT(drag, 0.01);
    EXPECT_NEAR((momentum(30) - momentum(29)) / 0.002 + drag, 1.0, 1e-10);
  }
}

// What a body that the flow moves gains the fluid loses, whatever the cells around it.
TEST(Stretched, ABodyThatTheFlowMovesExchangesMomentum) {
  FlowOptions o{.cells = {20, 22}, .dt = 0.01, .viscosity = 0.02};
  o.widths = {uneven(20, 0.05, 1), uneven(22, 0.05, 2)};
  o.obstacles = {{.name = "disc", .center = {0.5, 0.5, 0}, .size = {0.2}}};
  o.obstacles[0].free = Obstacle::Free{.mass = 0.05, .inertia = 0.001};
  Rollout<double> rollout(flow<double>(o), {.steps = 20});
  const auto at = test::stirred(rollout, 3);
  const auto end = rollout.simulate(at).final_state;
  const auto rate = std::size_t(rollout.system().signature().find(Role::state, "disc/rate").offset);
  for (int c = 0; c < 2; ++c) {
    const auto sizes = face_sizes(o, c);
    const auto momentum = [&](const std::vector<double>& x) {
      double total = 0.05 * x[rate + std::size_t(c)];
      for (std::size_t i = 0; i < sizes.size(); ++i) total += sizes[i] * x[std::size_t(c) * 440 + i];
      return total;
    };
    EXPECT_GT(std::abs(end[rate + std::size_t(c)] - at.x0[rate + std::size_t(c)]), 1e-3);
    EXPECT_NEAR(momentum(end), momentum(at.x0), 1e-14) << c;
  }
}

// A flow that is linear in x and y: probes say it, and a point moves with it by one step of Euler.
TEST(Stretched, ProbesAndTracersSeeALinearFlowExactly) {
  FlowOptions o{.cells = {6, 5}, .dt = 0.1, .viscosity = 0.0, .scheme = Scheme::euler};
  o.widths = {uneven(6, 0.5, 1), uneven(5, 0.4, 2)};
  o.sides.fill({.kind = Side::Kind::velocity});
  o.tracers = {{.name = "seeds", .count = 3}};
  const auto speed = [](int c, double x, double y) {
    return c == 0 ? 0.3 * x + 0.5 * y - 0.2 : 0.2 - 0.2 * x - 0.3 * y;
  };
  for (std::size_t side = 0; side < 4; ++side)
    for (int c = 0; c < 2; ++c) {
      std::vector<double> speeds;
      for (const auto& x : side_places(o, side, c)) speeds.push_back(speed(c, x[0], x[1]));
      o.sides[side].velocity[std::size_t(c)] = speeds;
    }
  Rollout<double> rollout(flow<double>(o), {.steps = 1});
  auto at = rollout.arguments();
  std::size_t next = 0;
  for (int c = 0; c < 2; ++c)
    for (const auto& x : face_places(o, c)) at.x0[next++] = speed(c, x[0], x[1]);
  const std::array<std::array<double, 2>, 3> from = {{{0.03, 0.05}, {1.4, 0.9}, {2.6, 0.1}}};
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t a = 0; a < 2; ++a) at.x0[next + 2 * k + a] = from[k][a];
  std::vector<double> weights(at.x0.size(), 0.0);
  weights[next] = weights[next + 3] = 1;
  const auto end = rollout.simulate(at).final_state;
  for (std::size_t k = 0; k < 3; ++k)
    for (int c = 0; c < 2; ++c)
      EXPECT_NEAR(end[next + 2 * k + std::size_t(c)],
                  from[k][std::size_t(c)] + 0.1 * speed(c, from[k][0], from[k][1]), 1e-14);
  const auto g =
      rollout.value_and_gradient(at, *loss::cotangents<double>(rollout.system().signature(), {1}, {weights}));
  EXPECT_NEAR(g.x0[next], 1.03, 1e-13);
  EXPECT_NEAR(g.x0[next + 1], 0.05, 1e-13);
  EXPECT_NEAR(g.x0[next + 2], -0.02, 1e-13);
  EXPECT_NEAR(g.x0[next + 3], 0.97, 1e-13);
}

TEST(Stretched, KeepsTheContract) {
  const auto gentle = [](auto real, std::string name) {
    return costate::test::Contract<decltype(real)>{.states = test::stirred<decltype(real)>,
                                                   .name = std::move(name),
                                                   .steps = 5,
                                                   .hold = 3,
                                                   .long_steps = 20,
                                                   .stencil_step = 3e-4};
  };
  FlowOptions channel{.cells = {8, 5}, .width = {1, 1.1, 1}, .dt = 0.1, .viscosity = 0.1, .pressure = true};
  channel.widths[0] = uneven(8, 0.9, 1);
  channel.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}, true};
  channel.sides[1] = {Side::Kind::outflow};
  channel.sides[2] = wall({0.1, 0, 0});
  channel.sides[3] = {Side::Kind::slip};
  channel.obstacles = {{.center = {3.3, 2.8, 0}, .size = {1.8}, .spin = {0, 0, 0.2}, .moves = true}};
  channel.smagorinsky = 0.1;
  channel.probes = {{.name = "a", .place = {0.2, 0.1, 0}},
                    {.name = "b", .place = {3, 2, 0}, .minus = {{5, 4, 0}}}};
  expect_contract(flow<double>(channel), gentle(0.0, "a stretched channel"));
  expect_contract(flow<float>(channel), gentle(0.0F, "a stretched channel"));
  FlowOptions box{.cells = {6, 7}, .dt = 0.1, .viscosity = 0.1, .push = true, .dissipation = true};
  box.widths = {uneven(6, 0.9, 1), uneven(7, 1.1, 2)};
  box.sides[2] = box.sides[3] = wall({0.2, 0, 0});
  box.scalars = {{.name = "T", .diffusivity = 0.1, .buoyancy = {0.1, 0.3, 0}, .mix_norm = true}};
  box.scalars[0].sides[2] = 1.0;
  expect_contract(flow<double>(box), gentle(0.0, "a stretched box"));
  FlowOptions cube{
      .cells = {4, 3, 5}, .dt = 0.1, .viscosity = 0.1, .scheme = Scheme::euler, .smagorinsky = 0.1};
  cube.widths = {uneven(4, 0.9, 1), {}, uneven(5, 1, 2)};
  cube.sides[4] = cube.sides[5] = wall();
  cube.sides[0] = {Side::Kind::outflow}, cube.sides[1] = wall();
  expect_contract(flow<double>(cube), gentle(0.0, "stretched in 3-D"));
  expect_contract(flow<float>(cube), gentle(0.0F, "stretched in 3-D"));
}

TEST(Stretched, BodiesOfEveryKindKeepTheContract) {
  const auto gentle = [](const char* name) {
    return costate::test::Contract<double>{.states = test::stirred<double>,
                                           .name = name,
                                           .steps = 4,
                                           .hold = 2,
                                           .long_steps = 12,
                                           .stencil_step = 3e-4};
  };
  FlowOptions basin{.cells = {6, 7}, .dt = 0.1, .viscosity = 0.1, .pressure = true};
  basin.widths = {uneven(6, 0.9, 1), uneven(7, 1.1, 2)};
  basin.sides[2] = basin.sides[3] = wall({0.2, 0, 0});
  std::vector<double> depth;
  for (int j = 0; j < 7; ++j)
    for (int i = 0; i < 6; ++i) depth.push_back(1.4 - std::hypot(0.9 * (i - 2.6), 1.1 * (j - 3.1)));
  basin.obstacles = {{.name = "level",
                      .shape = Obstacle::Shape::level,
                      .center = {2.5, 4, 0},
                      .size = depth,
                      .spin = {0, 0, 0.2}}};
  expect_contract(flow<double>(basin), gentle("a level set on two stretched axes"));
  FlowOptions pool{.cells = {10, 9}, .dt = 0.2, .viscosity = 0.1};
  pool.widths = {uneven(10, 0.9, 1), uneven(9, 1.1, 2)};
  pool.sides[2] = wall({0.1, 0, 0}), pool.sides[3] = wall();
  pool.obstacles = {
      {.name = "plate", .shape = Obstacle::Shape::ellipsoid, .center = {3.7, 5, 0}, .size = {2.6, 2.1}}};
  pool.obstacles[0].angle = 0.4;
  pool.obstacles[0].free = Obstacle::Free{.mass = 2, .inertia = 3, .gravity = {0.1, -0.2}};
  expect_contract(flow<double>(pool), gentle("a plate that falls through stretched cells"));
  FlowOptions tank{.cells = {6, 5, 6}, .dt = 0.1, .viscosity = 0.1};
  tank.widths = {uneven(6, 0.9, 1), {}, uneven(6, 1, 2)};
  tank.sides[4] = tank.sides[5] = wall();
  tank.obstacles = {{.name = "ball",
                     .center = {2.6, 2.4, 2.9},
                     .size = {1.8},
                     .velocity = {0.2, 0.1, -0.1},
                     .spin = {0.1, -0.2, 0.3},
                     .moves = true}};
  expect_contract(flow<double>(tank), gentle("a ball that moves in a stretched tank"));
}

TEST(Stretched, SaysWhatIsWrong) {
  FlowOptions o{.cells = {8, 8}};
  o.widths[1] = {1, 2, 3};
  expect_error([&] { flow<double>(o); }, "an axis of 8 cells has 3 widths", "one width per cell");
  o.widths[1] = uneven(8, 1, 1);
  o.widths[1][3] = 0;
  expect_error([&] { flow<double>(o); }, "the width of a cell is 0", "positive");
  o.widths[1] = uneven(8, 1, 1);
  o.implicit = true;
  expect_error([&] { flow<double>(o); }, "rk3 and euler with central fluxes and explicit viscosity",
               "one width");
  o.implicit = false, o.scheme = Scheme::semi_lagrangian;
  expect_error([&] { flow<double>(o); }, "a stretched grid is for", "one width");
  o.scheme = Scheme::rk3;
  o.scalars = {{.carried = Scalar::Carried::limited}};
  expect_error([&] { flow<double>(o); }, "a stretched grid is for", "one width");
  o = {.cells = {2050, 2049}};
  o.widths = {uneven(2050, 1, 1), uneven(2049, 1, 2)};
  expect_error([&] { flow<double>(o); }, "a second stretched axis has 2049 cells", "stretch one axis");
  o = {.cells = {16, 16}};
  o.widths[0] = uneven(16, 1, 1);
  o.obstacles = {{.center = {8, 8, 0}, .size = {3}, .core = Obstacle::Core::surface}};
  Rollout<double> rollout(flow<double>(o), {.steps = 1});
  expect_error([&] { rollout.simulate(rollout.arguments()); }, "cells are stretched where the surface",
               "one width around the body");
}

}  // namespace
}  // namespace costate::fluid

// Bodies whose surface holds the flow: no slip, the physics, and the derivatives with respect to shape and
// place.
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;

FlowOptions around(const Obstacle& body) {
  FlowOptions o{.cells = {14, 13}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.1, .obstacles = {body}};
  o.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}};
  o.sides[1] = {Side::Kind::outflow};
  o.sides[2] = wall({0.1, 0, 0});
  o.sides[3] = {Side::Kind::slip};
  o.obstacles[0].core = Obstacle::Core::surface;
  return o;
}

// A disc in a stream, with a surface that turns: at its points the flow has the surface's speed, as the
// weights of the points see it.
TEST(Surface, HoldsTheFlowWithoutSlip) {
  const double r = 2.5, spin = 0.3, inside = 0.2845238 * 1.1;
  const FlowOptions o = around({.center = {6.1, 7.2, 0}, .size = {r}, .spin = {0, 0, spin}});
  Rollout<double> rollout(flow<double>(o), {.steps = 5});
  const auto end = rollout.simulate(test::stirred(rollout, 3)).final_state;
  const auto hat = [](double t) {
    t = std::abs(t);
    return t < 0.5 ? 0.75 - t * t : t < 1.5 ? 0.5 * (1.5 - t) * (1.5 - t) : 0.0;
  };
  const auto count = std::size_t(std::ceil(2 * std::numbers::pi * r / (1.2 * 1.1)));
  for (std::size_t k = 0; k < count; ++k) {
    const double t = 2 * std::numbers::pi * double(k) / double(count), rho = r - inside;
    const double x = 6.1 + rho * std::cos(t), y = 7.2 + rho * std::sin(t);
    double u = 0, v = 0;
    for (Index j = 0; j < 13; ++j)
      for (Index i = 0; i <= 14; ++i)
        u += hat(x / 0.9 - double(i)) * hat(y / 1.1 - double(j) - 0.5) * end[std::size_t(j * 15 + i)];
    for (Index j = 0; j <= 13; ++j)
      for (Index i = 0; i < 14; ++i)
        v += hat(x / 0.9 - double(i) - 0.5) * hat(y / 1.1 - double(j)) *
             end[std::size_t(13 * 15 + j * 14 + i)];
    EXPECT_NEAR(u, -spin * (y - 7.2), 2e-6) << k;
    EXPECT_NEAR(v, spin * (x - 6.1), 2e-6) << k;
  }
}

// Creeping flow through a square array of discs, eight cells across each, against a spectral-element
// solution. With sixteen cells, drag is within 0.05 % and its derivative within 1 %.
TEST(Surface, DragOfAnArrayOfDiscsAndItsShapeDerivativeAreThoseOfSharpOnes) {
  const Index n = 20;
  const double h = 1.0 / double(n), dt = 0.25 * h * h;
  FlowOptions options{.cells = {n, n}, .width = {h, h, 1}, .dt = dt, .viscosity = 1.0};
  options.force = {1e-6, 0, 0};
  options.obstacles = {{.center = {0.5, 0.5, 0}, .size = {0.2}, .core = Obstacle::Core::surface}};
  const auto system = flow<double>(options);
  const Index steps = std::lround(0.35 / dt);
  Rollout<double> rollout(system, {.steps = steps, .active = {"body/size"}});
  std::vector<double> flux(std::size_t(system->signature().states()), 0.0);
  std::fill_n(flux.begin(), n * n, h * h / 1e-6);
  const auto g = rollout.value_and_gradient(rollout.arguments(),
                                            *loss::cotangents<double>(system->signature(), {steps}, {flux}));
  const double F = 1 / g.value, slope = -F * F * g.parameters["body/size"][0];
  EXPECT_NEAR(F / 30.35063565, 1, 0.02);
  EXPECT_NEAR(slope / 287.675, 1, 0.03);
}

TEST(Surface, ForceIsTheMomentumThatTheFlowLoses) {
  FlowOptions o{.cells = {20, 20}, .width = {0.05, 0.05, 1}, .dt = 0.004, .viscosity = 0.1};
  o.force = {1, 0, 0};
  o.obstacles = {{.name = "disc", .center = {0.52, 0.47, 0}, .size = {0.2}, .core = Obstacle::Core::surface}};
  const auto system = flow<double>(o);
  Rollout<double> rollout(system, {.steps = 30, .keep = 1});
  const auto run = rollout.simulate(rollout.arguments());
  const auto momentum = [&](std::size_t k) {
    const double* x = run.states.data() + k * std::size_t(system->signature().states());
    return test::sum({x, 400}) * 0.05 * 0.05;
  };
  const double drag =
      run.final_state[std::size_t(system->signature().find(Role::state, "disc/force").offset)];
  EXPECT_NEAR((momentum(30) - momentum(29)) / 0.004 + drag, 1.0, 1e-10);
}

// One step of Euler from rest, where force and pressure alone act: between two upright lines, what the flow
// gains is what pushes it, less the pressure on the lines and what the body takes.
TEST(Surface, PressureAndForceBalanceTheMomentumBetweenTwoLines) {
  const Index n = 20, low = 3, high = 17;
  const double h = 0.05, dt = 0.01;
  FlowOptions o{.cells = {n, n}, .width = {h, h, 1}, .dt = dt, .viscosity = 0.1, .scheme = Scheme::euler};
  o.force = {1, 0.3, 0};
  o.sides[0] = {Side::Kind::velocity, {0.3, 0.0, 0.0}};
  o.sides[1] = {Side::Kind::outflow};
  o.obstacles = {{.name = "disc", .center = {0.52, 0.47, 0}, .size = {0.2}, .core = Obstacle::Core::surface}};
  o.pressure = true;
  const auto system = flow<double>(o);
  Rollout<double> rollout(system, {.steps = 1});
  const auto x = rollout.simulate(rollout.arguments()).final_state;
  const double* p = x.data() + system->signature().find(Role::state, "p").offset;
  const double drag = x[std::size_t(system->signature().find(Role::state, "disc/force").offset)];
  double gained = 0, pressed = 0, pushed = 0;
  for (Index j = 0; j < n; ++j) {
    for (Index i = low; i <= high; ++i)
      gained += h * h * x[std::size_t(j * (n + 1) + i)] / dt, pushed += h * h;
    pressed += h * (p[j * n + high] - p[j * n + low - 1]);
  }
  EXPECT_GT(std::abs(drag), 0.1);
  EXPECT_NEAR(gained, pushed - pressed - drag, 1e-12);
}

TEST(Surface, KeepsTheContract) {
  using Shape = Obstacle::Shape;
  const auto gentle = [](auto real, std::string name) {
    return costate::test::Contract<decltype(real)>{.states = test::stirred<decltype(real)>,
                                                   .name = std::move(name),
                                                   .steps = 4,
                                                   .hold = 2,
                                                   .long_steps = 20,
                                                   .stencil_step = 1e-4,
                                                   .second_order_step = 1e-5};  // no point passes a middle
  };
  FlowOptions ball =
      around({.center = {6.1, 7.2, 0}, .size = {2.5}, .velocity = {0.1, 0, 0}, .spin = {0, 0, 0.3}});
  expect_contract(flow<double>(ball), gentle(0.0, "held disc"));
  FlowOptions ellipse = around(
      {.shape = Shape::ellipsoid, .center = {6.1, 7.2, 0}, .size = {2.8, 2.1}, .angle = 0.4, .driven = true});
  ellipse.scheme = Scheme::euler;
  ellipse.pressure = true;
  ellipse.probes = {{.place = {3.1, 4.2, 0}}};
  expect_contract(flow<double>(ellipse), gentle(0.0, "held ellipse, with the pressure"));
  FlowOptions flower = around(
      {.shape = Shape::fourier, .center = {6.1, 7.2, 0}, .size = {2.4, 0.2, -0.1, 0.1, 0.05}, .angle = 0.2});
  flower.scheme = Scheme::euler;
  flower.implicit = true;
  expect_contract(flow<double>(flower), gentle(0.0, "held flower, implicit"));
}

TEST(Surface, SaysWhatIsWrong) {
  FlowOptions o = around({.center = {6.1, 7.2, 0}, .size = {2.5}});
  o.obstacles[0].moves = true;
  expect_error([&] { flow<double>(o); }, "without moving", "core firm");
  o.obstacles[0].moves = false;
  o.obstacles[0].center = {2, 7, 0};
  Rollout<double> rollout(flow<double>(o), {.steps = 1});
  expect_error([&] { rollout.simulate(rollout.arguments()); }, "too close to a side", "three cells");
}

}  // namespace
}  // namespace costate::fluid

// Bodies in a flow: the derivatives with respect to their shape, against complex steps of an independent
// program and against the physics.
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;
using test::sum;

// A periodic unit box with a disc in it, pushed from rest.
struct Array {
  static constexpr Index n = 16;
  FlowOptions options{.cells = {n, n}, .width = {1.0 / n, 1.0 / n, 1}, .dt = 0.004, .viscosity = 0.1};
  Array() {
    options.force = {1, 0, 0};
    options.scheme = Scheme::euler;
    options.obstacles = {
        {.name = "disc", .center = {0.52, 0.47, 0}, .size = {0.2}, .core = Obstacle::Core::soft}};
  }
};

// The resistance of the disc on the faces of u, and its derivatives with respect to (nu, r, cx, cy).
struct Resistance {
  double value;
  std::array<double, 4> slope;
};
Resistance resistance(Index i, Index j, double nu, double r, double cx, double cy) {
  const double h = 1.0 / Array::n, x = double(i) * h - cx, y = (double(j) + 0.5) * h - cy,
               rho = std::hypot(x, y), t = std::tanh((r - rho) / h),
               per_eta = 1 / (0.755222 * h * 0.755222 * h), d = nu * per_eta * (1 - t * t) / (2 * h);
  return {nu * per_eta * (1 + t) / 2, {per_eta * (1 + t) / 2, d, d * x / rho, d * y / rho}};
}

TEST(Obstacle, FluxAndDragAndTheirShapeDerivativesMatchComplexSteps) {
  const Array box;
  const Index n = Array::n, steps = 60;
  const auto system = flow<double>(box.options);
  Rollout<double> rollout(system, {.steps = steps});
  const auto at = rollout.arguments();
  const auto end = rollout.simulate(at).final_state;
  std::vector<double> flux(end.size(), 0.0), drag(end.size(), 0.0);
  double resisted = 0;
  std::array<double, 4> direct{};
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) {
      const auto face = std::size_t(j * n + i);
      const Resistance k = resistance(i, j, 0.1, 0.2, 0.52, 0.47);
      flux[face] = 1.0 / (n * n), drag[face] = k.value / (n * n);
      resisted += drag[face] * end[face];
      for (std::size_t m = 0; m < 4; ++m) direct[m] += k.slope[m] * end[face] / (n * n);
    }
  }
  const auto derivatives = [&](const std::vector<double>& weights) {
    const auto g =
        rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {steps}, {weights}));
    return std::array<double, 6>{g.value,
                                 sum(g.parameters["viscosity"]),
                                 g.parameters["force"][0],
                                 g.parameters["disc/size"][0],
                                 g.parameters["disc/center"][0],
                                 g.parameters["disc/center"][1]};
  };
  const auto of_flux = derivatives(flux);
  const double wanted_flux[] = {0.1635798427246766,  -0.4006770687394892, 0.1635701193580930,
                                -0.4931064993172382, 1.245053817667e-4,   -4.588950321481e-5};
  for (std::size_t m = 0; m < 6; ++m) EXPECT_NEAR(of_flux[m], wanted_flux[m], 2e-13) << m;
  const auto of_drag = derivatives(drag);
  EXPECT_NEAR(resisted, 0.5119691988825744, 1e-12);
  EXPECT_NEAR(of_drag[1] + direct[0], 2.571655499715424, 1e-11);
  EXPECT_NEAR(of_drag[2], 0.5121959933576673, 1e-12);
  EXPECT_NEAR(of_drag[3] + direct[1], 2.771728370795940, 1e-11);
  EXPECT_NEAR(of_drag[4] + direct[2], -1.322879882373e-4, 2e-13);
  EXPECT_NEAR(of_drag[5] + direct[3], 4.568233503095e-4, 2e-13);
}

// What the body feels is what the flow loses: force on the box = force on the body + gain of momentum.
TEST(Obstacle, ForceIsTheMomentumThatTheFlowLoses) {
  for (const Scheme scheme : {Scheme::euler, Scheme::rk3}) {
    Array box;
    box.options.scheme = scheme;
    const auto system = flow<double>(box.options);
    Rollout<double> rollout(system, {.steps = 50, .keep = 1});
    const auto run = rollout.simulate(rollout.arguments());
    const auto size = std::size_t(system->signature().states());
    const auto momentum = [&](Index k) {
      return sum({run.states.data() + std::size_t(k) * size, std::size_t(Array::n * Array::n)}) /
             double(Array::n * Array::n);
    };
    const double drag =
        run.final_state[std::size_t(system->signature().find(Role::state, "disc/force").offset)];
    const double gain = (momentum(50) - momentum(49)) / 0.004;
    EXPECT_NEAR(gain + drag, 1.0, scheme == Scheme::euler ? 1e-11 : 1e-3);
  }
}

// Creeping flow through a square array of discs: mean force over flux, and its derivative with respect to the
// radius, converge to a spectral-element solution with second order.
TEST(Obstacle, DragOfAnArrayOfDiscsAndItsShapeDerivativeConverge) {
  double error[2], slope_error[2];
  for (const int level : {0, 1}) {
    const Index n = level == 0 ? 20 : 40;
    const double h = 1.0 / double(n), dt = 0.25 * h * h;
    // Slow enough that inertia does not count.
    FlowOptions options{.cells = {n, n}, .width = {h, h, 1}, .dt = dt, .viscosity = 1.0};
    options.force = {1e-6, 0, 0};
    options.obstacles = {{.center = {0.5, 0.5, 0}, .size = {0.2}}};
    const auto system = flow<double>(options);
    const Index steps = std::lround(0.35 / dt);
    Rollout<double> rollout(system, {.steps = steps, .checkpoints = binomial(100), .active = {"body/size"}});
    std::vector<double> flux(std::size_t(system->signature().states()), 0.0);
    std::fill_n(flux.begin(), n * n, h * h / 1e-6);
    const auto g = rollout.value_and_gradient(
        rollout.arguments(), *loss::cotangents<double>(system->signature(), {steps}, {flux}));
    const double F = 1 / g.value, slope = -F * F * g.parameters["body/size"][0];
    error[level] = F / 30.35063565 - 1, slope_error[level] = slope / 287.675 - 1;
  }
  EXPECT_LT(std::abs(error[1]), 0.05);
  EXPECT_LT(std::abs(slope_error[1]), 0.06);
  EXPECT_GT(error[0] / error[1], 2.8);
  EXPECT_GT(slope_error[0] / slope_error[1], 2.8);
}

// An array of discs is the same wherever it lies between the cells: so is the drag, and its shape derivative.
TEST(Obstacle, ShapeDerivativeDoesNotDependOnThePlaceBetweenTheCells) {
  const double h = 1.0 / 20;
  double least = 1e9, most = 0;
  for (const double moved : {0.0, 0.125, 0.25, 0.375, 0.5}) {
    FlowOptions options{.cells = {20, 20}, .width = {h, h, 1}, .dt = 0.25 * h * h, .viscosity = 1.0};
    options.force = {1e-6, 0, 0};
    options.obstacles = {{.center = {0.5 + moved * h, 0.5 + moved * h / 2, 0}, .size = {0.2}}};
    const auto system = flow<double>(options);
    Rollout<double> rollout(system, {.steps = 320, .active = {"body/size"}});
    std::vector<double> flux(std::size_t(system->signature().states()), 0.0);
    std::fill_n(flux.begin(), 400, h * h / 1e-6);
    const auto g = rollout.value_and_gradient(rollout.arguments(),
                                              *loss::cotangents<double>(system->signature(), {320}, {flux}));
    const double slope = -g.parameters["body/size"][0] / (g.value * g.value);
    least = std::min(least, slope), most = std::max(most, slope);
  }
  EXPECT_LT(most / least - 1, 5e-4);
}

// Nothing but the pose counts: a body that has come and turned somewhere is one that was made there.
TEST(MovingObstacle, IsWhereItHasCome) {
  for (const Obstacle::Shape shape : {Obstacle::Shape::ellipsoid, Obstacle::Shape::fourier}) {
    FlowOptions o{.cells = {14, 12}, .dt = 0.1, .viscosity = 0.1};
    o.force = {1, 0.2, 0};
    o.obstacles = {{.shape = shape, .center = {6.5, 5.5, 0}, .size = {2.5, 2}, .angle = 0.3}};
    if (shape == Obstacle::Shape::fourier) o.obstacles[0].size = {2.3, 0.3, 0.2};
    Rollout<double> made(flow<double>(o), {.steps = 5});
    const auto there = made.simulate(made.arguments()).final_state;
    o.obstacles[0].center = {5.25, 6, 0}, o.obstacles[0].angle = -0.2, o.obstacles[0].moves = true;
    const auto system = flow<double>(o);
    Rollout<double> moved(system, {.steps = 5});
    auto at = moved.arguments();
    const auto pose = std::size_t(system->signature().find(Role::state, "body/moved").offset);
    at.x0[pose] = 1.25, at.x0[pose + 1] = -0.5, at.x0[pose + 2] = 0.5;
    const auto come = moved.simulate(at).final_state;
    for (std::size_t i = 0; i < there.size(); ++i) EXPECT_NEAR(come[i], there[i], 1e-13) << i;
    EXPECT_EQ(come[pose], 1.25);
  }
}

// Galileo: a disc that moves through still water feels what a still disc feels in a stream. The two differ by
// how the grid resolves them, with second order.
TEST(MovingObstacle, FeelsWhatAStillBodyFeelsInAStream) {
  double error[2];
  for (const int level : {0, 1}) {
    const Index n = level == 0 ? 24 : 48;
    const double h = 1.0 / double(n), speed = 0.5, dt = 0.1 * h;
    const auto drag = [&](bool moves) {
      FlowOptions o{.cells = {n, n}, .width = {h, h, 1}, .dt = dt, .viscosity = 0.02};
      o.obstacles = {{.center = {moves ? 0.62 : 0.5, 0.5, 0}, .size = {0.17}, .moves = moves}};
      if (moves) o.obstacles[0].velocity = {-speed, 0, 0};
      const auto system = flow<double>(o);
      const Index steps = std::lround(0.4 / dt);
      Rollout<double> rollout(system, {.steps = steps});
      auto at = rollout.arguments();
      if (!moves) std::fill_n(at.x0.begin(), n * n, speed);
      const auto end = rollout.simulate(at).final_state;
      return end[std::size_t(system->signature().find(Role::state, "body/force").offset)];
    };
    error[level] = std::abs(drag(true) / drag(false) - 1);
  }
  EXPECT_LT(error[1], 0.01);
  EXPECT_GT(error[0] / error[1], 2.5);
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

TEST(Obstacle, KeepsTheContract) {
  FlowOptions channel{.cells = {10, 9}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.1};
  channel.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}};
  channel.sides[1] = {Side::Kind::outflow};
  channel.sides[2] = channel.sides[3] = wall();
  channel.obstacles = {{.name = "ellipse",
                        .shape = Obstacle::Shape::ellipsoid,
                        .center = {4, 5, 0},
                        .size = {2.2, 1.7},
                        .angle = 0.4},
                       {.name = "flower",
                        .shape = Obstacle::Shape::fourier,
                        .center = {6.1, 3.3, 0},
                        .size = {1.8, 0.2, 0.1, 0.05, -0.1},
                        .driven = true}};
  expect_contract(flow<double>(channel), gentle<double>("ellipse and flower"));
  channel.scheme = Scheme::euler;
  channel.obstacles = {
      {.center = {4.2, 5.1, 0}, .size = {2}, .velocity = {0.1, 0.05, 0}, .spin = {0, 0, 0.2}}};
  channel.obstacles[0].core = Obstacle::Core::soft;
  expect_contract(flow<double>(channel), gentle<double>("disc"));
  expect_contract(flow<float>(channel), gentle<float>("disc"));
  FlowOptions box{.cells = {5, 6, 5}, .dt = 0.2, .viscosity = 0.1};
  box.obstacles = {{.shape = Obstacle::Shape::ellipsoid,
                    .center = {2.4, 3.1, 2.3},
                    .size = {1.6, 1.8, 1.7},
                    .velocity = {0.1, 0.05, 0.2},
                    .spin = {0.1, 0.2, 0.3}}};
  expect_contract(flow<double>(box), gentle<double>("ellipsoid"));
}

TEST(MovingObstacle, KeepsTheContract) {
  FlowOptions channel{
      .cells = {10, 9}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.1, .pressure = true};
  channel.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}};
  channel.sides[1] = {Side::Kind::outflow};
  channel.sides[2] = channel.sides[3] = wall();
  channel.obstacles = {{.name = "ellipse",
                        .shape = Obstacle::Shape::ellipsoid,
                        .center = {4, 5, 0},
                        .size = {2.2, 1.7},
                        .angle = 0.4,
                        .velocity = {0.1, -0.05, 0},
                        .spin = {0, 0, 0.3},
                        .moves = true},
                       {.name = "flower",
                        .shape = Obstacle::Shape::fourier,
                        .center = {6.1, 3.3, 0},
                        .size = {1.8, 0.2, 0.1, 0.05, -0.1},
                        .driven = true,
                        .moves = true}};
  expect_contract(flow<double>(channel), gentle<double>("moving ellipse and flower"));
  FlowOptions box{.cells = {5, 6, 5}, .dt = 0.2, .viscosity = 0.1, .pressure = true};
  box.obstacles = {{.center = {2.4, 3.1, 2.3}, .size = {1.7}, .spin = {0.1, 0.2, 0.3}, .driven = true}};
  box.obstacles[0].moves = true;
  expect_contract(flow<double>(box), gentle<double>("moving ball"));
}

TEST(Obstacle, SaysWhatIsWrong) {
  FlowOptions o;
  o.obstacles = {{.size = {0.5}}};
  expect_error([&] { flow<double>(o); }, "'body' is thinner than the mask", "three cells thick");
  o.obstacles = {{.shape = Obstacle::Shape::ellipsoid, .size = {5.0}}};
  expect_error([&] { flow<double>(o); }, "'body' has 1 sizes", "one half length per dimension");
  o.cells = {8, 8, 8};
  o.obstacles = {{.shape = Obstacle::Shape::fourier, .size = {3.0}}};
  expect_error([&] { flow<double>(o); }, "shape for two dimensions", "ball");
}

}  // namespace
}  // namespace costate::fluid

// Flows whose discrete solution is known in closed form, with every derivative that it has.
#include "costate/fluid/flow.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/fluid/flows.h"
#include "tests/system/contract.h"

namespace costate::fluid {
namespace {

using costate::test::expect_contract, costate::test::expect_error;
using std::numbers::pi;
using test::sum;

// u = A sin x cos y, v = -A cos x sin y on [0, 2 pi)^2, and the same at every z.
template <class Real>
Arguments<Real> taylor_green(const Rollout<Real>& rollout, Index n, Index nz, double amplitude) {
  auto a = rollout.arguments();
  const double h = 2 * pi / double(n);
  Index at = 0;
  for (int c = 0; c < 2; ++c)
    for (Index k = 0; k < nz; ++k)
      for (Index j = 0; j < n; ++j)
        for (Index i = 0; i < n; ++i)
          a.x0[std::size_t(at++)] =
              Real(c == 0 ? amplitude * std::sin(h * double(i)) * std::cos(h * (double(j) + 0.5))
                          : -amplitude * std::cos(h * (double(i) + 0.5)) * std::sin(h * double(j)));
  return a;
}

// The vortices are an exact solution of the scheme on any grid: each step multiplies them by R(z).
TEST(TaylorGreen, DecaysByTheFactorOfTheSchemeWithAllDerivatives) {
  const Index n = 16;
  const double h = 2 * pi / double(n), nu = 0.05, dt = 0.1;
  for (const Index nz : {Index(1), Index(4)}) {
    FlowOptions options{.width = {h, h, 1.0 / double(nz)}, .dt = dt, .viscosity = nu};
    options.cells = nz == 1 ? std::vector<Index>{n, n} : std::vector<Index>{n, n, nz};
    for (const Scheme scheme : {Scheme::rk3, Scheme::euler}) {
      options.scheme = scheme;
      const auto system = flow<double>(options);
      Rollout<double> rollout(system, {.steps = 40});
      const auto at = taylor_green(rollout, n, nz, 1);
      const auto g =
          rollout.value_and_gradient(at, *test::energy<double>(system->signature(), h * h / double(nz)));
      const double z = -nu * dt * 8 / (h * h) * std::sin(h / 2) * std::sin(h / 2);
      const bool rk3 = scheme == Scheme::rk3;
      const double R = rk3 ? 1 + z + z * z / 2 + z * z * z / 6 : 1 + z, slope = rk3 ? 1 + z + z * z / 2 : 1;
      const double E = pi * pi * std::pow(R, 80), rate = 80 * E * slope / R * z;
      EXPECT_NEAR(g.value, E, 1e-13 * E);
      EXPECT_NEAR(sum(g.parameters["viscosity"]), rate / nu, 1e-12 * std::abs(rate / nu));
      EXPECT_NEAR(g.parameters["dt"][0], rate / dt, 1e-12 * std::abs(rate / dt));
      double along = 0;  // dE/dA = 2 E / A
      for (std::size_t i = 0; i < at.x0.size(); ++i) along += g.x0[i] * at.x0[i];
      EXPECT_NEAR(along, 2 * E, 1e-12 * E);
      if (!rk3) continue;
      EXPECT_NEAR(g.value, 4.480290442198438, 1e-13);
      EXPECT_NEAR(sum(g.parameters["viscosity"]), -70.76815819153006, 1e-11);
      EXPECT_NEAR(g.parameters["dt"][0], -35.38407909576503, 1e-11);
    }
  }
}

TEST(TaylorGreen, ApproachesTheContinuousDecayWithSecondOrder) {
  double before = 0;
  for (const Index n : {16, 32, 64}) {
    const double h = 2 * pi / double(n);
    const auto system = flow<double>({.cells = {n, n}, .width = {h, h, 1}, .dt = 0.05, .viscosity = 0.05});
    Rollout<double> rollout(system, {.steps = 40});
    const auto g = rollout.value_and_gradient(taylor_green(rollout, n, 1, 1),
                                              *test::energy<double>(system->signature(), h * h));
    const double error = std::abs(g.value - pi * pi * std::exp(-4 * 0.05 * 2));
    if (before > 0) {
      EXPECT_NEAR(std::log2(before / error), 2, 0.1);
    }
    before = error;
  }
}

TEST(TaylorGreen, IsFollowedInSinglePrecision) {
  const Index n = 16;
  const double h = 2 * pi / double(n);
  const auto system = flow<float>({.cells = {n, n}, .width = {h, h, 1}, .dt = 0.1, .viscosity = 0.05});
  Rollout<float> rollout(system, {.steps = 40});
  const auto g = rollout.value_and_gradient(taylor_green(rollout, n, 1, 1),
                                            *test::energy<float>(system->signature(), h * h));
  EXPECT_NEAR(g.value, 4.480290442198438, 1e-5);
  EXPECT_NEAR(g.parameters["dt"][0], -35.38407909576503, 1e-3);
}

// The vortices in three dimensions break up into smaller ones. Over ten thousand steps the energy falls, the
// gradient is finite, and the report says how fast the adjoint grows backwards.
TEST(TaylorGreen, GradientOverTenThousandStepsInThreeDimensionsIsFinite) {
  const Index n = 8, steps = 10240;
  const double h = 2 * pi / double(n);
  const auto system = flow<double>({.cells = {n, n, n}, .width = {h, h, h}, .dt = 0.05, .viscosity = 1e-3});
  Rollout<double> rollout(system, {.steps = steps, .checkpoints = binomial(80), .active = {"dt"}});
  auto at = rollout.arguments();
  for (Index k = 0; k < n; ++k) {
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < n; ++i) {
        const auto cell = std::size_t((k * n + j) * n + i);
        const double z = std::cos(h * (double(k) + 0.5));
        at.x0[cell] = std::sin(h * double(i)) * std::cos(h * (double(j) + 0.5)) * z;
        at.x0[std::size_t(n * n * n) + cell] = -std::cos(h * (double(i) + 0.5)) * std::sin(h * double(j)) * z;
      }
    }
  }
  double before = 0, size = 0;
  for (const double u : at.x0) before += h * h * h * u * u / 2;
  const auto g = rollout.value_and_gradient(at, *test::energy<double>(system->signature(), h * h * h));
  EXPECT_GT(g.value, 0);
  EXPECT_LT(g.value, 0.9 * before);
  for (const double x : g.x0) size += x * x;
  EXPECT_TRUE(std::isfinite(size) && size > 0);
  EXPECT_TRUE(std::isfinite(g.parameters["dt"][0]));
  EXPECT_TRUE(std::isfinite(g.report.growth_rate));
}

// A channel between two walls, driven by a force: u = g/(2 nu) (y (1 - y) + h^2/4) in the end.
TEST(Poiseuille, StartsUpAsTheSchemeMustWithAllDerivatives) {
  const Index n = 16;
  FlowOptions options{.cells = {4, n}, .width = {1.0 / n, 1.0 / n, 1}, .dt = 0.01, .viscosity = 0.1};
  options.force = {1, 0, 0};
  options.sides[2] = options.sides[3] = wall();
  const auto system = flow<double>(options);
  Rollout<double> rollout(system, {.steps = 40});
  std::vector<double> weights(std::size_t(system->signature().states()), 0.0);
  for (Index j = 0; j < n; ++j) weights[std::size_t(4 * j)] = 1.0 / n;  // the flux through one column
  const auto flux = loss::cotangents<double>(system->signature(), {40}, {weights});
  const auto g = rollout.value_and_gradient(rollout.arguments(), *flux);
  EXPECT_NEAR(g.value, 0.281830185246411, 1e-14);
  EXPECT_NEAR(sum(g.parameters["viscosity"]), -0.611990378924694, 1e-13);
  EXPECT_NEAR(g.parameters["force"][0], 0.281830185246411, 1e-13);

  Rollout<double> steady(system, {.steps = 6000});
  const auto end = steady.value_and_gradient(
      steady.arguments(), *loss::cotangents<double>(system->signature(), {6000}, {weights}));
  EXPECT_NEAR(end.value, 0.83984375, 1e-12);
  EXPECT_NEAR(sum(end.parameters["viscosity"]), -8.3984375, 1e-10);
}

// Without viscosity and walls the fluxes keep the energy of a divergence-free field, up to the error in time.
// Vortices of Taylor and Green: u = A sin x cos y, v = -A cos x sin y has p = A^2 (cos 2x + cos 2y) / 4. The
// last stage of RK3 starts from the middle of the step.
TEST(TaylorGreen, PressureIsThatOfTheMiddleOfTheStep) {
  double error[2];
  for (const int level : {0, 1}) {
    const Index n = level == 0 ? 16 : 32;
    const double h = 2 * std::numbers::pi / double(n), nu = 0.1, dt = 0.02;
    const auto system =
        flow<double>({.cells = {n, n}, .width = {h, h, 1}, .dt = dt, .viscosity = nu, .pressure = true});
    Rollout<double> rollout(system, {.steps = 10});
    auto at = rollout.arguments();
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < n; ++i) {
        at.x0[std::size_t(j * n + i)] = std::sin(double(i) * h) * std::cos((double(j) + 0.5) * h);
        at.x0[std::size_t(n * n + j * n + i)] = -std::cos((double(i) + 0.5) * h) * std::sin(double(j) * h);
      }
    }
    const auto end = rollout.simulate(at).final_state;
    const double decay = std::exp(-4 * nu * 9.5 * dt);
    error[level] = 0;
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < n; ++i)
        error[level] = std::max(
            error[level],
            std::abs(end[std::size_t(2 * n * n + j * n + i)] -
                     decay / 4 * (std::cos(double(2 * i + 1) * h) + std::cos(double(2 * j + 1) * h))));
  }
  EXPECT_LT(error[1], 0.01);
  EXPECT_NEAR(error[0] / error[1], 4, 0.4);
}

TEST(Flow, KeepsTheEnergyWithoutViscosity) {
  double before = 0;
  for (const double dt : {0.04, 0.02, 0.01}) {
    const auto system = flow<double>({.cells = {12, 10, 8}, .dt = dt, .viscosity = 0.0});
    Rollout<double> rollout(system, {.steps = 1});
    const auto start = rollout.simulate(test::stirred(rollout, 3)).final_state;  // free of divergence
    Rollout<double> run(system, {.steps = std::lround(0.4 / dt)});
    auto from = run.arguments();
    from.x0 = start;
    const auto kinetic = [](std::span<const double> x) {
      double e = 0;
      for (const double u : x) e += u * u / 2;
      return e;
    };
    const double drift = std::abs(kinetic(run.simulate(from).final_state) - kinetic(start));
    if (before > 0) {
      EXPECT_NEAR(std::log2(before / drift), 3, 0.2);
    }
    before = drift;
  }
  EXPECT_LT(before, 1e-5);
}

// --- contract ----------------------------------------------------------------------------------------------

template <class Real>
costate::test::Contract<Real> gentle(std::string name) {
  return {.states = test::stirred<Real>,
          .name = std::move(name),
          .steps = 8,
          .hold = 3,
          .long_steps = 40,
          .stencil_step = 3e-4};
}

TEST(Flow, KeepsTheContractInPeriodicBoxes) {
  const FlowOptions flat{.cells = {7, 6}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.1, .push = true};
  expect_contract(flow<double>(flat), gentle<double>("periodic"));
  expect_contract(flow<float>(flat), gentle<float>("periodic"));
  FlowOptions euler = flat;
  euler.scheme = Scheme::euler;
  expect_contract(flow<double>(euler), gentle<double>("euler"));
  expect_contract(flow<double>({.cells = {4, 5, 3}, .dt = 0.2, .viscosity = 0.1}), gentle<double>("3-D"));
}

TEST(Flow, KeepsTheContractWithEveryKindOfSide) {
  FlowOptions channel{.cells = {8, 5}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.1};
  channel.sides[0] = {Side::Kind::velocity, {0.2, 0.05, 0.0}, true};
  channel.sides[1] = {Side::Kind::outflow};
  channel.sides[2] = wall({0.1, 0, 0});
  channel.sides[3] = {Side::Kind::slip};
  expect_contract(flow<double>(channel), gentle<double>("channel"));
  expect_contract(flow<float>(channel), gentle<float>("channel"));
  FlowOptions box{.cells = {4, 3, 5}, .width = {0.9, 1.1, 1}, .dt = 0.2, .viscosity = 0.1};
  box.sides[0] = {Side::Kind::outflow};
  box.sides[1] = wall();
  box.sides[2] = box.sides[3] = {Side::Kind::slip};
  box.sides[4] = wall({0.1, 0.2, 0});
  box.sides[5] = {Side::Kind::outflow};
  expect_contract(flow<double>(box), gentle<double>("box"));
  FlowOptions closed{.cells = {5, 4}, .dt = 0.2, .viscosity = 0.1};
  for (std::size_t side = 0; side < 4; ++side) closed.sides[side] = wall();
  expect_contract(flow<double>(closed), gentle<double>("closed"));
}

TEST(Flow, SaysWhatIsWrongWithItsOptions) {
  FlowOptions o;
  o.cells = {8};
  expect_error([&] { flow<double>(o); }, "two or three numbers of cells", "{64, 64}");
  o.cells = {8, 1};
  expect_error([&] { flow<double>(o); }, "1 cells along an axis", "at least 2");
  o = {};
  o.sides[0] = wall();
  expect_error([&] { flow<double>(o); }, "east is periodic and west is not", "make both periodic");
  o.sides[1] = wall();
  o.sides[0].velocity[0] = 1.0;
  expect_error([&] { flow<double>(o); }, "a net inflow of 32 cannot leave", "outflow");
  o.sides[0].velocity[0] = std::vector<double>{1, 2};
  expect_error([&] { flow<double>(o); }, "'west/u' has 2 numbers, and the side has 32 faces", "one per face");
  o = {};
  o.viscosity = -1.0;
  expect_error([&] { flow<double>(o); }, "the viscosity is -1", "zero or positive");
  o = {};
  o.sides[0] = o.sides[1] = {Side::Kind::slip};
  o.sides[0].driven = true;
  expect_error([&] { flow<double>(o); }, "no velocity that could be driven", "leave out");
  o = {};
  o.viscosity = 100.0;
  const costate::test::AllowFloatExceptions diverging;
  set_thread_count(1);  // exceptions are allowed in this thread
  Rollout<double> rollout(flow<double>(o), {.steps = 2000});
  expect_error([&] { rollout.simulate(test::stirred(rollout, 1)); }, "too long for this flow",
               "take dt below");
  o.scheme = Scheme::semi_lagrangian;  // which has no Courant number
  Rollout<double> traced(flow<double>(o), {.steps = 2000});
  expect_error([&] { traced.simulate(test::stirred(traced, 1)); }, "for this flow: 4 viscosity dt",
               "take dt below");
  Rollout<double> still(flow<double>({}), {.steps = 2});
  auto broken = still.arguments();
  broken.x0[5] = std::numeric_limits<double>::quiet_NaN();
  expect_error([&] { still.simulate(broken); }, "the initial state is not finite: u");
  set_thread_count(0);
}

}  // namespace
}  // namespace costate::fluid

#include "costate/grid/wave.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/system/contract.h"

namespace costate {
namespace {

using costate::test::expect_error;

// A bump and a speed that varies from cell to cell.
template <class Real>
Arguments<Real> bump(const Rollout<Real>& rollout, std::int64_t nx, std::int64_t ny) {
  Arguments<Real> a = rollout.arguments();
  std::vector<Real> speed(static_cast<std::size_t>(nx * ny));
  for (std::int64_t j = 0; j < ny; ++j) {
    for (std::int64_t i = 0; i < nx; ++i) {
      const double r2 = std::pow(double(i) - 0.4 * double(nx), 2) + std::pow(double(j) - 0.6 * double(ny), 2);
      a.x0[static_cast<std::size_t>(j * nx + i)] = static_cast<Real>(std::exp(-0.1 * r2));
      a.x0[static_cast<std::size_t>(nx * ny + j * nx + i)] =
          static_cast<Real>(0.1 * std::sin(0.3 * double(i + 2 * j)));
      speed[static_cast<std::size_t>(j * nx + i)] =
          static_cast<Real>(1 + 0.2 * std::sin(0.5 * double(i) - 0.2 * double(j)));
    }
  }
  a.parameters.set("speed", speed).set("damping", Real(0.05));
  for (std::size_t k = 0; k < a.controls.size(); ++k)
    a.controls[k] = static_cast<Real>(std::cos(0.9 * double(k)));
  return a;
}

template <class Real>
void contract(std::int64_t nx, std::int64_t ny) {
  const auto system = grid::wave<Real>({.nx = nx, .ny = ny, .sources = {nx + 1, 3 * nx - 1}});
  test::expect_contract(system,
                        {.states = [&](const auto& rollout, unsigned) { return bump(rollout, nx, ny); },
                         .objective = loss::sum<Real>({loss::final<Real>(system->signature(), "u", {}),
                                                       loss::effort<Real>(system->signature())}),
                         .steps = 30,
                         .hold = 5,
                         .stencil_step = 3e-4});
}

TEST(Wave, MeetsTheContractInDouble) { contract<double>(21, 13); }
TEST(Wave, MeetsTheContractInFloat) { contract<float>(37, 5); }
TEST(Wave, MeetsTheContractOnTheSmallestGrids) {
  contract<double>(2, 4);
  contract<double>(3, 3);
}

// Long rows make chunks of four rows: three chunks, the last one short.
TEST(Wave, MeetsTheContractAcrossChunks) {
  const std::int64_t nx = 4100, ny = 11;
  const auto system = grid::wave<double>({.nx = nx, .ny = ny, .sources = {5 * nx - 1}});
  test::expect_contract(system,
                        {.states = [&](const auto& rollout, unsigned) { return bump(rollout, nx, ny); },
                         .objective = loss::final<double>(system->signature(), "u", {}),
                         .steps = 7,
                         .hold = 5,
                         .long_steps = 0,
                         .stencil_step = 3e-4});
}

// Standing wave in a box of N cells: the discrete Laplacian's eigenvector sin(pi (i+1)/(N+1)) sin(...)
// oscillates with the discrete frequency w: 2 sin(w dt / 2) = dt k, k^2 = 2 (2 sin(pi / (2 (N+1))))^2. Exact
// for the scheme.
TEST(Wave, StandingWaveHasTheFrequencyOfTheScheme) {
  const std::int64_t n = 31;
  const double dt = 0.5;
  const auto system = grid::wave<double>({.nx = n, .ny = n, .dt = dt});
  const int steps = 300;
  Rollout<double> rollout(system, {.steps = steps});
  Arguments<double> a = rollout.arguments();
  const double k = 2 * std::sin(std::numbers::pi / (2.0 * (n + 1))) * std::sqrt(2.0),
               w = 2 / dt * std::asin(dt * k / 2);
  const auto mode = [&](std::int64_t i, std::int64_t j) {
    return std::sin(std::numbers::pi * double(i + 1) / (n + 1)) *
           std::sin(std::numbers::pi * double(j + 1) / (n + 1));
  };
  // v lives half a step behind u: u_m = cos(w dt m), v_0 = (u_0 - u_{-1}) / dt.
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      a.x0[static_cast<std::size_t>(j * n + i)] = mode(i, j);
      a.x0[static_cast<std::size_t>(n * n + j * n + i)] = (1 - std::cos(w * dt)) / dt * mode(i, j);
    }
  }
  const auto end = rollout.simulate(a).final_state;
  for (std::int64_t c : {0, 100, 480, 960})
    EXPECT_NEAR(end[static_cast<std::size_t>(c)], std::cos(w * dt * steps) * mode(c % n, c / n), 1e-10);
}

TEST(Wave, ReversesInConstantMemory) {
  const std::int64_t n = 40;
  const auto system = grid::wave<double>({.nx = n, .ny = n, .sources = {n * n / 2}});
  const auto objective = loss::final<double>(system->signature(), "u", {});
  Rollout<double> stored(system, {.steps = 200, .hold = 10}),
      reversed(system, {.steps = 200, .checkpoints = reversible(), .hold = 10});
  Arguments<double> a = bump(stored, n, n);
  a.parameters.set("damping", 0.01);
  const auto exact = stored.value_and_gradient(a, *objective), g = reversed.value_and_gradient(a, *objective);
  double worst = 0, scale = 0;
  for (std::size_t i = 0; i < exact.parameters["speed"].size(); ++i) {
    worst = std::max(worst, std::abs(exact.parameters["speed"][i] - g.parameters["speed"][i]));
    scale = std::max(scale, std::abs(exact.parameters["speed"][i]));
  }
  EXPECT_LT(worst, 1e-11 * scale);
  EXPECT_LT(g.report.memory_bytes * 20, exact.report.memory_bytes);
}

// value_and_gradient knows that the loss looks at the end alone, and keeps half the states; forward() cannot
// know.
TEST(Wave, GradientFromTapesHasTheBitsOfThatFromStates) {
  for (const std::int64_t n : {32, 37}) {  // rows aligned to packs, and not
    const auto system = grid::wave<float>({.nx = n, .ny = n});
    const auto objective = loss::final<float>(system->signature(), "u", {});
    for (const Checkpoints& checkpoints : {store_all(), segments(), binomial(4)}) {
      Rollout<float> rollout(system, {.steps = 50, .checkpoints = checkpoints, .active = {"speed"}});
      const Arguments<float> a = bump(rollout, n, n);
      const auto tapes = rollout.value_and_gradient(a, *objective);
      rollout.forward(a);
      const auto states = rollout.backward(*objective);
      EXPECT_EQ(tapes.x0, states.x0);
      EXPECT_TRUE(std::ranges::equal(tapes.parameters["speed"], states.parameters["speed"]));
      if (checkpoints.kind == Checkpoints::Kind::store_all) {
        EXPECT_LT(double(tapes.report.memory_bytes), 0.7 * double(states.report.memory_bytes));
      }
    }
  }
}

// With damping, dx and dt active the transpose needs v too: a tape, which holds u alone, must then not be
// looked at.
TEST(Wave, ReadsNoTapeWhereThereIsAState) {
  const std::int64_t n = 9;
  const auto system = grid::wave<double>({.nx = n, .ny = n});
  const Rollout<double> rollout(system, {.steps = 1});
  const Arguments<double> a = bump(rollout, n, n);
  const auto np = static_cast<std::size_t>(system->parameter_size());
  std::vector<double> p;
  for (std::size_t f = 0; f < system->signature().fields(Role::parameter).size(); ++f) {
    const auto values = a.parameters.values(f);
    p.insert(p.end(), values.begin(), values.end());
  }
  ASSERT_EQ(p.size(), np);
  const auto work = system->make_workspace();
  const Activity all{std::vector<bool>(system->signature().fields(Role::parameter).size(), true)};
  const std::vector<double> y_bar(2 * n * n, 1.0), poison(n * n, std::numeric_limits<double>::quiet_NaN());
  std::vector<double> x_bar(2 * n * n), p_bar(np), x_bar_too(2 * n * n), p_bar_too(np);
  const Inputs<double> in{a.x0.data(), nullptr, p.data()};
  system->step_vjp({}, in, nullptr, y_bar.data(), {x_bar.data(), nullptr, p_bar.data()}, all, *work);
  system->step_vjp({}, in, poison.data(), y_bar.data(), {x_bar_too.data(), nullptr, p_bar_too.data()}, all,
                   *work);
  EXPECT_EQ(x_bar, x_bar_too);
  EXPECT_EQ(p_bar, p_bar_too);
}

TEST(Wave, NonsenseIsRefused) {
  expect_error([&] { return grid::wave<double>({.nx = 1, .ny = 5}); },
               "a wave needs at least 2 x 2 cells, not 1 x 5");
  expect_error([&] { return grid::wave<double>({.dt = 2.0}); },
               "the Courant number speed dt / dx = 2 exceeds 0.707", "reduce dt below 0.707107 (now 2)");
  expect_error([&] { return grid::wave<double>({.speed = -1.0}); },
               "a speed and a damping that are not negative");
  expect_error([&] { return grid::wave<double>({.sources = {64 * 64}}); },
               "source cell 4096 lies outside the grid of 4096 cells");
}

TEST(Wave, AMaskedWorldLeavesTheOthersTheirGradient) {
  const test::AllowFloatExceptions the_masked_world_is_not_a_number;
  const auto system = grid::wave<double>({.nx = 8, .ny = 8});
  const auto objective = loss::final<double>(system->signature(), "u", {});
  Rollout<double> one(system, {.steps = 5}),
      two(system, {.steps = 5, .worlds = 2, .on_divergence = OnDivergence::mask_world});
  const Arguments<double> a = bump(one, 8, 8);
  Arguments<double> both = a;
  both.x0.insert(both.x0.end(), a.x0.begin(), a.x0.end());
  both.x0[a.x0.size() + 3] = std::numeric_limits<double>::quiet_NaN();
  const auto alone = one.value_and_gradient(a, *objective), g = two.value_and_gradient(both, *objective);
  EXPECT_EQ(g.report.masked_worlds, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(g.value, alone.value);
  for (std::size_t i = 0; i < a.x0.size(); ++i) {
    EXPECT_EQ(g.x0[i], alone.x0[i]);
    EXPECT_EQ(g.x0[a.x0.size() + i], 0.0);
  }
}

// Rows of whole packs are worked on in the caller's memory, each by the slab that owns it.
TEST(Wave, MeetsTheContractWhereRowsAreWorkedOnInPlace) {
  const std::int64_t nx = 128, ny = 290;
  const auto system = grid::wave<double>({.nx = nx, .ny = ny, .sources = {5 * nx, 5 * nx + 3}});
  test::expect_contract(system,
                        {.states = [&](const auto& rollout, unsigned) { return bump(rollout, nx, ny); },
                         .objective = loss::final<double>(system->signature(), "u", {}),
                         .steps = 11,
                         .hold = 5,
                         .long_steps = 0,
                         .stencil_step = 3e-4});
}
// States of large grids are recorded past the caches.
TEST(Wave, ALargeGridHasTheSameGradientFromTapesStatesAndSegments) {
  const std::int64_t n = 528;
  const auto system = grid::wave<float>({.nx = n, .ny = n});
  const auto objective = loss::final<float>(system->signature(), "u", {});
  Rollout<float> rollout(system, {.steps = 11, .active = {"speed"}}),
      pieces(system, {.steps = 11, .checkpoints = segments(), .active = {"speed"}});
  const Arguments<float> a = bump(rollout, n, n);
  const auto tapes = rollout.value_and_gradient(a, *objective);
  rollout.forward(a);
  const auto states = rollout.backward(*objective);
  pieces.forward(a);
  const auto cut = pieces.backward(*objective);
  EXPECT_EQ(tapes.x0, states.x0);
  EXPECT_EQ(tapes.x0, cut.x0);
  EXPECT_TRUE(std::ranges::equal(tapes.parameters["speed"], states.parameters["speed"]));
  EXPECT_TRUE(std::ranges::equal(tapes.parameters["speed"], cut.parameters["speed"]));
}

// The speeds and the damping of a run count, not only the defaults.
TEST(Wave, AStepTooLongForTheSpeedsOfARunIsRefused) {
  costate::test::AllowFloatExceptions allow;
  const auto system = grid::wave<double>({.nx = 6, .ny = 4});
  Rollout<double> rollout(system, {.steps = 3, .active = {"speed"}});
  const auto objective = loss::final<double>(system->signature(), "u", {});
  Arguments<double> a = rollout.arguments();
  a.parameters["speed"][7] = 2;
  expect_error(
      [&] { return rollout.simulate(a); },
      "the speed of cell 7 is 2, with which the step is not stable: the Courant number speed dt / dx = 1",
      "reduce dt below 0.353553 (now 0.5)");
  expect_error([&] { return rollout.value_and_gradient(a, *objective); }, "the speed of cell 7 is 2",
               "reduce dt");
  a.parameters["speed"][7] = std::nan("");
  expect_error([&] { return rollout.simulate(a); }, "the parameter 'speed[7]' is nan, and must be a number",
               "change it");
  a.parameters["speed"][7] = 1;
  a.parameters.set("damping", 5.0);
  expect_error([&] { return rollout.simulate(a); }, "damping dt = 2.5 exceeds 2", "reduce dt below 0.4");
}
// The advice is the limit: just below it the fastest mode of a damped wave decays, and above it the step is
// refused.
TEST(Wave, TheLargestStepOfADampedWaveIsStable) {
  const std::int64_t n = 24;
  const double damping = 0.8, largest = (std::sqrt(damping * damping + 32) - damping) / 8;
  expect_error(
      [&] { return grid::wave<double>({.nx = n, .ny = n, .dt = 1.001 * largest, .damping = damping}); },
      "the Courant number", "reduce dt below 0.614143");
  const auto system = grid::wave<double>({.nx = n, .ny = n, .dt = 0.999 * largest, .damping = damping});
  Rollout<double> rollout(system, {.steps = 4000});
  Arguments<double> a = rollout.arguments();
  for (std::int64_t c = 0; c < n * n; ++c) a.x0[std::size_t(c)] = (c % n + c / n) % 2 == 0 ? 1 : -1;
  for (const double u : rollout.simulate(a).final_state) EXPECT_LT(std::abs(u), 1e-3);
}

}  // namespace
}  // namespace costate

#include "costate/grid/equations.h"

#include <gtest/gtest.h>

#include "costate/grid/heat.h"
#include "costate/grid/wave.h"
#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate {
namespace {

using grid::GridSpec;
using test::expect_error;

// A pond by name has the fields, the defaults and the bits of the one that its own factory makes.
TEST(Equations, AreTheSystemsOfTheirFactories) {
  const std::vector<double> speed = {1, 0.5, 2, 1, 1, 0.25, 1, 1, 1, 1, 1, 0.5};
  const auto named = grid::make_system<double>({.equation = "wave",
                                                .nx = 4,
                                                .ny = 3,
                                                .dt = 0.3,
                                                .parameters = {{"speed", speed}, {"damping", 0.1}},
                                                .sources = {5}});
  const auto typed =
      grid::wave<double>({.nx = 4, .ny = 3, .dt = 0.3, .speed = speed, .damping = 0.1, .sources = {5}});
  EXPECT_EQ(named->signature().to_text(), typed->signature().to_text());
  const auto end = [](const std::shared_ptr<System<double>>& system) {
    Rollout<double> rollout(system, {.steps = 20});
    Arguments<double> a = rollout.arguments();
    EXPECT_EQ(a.parameters["speed"][2], 2);
    for (std::size_t i = 0; i < a.x0.size(); ++i) a.x0[i] = double(i % 5);
    return rollout.simulate(a).final_state;
  };
  EXPECT_EQ(end(named), end(typed));
}

// Half of the longest step is stable for every equation, as it comes.
TEST(Equations, HaveAStableStepByDefault) {
  for (const grid::Equation& e : grid::equations()) {
    SCOPED_TRACE(e.name);
    const std::int64_t ny = std::string(e.name) == "burgers" ? 10 : 9;  // which needs more
    const GridSpec spec = grid::complete({.equation = e.name, .nx = 12, .ny = ny, .dx = 0.1});
    EXPECT_GT(spec.dt, 0);
    Rollout<double> rollout(grid::make_system<double>(spec), {.steps = 2000});
    Arguments<double> a = rollout.arguments();
    for (std::size_t c = 0; c < std::size_t(12 * ny); ++c)
      a.x0[c] = 1 + ((c % 12 + c / 12) % 2 == 0 ? 1e-3 : -1e-3);
    for (const double x : rollout.simulate(a).final_state) EXPECT_LT(std::abs(x), 10);
  }
}

TEST(Equations, HeatWithSidesMeetsTheContract) {
  const GridSpec plate{
      .equation = "heat",
      .nx = 7,
      .ny = 5,
      .sides = {{"west", {"temperature", 0.3}}, {"south", {"periodic", 0.0}}, {"north", {"periodic", 0.0}}},
      .sources = {8, 20}};
  test::expect_contract(grid::make_system<double>(plate), {.steps = 30, .stencil_step = 3e-4});
}

TEST(Equations, WhatAnEquationDoesNotHaveIsRefused) {
  const auto complete = [](GridSpec spec) { return [spec] { return grid::complete(spec); }; };
  expect_error(complete({.equation = "wav"}), "there is no equation 'wav'", "wave, heat, shallow_water");
  expect_error(complete({.equation = "wave", .parameters = {{"sped", 1.0}}}),
               "there is no parameter of 'wave' 'sped'", "speed, damping");
  expect_error(complete({.equation = "wave", .sides = {{"west", {"temperature", 1.0}}}}),
               "the sides of 'wave' cannot be chosen", "leave them out");
  expect_error(complete({.equation = "heat", .sides = {{"left", {"temperature", 1.0}}}}),
               "there is no side 'left'", "west, east, south, north");
  expect_error(complete({.equation = "heat", .sides = {{"west", {"flux", 1.0}}}}),
               "there is no kind of side 'flux'", "gradient, temperature, periodic");
  expect_error(complete({.equation = "heat", .parameters = {{"capacity", std::vector<double>{1, 2}}}}),
               "'capacity' is one number", "the same in all cells");
  expect_error(
      [] {
        return grid::make_system<double>(
            {.equation = "wave", .nx = 4, .ny = 3, .parameters = {{"speed", std::vector<double>{1, 2}}}});
      },
      "'speed' has 2 numbers, and the grid has 12 cells", "one per cell");
  expect_error(
      [] {
        return grid::make_system<double>({.equation = "wave",
                                          .nx = 2,
                                          .ny = 2,
                                          .dt = 0.5,
                                          .parameters = {{"speed", std::vector<double>{1, 1, 2, 1}}}});
      },
      "the speed of cell 2 is 2", "reduce dt below 0.353553");
}

}  // namespace
}  // namespace costate

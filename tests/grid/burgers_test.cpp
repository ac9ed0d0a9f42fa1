#include "costate/grid/burgers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/system/contract.h"

namespace costate {
namespace {

using test::expect_contract, test::expect_error;

// u(x, 0) = -sin(pi x) on [-1, 1), nu = 0.05, at t = 0.5, by Cole and Hopf's transformation: u and du/dnu.
struct Known {
  double x, u, by_viscosity;
};
constexpr Known kKnown[] = {{0.25, -0.746056528243859, 3.463679078692556},
                            {0.5, -0.559880765570347, 0.866983612778040},
                            {0.75, -0.289882805691159, 0.316577135848981}};

TEST(Burgers, ApproachesTheSolutionOfColeAndHopfWithItsDerivative) {
  for (const Known& known : kKnown) {
    double error[2], slope_error[2];
    for (const int level : {0, 1}) {
      const std::int64_t n = level == 0 ? 128 : 256, steps = n / 2;
      const double dx = 2.0 / double(n), dt = 0.5 / double(steps);
      // Small steps of diffusion between long ones of tracing back would be more exact; this is the scheme.
      const auto system =
          grid::burgers<double>({.nx = n, .ny = 10, .dx = dx, .dt = dt / 8, .viscosity = 0.05});
      Rollout<double> rollout(system, {.steps = 8 * steps});
      auto at = rollout.arguments();
      for (std::int64_t c = 0; c < 10 * n; ++c)
        at.x0[std::size_t(c)] = -std::sin(std::numbers::pi * (-1 + (double(c % n) + 0.5) * dx));
      // x lies between two cells.
      const auto cell = std::int64_t((known.x + 1) / dx);
      std::vector<double> weights(std::size_t(10 * n), 0.0);
      weights[std::size_t(cell - 1)] = weights[std::size_t(cell)] = 0.5;
      const auto g = rollout.value_and_gradient(
          at, *loss::cotangents<double>(system->signature(), {8 * steps}, {weights}));
      error[level] = g.value - known.u;
      slope_error[level] = g.parameters["viscosity"][0] - known.by_viscosity;
    }
    EXPECT_NEAR(error[0] / error[1], 2, 0.4) << known.x;
    EXPECT_NEAR(slope_error[0] / slope_error[1], 2, 0.6) << known.x;
    EXPECT_LT(std::abs(error[1]), 0.05);
  }
}

TEST(Burgers, RowsAreLinesOfTheirOwn) {
  Rollout<double> rollout(grid::burgers<double>({.nx = 10, .ny = 10}), {.steps = 5});
  auto at = rollout.arguments();
  for (std::size_t c = 0; c < at.x0.size(); ++c) at.x0[c] = double(c / 10);  // uniform rows stay as they are
  EXPECT_EQ(rollout.simulate(at).final_state, at.x0);
}

TEST(Burgers, KeepsTheContract) {
  const auto smooth = [](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    for (std::size_t i = 0; i < a.x0.size(); ++i)
      a.x0[i] = decltype(a.x0[i] + 0)(1.3 * std::sin(0.7 * double(i) + double(seed)));
    return a;
  };
  const grid::BurgersOptions line{.nx = 10, .ny = 10, .viscosity = 0.3, .source = 0.1};
  expect_contract(grid::burgers<double>(line),
                  {.states = smooth, .steps = 10, .long_steps = 60, .stencil_step = 1e-4});
  expect_contract(grid::burgers<float>(line), {.states = smooth, .steps = 10, .long_steps = 60});
}

TEST(Burgers, SaysWhatIsWrong) {
  expect_error([] { grid::burgers<double>({.viscosity = 10}); }, "viscosity dt / dx^2 = 1 exceeds 0.5",
               "reduce dt");
  expect_error([] { grid::burgers<double>({.viscosity = -1}); }, "the viscosity is -1", "zero or positive");
  expect_error([] { grid::burgers<double>({.ny = 4}); }, "too small", "at least 10 cells");
  const test::AllowFloatExceptions fast;
  Rollout<double> rollout(grid::burgers<double>({.nx = 10, .ny = 10}), {.steps = 5});
  auto at = rollout.arguments();
  at.x0.assign(at.x0.size(), 40.0);
  expect_error([&] { rollout.simulate(at); }, "not finite");
}

}  // namespace
}  // namespace costate

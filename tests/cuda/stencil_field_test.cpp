// What a thread of the GPU does with a cell of the wave, done by the host: against plain loops and against
// grid::wave.
#include "costate/cuda/stencil_field.h"

#include <gtest/gtest.h>

#include "costate/grid/wave.h"
#include "costate/grid/wave_kernel.h"
#include "costate/system/rollout.h"
#include "tests/cuda/batch_cases.h"
#include "tests/cuda/wave_case.h"

namespace costate {
namespace {

using test::worst_error;

TEST(StencilField, CellsGiveTheStatesAndTheGradientOfPlainLoops) {
  const test::WaveCase c(21, 13, 40);
  const test::WaveResult expected = test::reference(c);
  const cuda::StencilField<grid::WaveKernel, double> field{
      c.nx, c.ny, grid::WaveKernel{}.scale(Vec<double, 3>{{c.damping, c.dx, c.dt}}), c.speed.data()};
  std::vector<std::vector<double>> x{c.x0};
  for (int k = 0; k < c.steps; ++k) {
    std::vector<double> y(c.x0.size());
    for (std::int64_t cell = 0; cell < field.cells(); ++cell)
      cuda::step_cell(field, cell, x.back().data(), y.data());
    x.push_back(y);
  }
  std::vector<double> bar = x.back(), speed_bar(c.speed.size());
  for (int k = c.steps - 1; k >= 0; --k) {
    std::vector<double> before(bar.size());
    for (std::int64_t cell = 0; cell < field.cells(); ++cell)
      cuda::transpose_cell(field, cell, x[std::size_t(k)].data(), bar.data(), before.data(),
                           speed_bar.data());
    bar = before;
  }
  const std::int64_t n = c.nx * c.ny;
  EXPECT_LT(worst_error(x.back(), expected.x_end, n), 1e-13);
  EXPECT_LT(worst_error(bar, expected.x0_bar, n), 1e-13);
  EXPECT_LT(worst_error(speed_bar, expected.speed_bar, n), 1e-13);
}

TEST(StencilField, TheReferenceAgreesWithTheWaveOfTheGrid) {
  const test::WaveCase c(21, 13, 40);
  const test::WaveResult expected = test::reference(c);
  const auto system =
      grid::wave<double>({.nx = c.nx, .ny = c.ny, .dx = c.dx, .dt = c.dt, .damping = c.damping});
  Rollout<double> rollout(system, {.steps = c.steps});
  Arguments<double> a = rollout.arguments();
  a.x0 = c.x0;
  a.parameters.set("speed", c.speed);
  const auto loss = loss::sum<double>(
      {loss::final<double>(system->signature(), "u", {}), loss::final<double>(system->signature(), "v", {})});
  const Gradient<double> g = rollout.value_and_gradient(a, *loss);
  const std::span<const double> speed_bar = g.parameters["speed"];
  const std::int64_t n = c.nx * c.ny;
  EXPECT_LT(worst_error(rollout.simulate(a).final_state, expected.x_end, n), 1e-13);
  EXPECT_LT(worst_error(g.x0, expected.x0_bar, n), 1e-13);
  EXPECT_LT(worst_error(std::vector<double>(speed_bar.begin(), speed_bar.end()), expected.speed_bar, n),
            1e-13);
}

}  // namespace
}  // namespace costate

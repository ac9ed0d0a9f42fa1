// The wave equation on the GPU, against plain loops on the host.
#include "costate/cuda/device_wave.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/cuda/batch_cases.h"
#include "tests/cuda/wave_case.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using costate::test::expect_error;

template <class Real>
void expect_reference(std::int64_t nx, std::int64_t ny, int steps, double tolerance) {
  const test::WaveCase c(nx, ny, steps);
  const test::WaveResult expected = test::reference(c);
  cuda::DeviceWave<Real> wave({c.nx, c.ny, c.steps, c.dx, c.dt, c.damping},
                              std::vector<Real>(c.speed.begin(), c.speed.end()));
  const std::vector<Real> x_end = wave.simulate(std::vector<Real>(c.x0.begin(), c.x0.end()));
  const auto gradient = wave.reverse(x_end);
  const std::int64_t n = nx * ny;
  const double state = test::worst_error(x_end, expected.x_end, n);
  const double x0 = test::worst_error(gradient.x0, expected.x0_bar, n);
  const double speed = test::worst_error(gradient.speed, expected.speed_bar, n);
  std::printf("  wave     %-6s relative error: state %.1e, gradient of x0 %.1e, speed %.1e\n",
              sizeof(Real) == 8 ? "double" : "float", state, x0, speed);
  EXPECT_LT(state, tolerance);
  EXPECT_LT(x0, tolerance);
  EXPECT_LT(speed, tolerance);
}

TEST(DeviceWave, HasTheHostsStatesAndGradients) {
  expect_reference<double>(128, 96, 100, 1e-12);
  expect_reference<float>(128, 96, 100, 1e-4);
  expect_reference<double>(2, 3, 20, 1e-12);
}

TEST(DeviceWave, NonsenseIsRefused) {
  const std::vector<double> speed(16, 1.0);
  expect_error([&] { return cuda::DeviceWave<double>({1, 16}, speed); }, "needs at least 2 x 2 cells");
  expect_error(
      [&] {
        return cuda::DeviceWave<double>({5, 5}, speed);
      },
      "expected 25 numbers for the GPU, got 16");
  cuda::DeviceWave<double> wave({4, 4, 3}, speed);
  expect_error([&] { return wave.simulate({1, 2, 3}); }, "expected 32 numbers of initial state, got 3");
  expect_error([&] { return wave.reverse(std::vector<double>(32)); },
               "reverse() needs the states of simulate()");
}

}  // namespace
}  // namespace costate

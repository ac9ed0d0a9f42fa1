// Rollouts and gradients on the GPU, against plain loops on the host.
#include "costate/cuda/device_rollout.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/cuda/batch_cases.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using costate::test::expect_error;
using test::BatchCase;
using test::BatchResult;
using test::LorenzKernel;
using test::PendulumKernel;
using test::worst_error;

template <class Kernel, int kSegment, class Real>
void expect_reference(const char* name, const BatchCase<Real>& c, double tolerance) {
  const BatchResult<double> expected = test::reference<Kernel>(c);
  cuda::DeviceRollout<Kernel, Real, kSegment> rollout({c.worlds, c.steps, c.hold},
                                                      {c.x0, c.controls, c.parameters});
  const std::vector<Real> x_end = rollout.record();
  const auto gradient = rollout.reverse(x_end);
  const double state = worst_error(x_end, expected.x_end, c.worlds);
  const double x0 = worst_error(gradient.x0, expected.x0_bar, c.worlds);
  const double controls = worst_error(gradient.controls, expected.controls_bar, c.worlds);
  const double parameters = worst_error(gradient.parameters, expected.parameters_bar, c.worlds);
  std::printf("  %-8s %-6s relative error: state %.1e, gradient of x0 %.1e, controls %.1e, parameters %.1e\n",
              name, sizeof(Real) == 8 ? "double" : "float", state, x0, controls, parameters);
  EXPECT_LT(state, tolerance);
  EXPECT_LT(x0, tolerance);
  EXPECT_LT(controls, tolerance);
  EXPECT_LT(parameters, tolerance);
  EXPECT_LT(worst_error(rollout.simulate(), expected.x_end, c.worlds), tolerance);
}

TEST(DeviceRollout, LorenzHasTheHostsStatesAndGradients) {
  expect_reference<LorenzKernel, 4>("Lorenz", test::lorenz_case<double>(4096, 200), 1e-10);
  expect_reference<LorenzKernel, 4>("Lorenz", test::lorenz_case<float>(4096, 200), 1e-4);
}

TEST(DeviceRollout, StepsLeftOverFromTheSegmentsCount) {
  expect_reference<LorenzKernel, 4>("Lorenz", test::lorenz_case<double>(100, 203), 1e-10);
  expect_reference<LorenzKernel, 4>("Lorenz", test::lorenz_case<double>(1, 5), 1e-12);
  expect_reference<LorenzKernel, 3>("Lorenz", test::lorenz_case<double>(129, 99), 1e-10);
}

TEST(DeviceRollout, PendulumHasTheHostsGradientsOfItsControls) {
  expect_reference<PendulumKernel, 4>("pendulum", test::pendulum_case<double>(1000, 203, 1), 1e-10);
  expect_reference<PendulumKernel, 4>("pendulum", test::pendulum_case<double>(1000, 203, 10), 1e-10);
  expect_reference<PendulumKernel, 4>("pendulum", test::pendulum_case<float>(1000, 203, 10), 1e-4);
}

TEST(DeviceRollout, ASecondRunHasTheSameBits) {
  const auto c = test::pendulum_case<double>(1000, 100, 10);
  cuda::DeviceRollout<PendulumKernel, double> rollout({c.worlds, c.steps, c.hold},
                                                      {c.x0, c.controls, c.parameters});
  const auto first_end = rollout.record();
  const auto first = rollout.reverse(first_end);
  const auto second_end = rollout.record();
  const auto second = rollout.reverse(second_end);
  EXPECT_EQ(first_end, second_end);
  EXPECT_EQ(first.x0, second.x0);
  EXPECT_EQ(first.controls, second.controls);
  EXPECT_EQ(first.parameters, second.parameters);
}

TEST(DeviceRollout, InactiveParametersHaveNoGradient) {
  const auto c = test::lorenz_case<double>(10, 20);
  cuda::DeviceRollout<LorenzKernel, double, 4, 1ul << ode::Lorenz::kRho> rollout(
      {c.worlds, c.steps, c.hold}, {c.x0, c.controls, c.parameters});
  const auto gradient = rollout.reverse(rollout.record());
  for (std::size_t i = 0; i < gradient.parameters.size(); ++i)
    EXPECT_EQ(std::isnan(gradient.parameters[i]), i / 10 != ode::Lorenz::kRho);
}

TEST(DeviceRollout, NonsenseIsRefused) {
  const auto c = test::lorenz_case<double>(10, 20);
  using Rollout = cuda::DeviceRollout<LorenzKernel, double>;
  expect_error(
      [&] {
        return Rollout({0, 20}, {});
      },
      "a rollout on the GPU needs worlds >= 1, steps >= 0 and hold >= 1");
  expect_error(
      [&] {
        return Rollout({10, 20, 0}, {c.x0, c.controls, c.parameters});
      },
      "a rollout on the GPU needs worlds >= 1, steps >= 0 and hold >= 1");
  expect_error(
      [&] {
        return Rollout({11, 20}, {c.x0, c.controls, c.parameters});
      },
      "expected 33 numbers for the GPU, got 30");
  Rollout rollout({10, 20}, {c.x0, c.controls, c.parameters});
  expect_error([&] { return rollout.reverse(c.x0); }, "reverse() needs the checkpoints of record()");
}

TEST(DeviceBuffer, SaysWhatCudaSays) {
  try {
    cuda::DeviceBuffer<double> too_large(std::size_t(1) << 50);
    FAIL() << "8 PiB were allocated";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cudaErrorMemoryAllocation"), std::string::npos) << error.what();
  }
  EXPECT_EQ(cuda::DeviceBuffer<double>(std::vector<double>{1, 2, 3}).download(),
            (std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace costate

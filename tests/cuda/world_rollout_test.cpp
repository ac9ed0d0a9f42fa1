// What a thread of the GPU does, done by the host: against plain loops and against Rollout.
#include "costate/cuda/world_rollout.h"

#include <gtest/gtest.h>

#include <limits>

#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/system/rollout.h"
#include "tests/cuda/batch_cases.h"

namespace costate {
namespace {

using test::BatchCase;
using test::BatchResult;
using test::LorenzKernel;
using test::PendulumKernel;
using test::worst_error;

template <class Kernel, int kSegment, unsigned long kActive = ~0ul, class Real>
BatchResult<Real> on_host(const BatchCase<Real>& c) {
  const cuda::WorldBatch<Real> batch{c.worlds,           c.steps, c.hold, 0, c.x0.data(), c.controls.data(),
                                     c.parameters.data()};
  BatchResult<Real> r;
  r.x_end.resize(c.x0.size());
  r.controls_bar.resize(c.controls.size());
  r.parameters_bar.assign(c.parameters.size(), std::numeric_limits<Real>::max());
  std::vector<Real> checkpoints(std::size_t(cuda::checkpoint_count(c.steps, kSegment)) * c.x0.size());
  std::vector<Real> forward_only(c.x0.size());
  for (std::int64_t w = 0; w < c.worlds; ++w) {
    cuda::simulate_world<Kernel>(batch, w, forward_only.data());
    cuda::record_world<Kernel, kSegment>(batch, w, checkpoints.data(), r.x_end.data());
  }
  EXPECT_LT(worst_error(forward_only, std::vector<double>(r.x_end.begin(), r.x_end.end()), c.worlds),
            sizeof(Real) == 8 ? 1e-12 : 1e-4);
  r.x0_bar = r.x_end;
  const cuda::WorldCotangents<Real> bar{r.x0_bar.data(), r.controls_bar.data(), r.parameters_bar.data()};
  for (std::int64_t w = 0; w < c.worlds; ++w)
    cuda::reverse_world<Kernel, kSegment, kActive>(batch, w, checkpoints.data(), bar);
  return r;
}

template <class Kernel, int kSegment, class Real>
void expect_reference(const BatchCase<Real>& c, double tolerance) {
  const BatchResult<double> expected = test::reference<Kernel>(c);
  const BatchResult<Real> got = on_host<Kernel, kSegment>(c);
  EXPECT_LT(worst_error(got.x_end, expected.x_end, c.worlds), tolerance);
  EXPECT_LT(worst_error(got.x0_bar, expected.x0_bar, c.worlds), tolerance);
  EXPECT_LT(worst_error(got.controls_bar, expected.controls_bar, c.worlds), tolerance);
  EXPECT_LT(worst_error(got.parameters_bar, expected.parameters_bar, c.worlds), tolerance);
}

TEST(WorldRollout, GradientDoesNotDependOnTheSegments) {
  // 203 steps: whole segments, and segments with steps left over.
  expect_reference<LorenzKernel, 1>(test::lorenz_case<double>(40, 203), 1e-10);
  expect_reference<LorenzKernel, 7>(test::lorenz_case<double>(40, 203), 1e-10);
  expect_reference<LorenzKernel, 8>(test::lorenz_case<double>(40, 203), 1e-10);
  expect_reference<LorenzKernel, 8>(test::lorenz_case<double>(3, 5), 1e-12);
  expect_reference<LorenzKernel, 8>(test::lorenz_case<double>(3, 0), 1e-15);
}

TEST(WorldRollout, ControlKnotsAreHeldAndTheirGradientAddsUp) {
  for (int hold : {1, 5, 8, 200, 1000})
    expect_reference<PendulumKernel, 8>(test::pendulum_case<double>(20, 203, hold), 1e-10);
}

TEST(WorldRollout, FloatFollowsDouble) {
  expect_reference<LorenzKernel, 8>(test::lorenz_case<float>(4096, 200), 1e-4);
  expect_reference<PendulumKernel, 8>(test::pendulum_case<float>(1000, 200, 10), 1e-4);
}

TEST(WorldRollout, OnlyActiveParametersAreWritten) {
  const auto c = test::lorenz_case<double>(10, 20);
  const BatchResult<double> all = on_host<LorenzKernel, 4>(c),
                            one = on_host<LorenzKernel, 4, 1ul << ode::Lorenz::kRho>(c);
  for (std::size_t i = 0; i < c.parameters.size(); ++i) {
    const bool active = i / 10 == ode::Lorenz::kRho;
    if (active)
      EXPECT_NEAR(one.parameters_bar[i], all.parameters_bar[i], 1e-12 * std::abs(all.parameters_bar[i]));
    else
      EXPECT_EQ(one.parameters_bar[i], std::numeric_limits<double>::max());
  }
}

// The plain loops that the GPU is compared with agree with the library's own rollout.
TEST(WorldRollout, ReferenceIsThatOfRollout) {
  const std::int64_t worlds = 13;
  const auto c = test::pendulum_case<double>(worlds, 60, 7);
  const BatchResult<double> expected = test::reference<PendulumKernel>(c);
  const auto system = ode::pendulum<double>(ode::Integrator::verlet);
  Rollout<double> rollout(system, {.steps = c.steps, .worlds = worlds, .hold = c.hold});
  // Rollout's arrays are world-major.
  const auto world_major = [&](const std::vector<double>& v) {
    std::vector<double> r(v.size());
    const std::size_t n = v.size() / std::size_t(worlds);
    for (std::size_t i = 0; i < v.size(); ++i)
      r[i % std::size_t(worlds) * n + i / std::size_t(worlds)] = v[i];
    return r;
  };
  Arguments<double> a = rollout.arguments();
  a.x0 = world_major(c.x0);
  a.controls = world_major(c.controls);
  const char* names[] = {"gravity", "length", "mass", "dt"};
  const auto row = [&](const std::vector<double>& v, int i) {
    return std::vector<double>(v.begin() + i * worlds, v.begin() + (i + 1) * worlds);
  };
  for (int i = 0; i < 4; ++i) a.parameters.set(names[i], row(c.parameters, i));
  const auto loss = loss::sum<double>(
      {loss::final<double>(system->signature(), "q", {}), loss::final<double>(system->signature(), "v", {})});
  const Gradient<double> g = rollout.value_and_gradient(a, *loss);
  EXPECT_LT(worst_error(g.x0, world_major(expected.x0_bar), 1), 1e-12);
  EXPECT_LT(worst_error(g.controls, world_major(expected.controls_bar), worlds), 1e-12);
  for (int i = 0; i < 4; ++i) {
    const std::span<const double> got = g.parameters[names[i]];
    EXPECT_LT(
        worst_error(std::vector<double>(got.begin(), got.end()), row(expected.parameters_bar, i), worlds),
        1e-12)
        << names[i];
  }
}

}  // namespace
}  // namespace costate

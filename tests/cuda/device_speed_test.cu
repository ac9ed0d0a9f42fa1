// How fast the GPU rolls out and differentiates 2^20 Lorenz systems of 1000 Runge-Kutta steps, and that it is
// right while it is fast.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "costate/cuda/device_rollout.h"
#include "tests/cuda/batch_cases.h"

namespace costate {
namespace {

using test::BatchCase;
using test::LorenzKernel;
using test::worst_error;

constexpr std::int64_t kWorlds = 1 << 20;
constexpr int kSteps = 1000;

// rho runs from 0 to 21 over the worlds: the origin and the two fixed points, but no lasting chaos.
template <class Real>
BatchCase<Real> many_worlds() {
  BatchCase<Real> c{kWorlds, kSteps, 1, std::vector<Real>(3 * kWorlds), {}, std::vector<Real>(4 * kWorlds)};
  for (std::int64_t w = 0; w < kWorlds; ++w) {
    c.x0[std::size_t(w)] = 1;
    const double p[] = {10, 21.0 * double(w) / double(kWorlds), 8.0 / 3, 0.01};
    for (int i = 0; i < 4; ++i) c.parameters[std::size_t(i * kWorlds + w)] = Real(p[i]);
  }
  return c;
}

// Every `stride`-th of the worlds up to `end`.
template <class T>
std::vector<T> thin(const std::vector<T>& all, std::int64_t end, std::int64_t stride) {
  std::vector<T> r;
  for (std::size_t row = 0; row < all.size(); row += std::size_t(kWorlds))
    for (std::int64_t w = 0; w < end; w += stride) r.push_back(all[row + std::size_t(w)]);
  return r;
}

// Milliseconds of the fastest of six runs.
template <class F>
float fastest(const F& launch) {
  cudaEvent_t begin, end;
  cuda::check(cudaEventCreate(&begin), "time a kernel");
  cuda::check(cudaEventCreate(&end), "time a kernel");
  float best = 1e30f;
  for (int run = 0; run < 6; ++run) {
    cuda::check(cudaEventRecord(begin), "time a kernel");
    launch();
    cuda::check(cudaEventRecord(end), "time a kernel");
    cuda::check(cudaEventSynchronize(end), "time a kernel");
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, begin, end), "time a kernel");
    best = std::min(best, milliseconds);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return best;
}

template <class Real, int kSegment, unsigned long kActive>
void measure(const char* active, double tolerance) {
  const BatchCase<Real> c = many_worlds<Real>();
  cuda::DeviceRollout<LorenzKernel, Real, kSegment, kActive> rollout({kWorlds, kSteps},
                                                                     {c.x0, {}, c.parameters});
  rollout.cotangent();  // allocated before the clock runs
  const float forward = fastest([&] { rollout.launch_simulate(); });
  const float gradient = fastest([&] {
    rollout.launch_record();
    cuda::check(cudaMemcpyAsync(rollout.cotangent().data(), rollout.final_state().data(),
                                c.x0.size() * sizeof(Real), cudaMemcpyDeviceToDevice),
                "copy the cotangent");
    rollout.launch_reverse();
  });
  const double total = double(kWorlds) * kSteps * 1e3;
  std::printf("  %-6s segment %2d, %-14s forward %.3g, gradient %.3g trajectory-steps/s, ratio %.2f\n",
              sizeof(Real) == 8 ? "double" : "float", kSegment, active, total / forward, total / gradient,
              gradient / forward);
  std::fflush(stdout);

  // The timed runs' results, where the flow forgets rounding errors (rho < 10).
  const std::int64_t end = kWorlds * 10 / 21, stride = 9973;
  const auto worlds = std::int64_t(thin(c.x0, end, stride).size() / 3);
  const auto expected = test::reference<LorenzKernel>(
      BatchCase<Real>{worlds, kSteps, 1, thin(c.x0, end, stride), {}, thin(c.parameters, end, stride)});
  const auto x_end = rollout.record();
  const auto g = rollout.reverse(x_end);
  EXPECT_LT(worst_error(thin(x_end, end, stride), expected.x_end, worlds), tolerance);
  EXPECT_LT(worst_error(thin(g.x0, end, stride), expected.x0_bar, worlds), tolerance);
  const auto row = [&](const auto& v) {
    const auto first = v.begin() + ode::Lorenz::kRho * worlds;
    return std::vector(first, first + worlds);
  };
  EXPECT_LT(worst_error(row(thin(g.parameters, end, stride)), row(expected.parameters_bar), worlds),
            tolerance);
}

constexpr unsigned long kRhoOnly = 1ul << ode::Lorenz::kRho, kAll = ~0ul;

TEST(DeviceSpeed, LorenzInFloat) {
  measure<float, 4, kRhoOnly>("x0 and rho", 1e-3);
  measure<float, 8, kRhoOnly>("x0 and rho", 1e-3);
  measure<float, 2, kAll>("all parameters", 1e-3);
  measure<float, 4, kAll>("all parameters", 1e-3);
}
TEST(DeviceSpeed, LorenzInDouble) {
  measure<double, 4, kRhoOnly>("x0 and rho", 1e-9);
  measure<double, 2, kAll>("all parameters", 1e-9);
  measure<double, 4, kAll>("all parameters", 1e-9);
}

}  // namespace
}  // namespace costate

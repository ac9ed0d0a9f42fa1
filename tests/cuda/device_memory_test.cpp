// What a rollout on a device takes of its memory, and snapshots that lie in the memory of the host.
#include <gtest/gtest.h>

#include "tests/cuda/device_cases.h"
#include "tests/cuda/host_device.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using test::expect_error;

template <class Real>
ObjectivePtr<Real> at_the_end(const System<Real>& system) {
  return loss::final<Real>(system.signature(), "x", {});
}

TEST(DeviceMemory, WhatDoesNotFitIsAnErrorBeforeTheRun) {
  test::register_host_device();
  const auto system = ode::lorenz<float>();
  const auto objective = at_the_end(*system);
  Rollout<float> rollout(system, {.steps = 1000, .worlds = 1000, .device = "host:0"});
  const auto at = test::draw(rollout);
  {
    const test::HostMemory little(700'000);
    expect_error([&] { return rollout.value_and_gradient(at, *objective); },
                 "1000 steps of 1000 worlds needs 3.36 MB", "binomial(16), which needs");
    expect_error([&] { return rollout.value_and_gradient(at, *objective); }, "1000 steps of 1000 worlds",
                 "device = \"host:0+host\" with checkpoints = segments(), which needs");
  }
  rollout.value_and_gradient(at, *objective);
  const test::HostMemory none(1000);
  Rollout<float> other(system, {.steps = 1000, .worlds = 1000, .device = "host:0"});
  expect_error([&] { return other.value_and_gradient(at, *objective); }, "1000 steps of 1000 worlds",
               "use fewer worlds");
}

// The way out that the Error above names.
TEST(DeviceMemory, SnapshotsOnTheHostNeedLessOfTheDevice) {
  test::register_host_device();
  const auto system = ode::lorenz<float>();
  const auto objective = at_the_end(*system);
  RolloutOptions options{.steps = 1000, .worlds = 1000, .checkpoints = segments(), .device = "host:0"};
  Rollout<float> on_device(system, options);
  options.device = "host:0+host";
  Rollout<float> on_host(system, options);
  const auto at = test::draw(on_host);
  const test::HostMemory little(700'000);
  expect_error([&] { return on_device.value_and_gradient(at, *objective); },
               "with segments(sqrt), and host:0");
  EXPECT_LT(on_host.value_and_gradient(at, *objective).report.memory_bytes, 800'000);
}

class SnapshotsOnTheHost : public test::OnDevice {};

TEST_P(SnapshotsOnTheHost, GiveTheBitsOfSnapshotsOnTheDevice) {
  const auto system = ode::lorenz<double>();
  const auto objective = at_the_end(*system);
  for (const Checkpoints& schedule :
       {store_all(), segments(), segments(7), binomial(5), segments().in_single_precision(), truncated(20)}) {
    SCOPED_TRACE(schedule.name());
    RolloutOptions options{.steps = 100, .worlds = 300, .checkpoints = schedule, .device = GetParam()};
    Rollout<double> on_device(system, options);
    options.device += "+host";
    Rollout<double> on_host(system, options);
    const auto at = test::draw(on_host);
    const auto before = test::host_device(0).fetched.load();
    const Gradient<double> a = on_host.value_and_gradient(at, *objective);
    EXPECT_TRUE(test::same_bits(a, on_device.value_and_gradient(at, *objective)));
    EXPECT_TRUE(test::same_bits(on_host.value_and_gradient(at, *objective), a));
    on_host.forward(at);  // one after another, and each to its end
    on_host.forward(at);
    EXPECT_EQ(on_host.backward(*objective).x0, a.x0);
    if (GetParam() == "host:0") {
      EXPECT_EQ(test::host_device(0).fetched > before, Schedule(schedule, 100).slots() > 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, SnapshotsOnTheHost, testing::Values("host:0", "cuda:0"),
                         [](const auto& test) { return test.param.substr(0, 4); });

}  // namespace
}  // namespace costate

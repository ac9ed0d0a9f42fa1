// Worlds that are dealt out to several devices against one device: two hosts in the role of GPUs, or one GPU
// twice.
#include "costate/cuda/several_devices.h"

#include <gtest/gtest.h>

#include "costate/cuda/resident.h"
#include "costate/grid/heat.h"
#include "tests/cuda/device_cases.h"
#include "tests/cuda/host_device.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using test::difference;
using test::expect_error;

class SeveralDevices : public test::OnDevice {
 protected:
  std::string one() const { return GetParam(); }
  std::string two() const { return GetParam() == "host:0" ? "host:0,1" : "cuda:0,0"; }

  template <class Real>
  static ObjectivePtr<Real> objective_of(const System<Real>& system) {
    const Signature& s = system.signature();
    return loss::sum<Real>({loss::final<Real>(s, "q", {}), loss::track<Real>(s, "v", {3, 20}, {0.1, 0.2}),
                            loss::effort<Real>(s, 0.1)});
  }
  template <class Real>
  static void expect_shared_close(const Gradient<Real>& a, const Gradient<Real>& b, double gate) {
    const auto& fields = b.parameters.signature().fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (b.parameters.per_world(f))
        EXPECT_TRUE(std::ranges::equal(a.parameters.values(f), b.parameters.values(f))) << fields[f].name;
      else
        EXPECT_LT(difference(a.parameters.values(f), b.parameters.values(f)), gate) << fields[f].name;
    }
  }
};

// Worlds have the same bits, sums over worlds are rounded differently and are the same on every run.
TEST_P(SeveralDevices, DealOutWorlds) {
  const auto system = ode::pendulum<double>(ode::Integrator::rk4);
  const auto objective = objective_of(*system);
  for (const std::int64_t worlds : {1, 2, 33, 77, 300}) {
    SCOPED_TRACE(worlds);
    RolloutOptions options{.steps = 60, .worlds = worlds, .hold = 3, .device = one()};
    Rollout<double> single(system, options);
    options.device = two();
    Rollout<double> both(system, options);
    const auto at = test::draw(single);
    const Gradient<double> a = both.value_and_gradient(at, *objective),
                           b = single.value_and_gradient(at, *objective);
    EXPECT_EQ(a.values, b.values);
    EXPECT_EQ(a.x0, b.x0);
    EXPECT_EQ(a.controls, b.controls);
    EXPECT_EQ(a.value, b.value);
    expect_shared_close(a, b, 1e-13);
    EXPECT_LT(difference(a.report.adjoint_norm, b.report.adjoint_norm), 1e-13);
    EXPECT_TRUE(test::same_bits(both.value_and_gradient(at, *objective), a));
    EXPECT_EQ(both.values(at, *objective), b.values);
    const std::int64_t before = test::host_device(1).allocated;
    Rollout<double>(system, both.options())
        .forward(at);  // all shares at once: whoever is free takes the next
    if (one() == "host:0") {
      EXPECT_EQ(test::host_device(1).allocated > before, worlds > 33);
    }
  }
}

TEST_P(SeveralDevices, SumWhatWorldsShareInAFixedOrder) {
  const auto system = ode::pendulum<float>(ode::Integrator::rk4);
  RolloutOptions options{.steps = 40, .worlds = 500, .active = {"length"}, .device = two()};
  Rollout<float> both(system, options);
  options.device = "cpu";
  Rollout<float> cpu(system, options);
  Arguments<float> at = cpu.arguments();
  at.x0 = {0.4f, -0.1f};
  for (float& u : at.controls) u = 0.3f;
  const auto objective = objective_of(*system);
  const Gradient<float> a = both.value_and_gradient(at, *objective);
  EXPECT_LT(difference(a, cpu.value_and_gradient(at, *objective)), 1e-5);
  for (int run = 0; run < 3; ++run)
    EXPECT_TRUE(
        test::same_bits(Rollout<float>(system, both.options()).value_and_gradient(at, *objective), a));
}

// The last device has fewer worlds than the others: what it keeps and shows lies where it belongs.
TEST_P(SeveralDevices, KeepAndShowStates) {
  const auto system = ode::lorenz<double>(ode::Integrator::rk4, 0.002);
  RolloutOptions options{.steps = 50, .worlds = 77, .checkpoints = segments(7), .keep = 20, .device = one()};
  Rollout<double> single(system, options);
  options.device = two() + "+host";
  Rollout<double> both(system, options);
  const auto at = test::draw(single);
  std::vector<double> seen(77, NAN);
  StateObserver<double> observer;
  observer.steps = {41};
  observer.look = [&](std::int64_t, std::int64_t world, std::span<const double> x) {
    seen[std::size_t(world)] = x[2];
  };
  const Trajectory<double> a = both.forward(at, observer), b = single.forward(at);
  EXPECT_EQ(a.states, b.states);
  EXPECT_EQ(a.final_state, b.final_state);
  for (std::size_t w = 0; w < seen.size(); ++w) EXPECT_NEAR(seen[w], b.states[(2 * 77 + w) * 3 + 2], 1) << w;
  const auto objective = loss::final<double>(system->signature(), "x", {});
  EXPECT_EQ(both.backward(*objective).x0, single.backward(*objective).x0);
}

TEST_P(SeveralDevices, AWorldThatDivergesIsNamedOrMasked) {
  const test::AllowFloatExceptions it_overflows;
  const auto system = ode::lorenz<double>(ode::Integrator::euler, 0.01);
  RolloutOptions options{.steps = 300, .worlds = 70, .device = two()};
  Rollout<double> stops(system, options);
  Arguments<double> at = stops.arguments();
  at.x0.assign(210, 1.0);
  at.x0[3 * 67] = 1e200;
  const auto objective = loss::final<double>(system->signature(), "x", {});
  expect_error([&] { return stops.value_and_gradient(at, *objective); }, "world 67: the state is not finite",
               "mask_world");
  options.on_divergence = OnDivergence::mask_world;
  const Gradient<double> masked = Rollout<double>(system, options).value_and_gradient(at, *objective);
  options.device = one();
  const Gradient<double> single = Rollout<double>(system, options).value_and_gradient(at, *objective);
  EXPECT_EQ(masked.report.masked_worlds, (std::vector<std::int64_t>{67}));
  EXPECT_EQ(masked.x0, single.x0);
  EXPECT_EQ(masked.value, single.value);
}

// Physics of one large world: the devices take worlds in turn.
TEST_P(SeveralDevices, TakeLargeWorldsInTurn) {
  const auto heat = grid::heat<double>({.nx = 12, .ny = 9});
  RolloutOptions options{.steps = 10, .worlds = 5, .device = one()};
  Rollout<double> single(heat, options);
  options.device = two();
  Rollout<double> both(heat, options);
  Arguments<double> at = single.arguments();
  at.x0.resize(5 * at.x0.size());
  for (std::size_t i = 0; i < at.x0.size(); ++i) at.x0[i] = 0.1 * double(i % 7);
  const auto objective = loss::final<double>(heat->signature(), "T", {});
  EXPECT_TRUE(
      test::same_bits(both.value_and_gradient(at, *objective), single.value_and_gradient(at, *objective)));
}

TEST_P(SeveralDevices, WhatTheyDoNotHaveIsRefused) {
  const auto system = ode::lorenz<double>();
  expect_error(
      [&] { return cuda::ResidentRollout<double>(system, {.steps = 3, .worlds = 64, .device = two()}); },
      "device = \"" + two() + "\"", "make the rollout with device = \"cuda:0\"");
  const std::string kind = one().substr(0, 4);
  expect_error([&] { return Rollout<double>(system, {.device = kind + ":0,x"}); },
               "several \"" + kind + ":0,1\" or \"" + kind + ":all\"");
}

INSTANTIATE_TEST_SUITE_P(On, SeveralDevices, testing::Values("host:0", "cuda:0"),
                         [](const auto& test) { return test.param.substr(0, 4); });

}  // namespace
}  // namespace costate

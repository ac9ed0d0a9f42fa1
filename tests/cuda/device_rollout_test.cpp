// Rollouts on a device against the CPU: the host in the role of a GPU always, a GPU where there is one.
#include <gtest/gtest.h>

#include "costate/system/program/program_objective.h"
#include "tests/cuda/device_cases.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"

namespace costate {
namespace {

using ode::Integrator;
using test::difference;
using test::expect_error;

class DeviceRollout : public test::OnDevice {
 protected:
  template <class Real>
  static constexpr double tolerance = sizeof(Real) == 8 ? 1e-11 : 1e-5;

  // Value, gradient and report of both, from the same inputs.
  template <class Real>
  void expect_same(const test::SystemPtr<Real>& system, RolloutOptions options,
                   const ObjectivePtr<Real>& objective, double gate = tolerance<Real>) {
    Rollout<Real> cpu(system, options);
    options.device = GetParam();
    Rollout<Real> device(system, options);
    const Arguments<Real> at = test::draw(cpu);
    const Gradient<Real> a = device.value_and_gradient(at, *objective),
                         b = cpu.value_and_gradient(at, *objective);
    EXPECT_LT(difference(a, b), gate);
    EXPECT_EQ(a.report.label, b.report.label);
    EXPECT_EQ(a.report.schedule, b.report.schedule);
    EXPECT_EQ(a.report.advances, b.report.advances);
    EXPECT_EQ(a.report.energy_drift.has_value(), b.report.energy_drift.has_value());
    EXPECT_NEAR(a.report.energy_drift.value_or(0), b.report.energy_drift.value_or(0), gate);
    EXPECT_GT(a.report.memory_bytes, 0);
    EXPECT_LT(difference(device.values(at, *objective), b.values), gate);
  }

  template <class Real>
  static ObjectivePtr<Real> at_the_end(const System<Real>& system) {
    std::vector<ObjectivePtr<Real>> terms;
    for (const Field& f : system.signature().fields(Role::state))
      terms.push_back(loss::final<Real>(system.signature(), f.name, {}));
    return loss::sum<Real>(terms);
  }

  template <class Real>
  void every_physics() {
    const RolloutOptions options{.steps = 103, .worlds = 77, .hold = 5};
    for (const auto& system :
         {ode::lorenz<Real>(Integrator::rk4, 0.002), ode::lorenz<Real>(Integrator::euler, 0.002),
          ode::pendulum<Real>(Integrator::verlet), ode::pendulum<Real>(Integrator::rk4),
          ode::pendulum<Real>(Integrator::euler), ode::projectile<Real>(Integrator::rk4),
          ode::projectile<Real>(Integrator::euler), ode::van_der_pol<Real>(Integrator::rk4),
          ode::van_der_pol<Real>(Integrator::euler)}) {
      SCOPED_TRACE(testing::Message() << "states " << system->signature().states() << ", parameters "
                                      << system->signature().parameters());
      expect_same<Real>(system, options, at_the_end(*system));
    }
  }
};

TEST_P(DeviceRollout, EveryPhysicsInDouble) { every_physics<double>(); }
TEST_P(DeviceRollout, EveryPhysicsInFloat) { every_physics<float>(); }

// Terms along the way: those that are numbers, those of the controls, and one that only the host can compute.
TEST_P(DeviceRollout, EveryObjective) {
  const auto system = ode::pendulum<double>(Integrator::rk4);
  const Signature& s = system->signature();
  const RolloutOptions options{.steps = 61, .worlds = 13, .hold = 3};
  std::vector<double> targets(13 * 3);
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = 0.01 * double(i);
  std::vector<std::vector<double>> cotangents(2, std::vector<double>(13 * 2, 0.3));
  cotangents[1][5] = -2;
  const std::vector<ObjectivePtr<double>> terms = {
      loss::final<double>(s, "v", {0.2}, 3),
      loss::track<double>(s, "q", {0, 7, 61}, targets),
      loss::track<double>(s, "q", {1, 2, 30}, {0.1, 0.2, 0.3}),
      loss::final_value<double>(s, "q", 0, -2),
      loss::effort<double>(s, 0.1),
      loss::cotangents<double>(s, {33, 61}, cotangents),
      loss::expression<double>(s, "0.1*q^2 + 0.01*length*v^2 + torque*q", loss::each_step())};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    SCOPED_TRACE(i);
    expect_same<double>(system, options, loss::sum<double>({terms[i], terms[0]}));
  }
  expect_same<double>(system, options, loss::sum<double>(terms));
}

TEST_P(DeviceRollout, EverySchedule) {
  const auto system = ode::pendulum<double>(Integrator::verlet);
  const auto objective = loss::sum<double>(
      {at_the_end(*system), loss::track<double>(system->signature(), "q", {3, 50}, {0.1, 0.2})});
  for (const Checkpoints& schedule :
       {store_all(), segments(), segments(7), binomial(3), binomial(9), reversible(), truncated(10),
        segments().in_single_precision(), binomial(4).truncated(13)}) {
    SCOPED_TRACE(schedule.name());
    // A state that was rounded to single precision is a little different on a device that rounds differently.
    expect_same<double>(system, {.steps = 97, .worlds = 6, .checkpoints = schedule, .hold = 2}, objective,
                        schedule.single_precision ? 1e-6 : 1e-11);
  }
  for (const std::int64_t steps : {0, 1, 2, 3, 4, 5, 8})
    expect_same<double>(system, {.steps = steps, .worlds = 6}, at_the_end(*system));
  for (const Checkpoints& schedule : {store_all(), segments(7), truncated(10)})
    expect_same<double>(system, {.steps = 97, .worlds = 1, .checkpoints = schedule, .hold = 2}, objective);
}

TEST_P(DeviceRollout, ExactSchedulesAndRepeatsHaveTheSameBits) {
  const auto system = ode::lorenz<float>(Integrator::rk4, 0.005);
  RolloutOptions options{.steps = 200, .worlds = 500, .device = GetParam()};
  Rollout<float> rollout(system, options);
  const auto at = test::draw(rollout);
  const auto objective = at_the_end(*system);
  const Gradient<float> first = rollout.value_and_gradient(at, *objective);
  EXPECT_TRUE(test::same_bits(rollout.value_and_gradient(at, *objective), first));
  for (const Checkpoints& schedule : {segments(), segments(7), binomial(5)}) {
    options.checkpoints = schedule;
    EXPECT_TRUE(test::same_bits(Rollout<float>(system, options).value_and_gradient(at, *objective), first))
        << schedule.name();
  }
}

TEST_P(DeviceRollout, SharedInputsAndActiveParameters) {
  const auto system = ode::pendulum<double>(Integrator::rk4);
  RolloutOptions options{.steps = 40, .worlds = 300, .hold = 4, .active = {"length"}};
  Rollout<double> cpu(system, options);
  options.device = GetParam();
  Rollout<double> device(system, options);
  Arguments<double> at = cpu.arguments();
  at.x0 = {0.4, -0.1};
  for (double& u : at.controls) u = 0.3;
  const auto objective = loss::sum<double>({at_the_end(*system), loss::effort<double>(system->signature())});
  const Gradient<double> a = device.value_and_gradient(at, *objective),
                         b = cpu.value_and_gradient(at, *objective);
  EXPECT_LT(difference(a, b), 1e-11);
  EXPECT_EQ(a.x0.size(), 2u);
  EXPECT_EQ(a.parameters["gravity"][0], 0);
  EXPECT_NE(a.parameters["length"][0], 0);
}

TEST_P(DeviceRollout, KeepsAndShowsStates) {
  const auto system = ode::lorenz<double>(Integrator::rk4, 0.002);
  RolloutOptions options{.steps = 100, .worlds = 9, .keep = 30};
  Rollout<double> cpu(system, options);
  options.device = GetParam();
  Rollout<double> device(system, options);
  const auto at = test::draw(cpu);
  std::vector<std::int64_t> seen;
  StateObserver<double> observer;
  observer.steps = {0, 41};
  observer.look = [&](std::int64_t k, std::int64_t world, std::span<const double>) {
    if (world == 8) seen.push_back(k);
  };
  const Trajectory<double> a = device.forward(at, observer), b = cpu.forward(at);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 41}));
  EXPECT_EQ(a.kept, b.kept);
  EXPECT_LT(difference(a.states, b.states), 1e-11);
  EXPECT_LT(difference(a.final_state, b.final_state), 1e-11);
  const auto objective = at_the_end(*system);
  EXPECT_LT(difference(device.backward(*objective).x0, cpu.backward(*objective).x0), 1e-11);
  expect_error([&] { return device.backward(*objective); }, "without a forward()");
}

TEST_P(DeviceRollout, AWorldThatDivergesIsNamedOrMasked) {
  const test::AllowFloatExceptions it_overflows;
  const auto system = ode::lorenz<double>(Integrator::euler, 0.01);
  RolloutOptions options{.steps = 300, .worlds = 5, .device = GetParam()};
  Rollout<double> stops(system, options);
  Arguments<double> at = stops.arguments();
  at.x0.assign(15, 1.0);
  at.x0[3 * 3] = 1e200;
  const auto objective = at_the_end(*system);
  expect_error([&] { return stops.value_and_gradient(at, *objective); }, "world 3: the state is not finite",
               "mask_world");
  options.on_divergence = OnDivergence::mask_world;
  Rollout<double> masks(system, options);
  options.device = "cpu";
  Rollout<double> cpu(system, options);
  const Gradient<double> a = masks.value_and_gradient(at, *objective),
                         b = cpu.value_and_gradient(at, *objective);
  EXPECT_EQ(a.report.masked_worlds, (std::vector<std::int64_t>{3}));
  EXPECT_NEAR(a.value, b.value, 1e-9 * std::abs(b.value));
  EXPECT_LT(difference(a.x0, b.x0), 1e-11);
  EXPECT_LT(difference(a.parameters["rho"], b.parameters["rho"]), 1e-11);
  at.x0[0] = NAN;
  expect_error([&] { return stops.simulate(at); }, "the initial state is not finite: x is nan");
}

struct NoKernels final : System<double> {
  NoKernels() { fields.state("x"); }
  const Signature& signature() const override { return fields; }
  void step(const StepContext&, const Inputs<double>& in, double* y, double*, Workspace&) const override {
    *y = *in.x;
  }
  Signature fields;
};

TEST_P(DeviceRollout, WhatItDoesNotHaveIsRefused) {
  const auto system = ode::lorenz<double>();
  Rollout<double> rollout(system, {.steps = 3, .device = GetParam()});
  const auto at = rollout.arguments();
  expect_error([&] { return rollout.jvp(at, at); }, "has no tangents", "device = \"cpu\"");
  const auto other = std::make_shared<NoKernels>();
  expect_error(
      [&] { return Rollout<double>(other, {.steps = 3, .device = GetParam()}); },
      "this physics has no kernels for " + GetParam() + ": costate::(anonymous namespace)::NoKernels",
      "device = \"cpu\"");
}

INSTANTIATE_TEST_SUITE_P(On, DeviceRollout, testing::Values("host:0", "cuda:0"),
                         [](const auto& test) { return test.param.substr(0, test.param.find(':')); });

}  // namespace
}  // namespace costate

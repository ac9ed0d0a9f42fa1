// Rollouts whose arrays stay on the device, against the same rollouts with arrays of the host.
#include "costate/cuda/resident.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "costate/grid/heat.h"
#include "tests/cuda/device_cases.h"
#include "tests/cuda/host_device.h"
#include "tests/expect_error.h"
#if defined(COSTATE_HAS_CUDA)
#include "costate/cuda/cuda_device.h"
#endif

namespace costate {
namespace {

using cuda::DeviceArray;
using cuda::ResidentRollout;
using ode::Integrator;
using test::expect_error;

class Resident : public test::OnDevice {
 protected:
  void SetUp() override {
    test::OnDevice::SetUp();
    if (IsSkipped()) return;
#if defined(COSTATE_HAS_CUDA)
    if (GetParam().starts_with("cuda")) {
      device_ = cuda::device_of(0);
      device_->enter();
      return;
    }
#endif
    device_ = std::make_shared<test::HostDevice>();
  }

  template <class Real>
  DeviceArray<Real> array(const std::vector<Real>& values) {
    DeviceArray<Real> made(*device_);
    made.upload(values.data(), std::int64_t(values.size()));
    return made;
  }
  template <class Real>
  DeviceArray<Real> array(std::size_t size) {
    return array(std::vector<Real>(size, Real(NAN)));
  }

  std::shared_ptr<const cuda::Device> device_;
};

// x0, controls and one parameter of each world; one parameter that all worlds share; the others by default.
template <class Real>
Arguments<Real> some(const Rollout<Real>& rollout) {
  Arguments<Real> at = rollout.arguments();
  const std::size_t worlds = std::size_t(rollout.options().worlds);
  at.x0.resize(at.x0.size() * worlds);
  for (std::size_t i = 0; i < at.x0.size(); ++i) at.x0[i] = Real(0.3) + Real(0.01) * Real(i % 31);
  at.controls.resize(at.controls.size() * worlds);
  for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = Real(0.1) * Real(i % 7);
  std::vector<Real> length(worlds);
  for (std::size_t w = 0; w < worlds; ++w) length[w] = Real(1) + Real(0.01) * Real(w % 13);
  at.parameters.set("length", length);
  at.parameters.set("gravity", Real(9));
  return at;
}

TEST_P(Resident, GivesTheBitsOfARolloutWithArraysOfTheHost) {
  const auto system = ode::pendulum<double>(Integrator::rk4);
  const Signature& s = system->signature();
  RolloutOptions options{.steps = 60,
                         .worlds = 77,
                         .hold = 3,
                         .keep = 20,
                         .active = {"length", "gravity"},
                         .device = GetParam()};
  for (const Checkpoints& schedule : {store_all(), binomial(4)}) {
    SCOPED_TRACE(schedule.name());
    options.checkpoints = schedule;
    Rollout<double> rollout(system, options);
    const Arguments<double> at = some(rollout);
    std::vector<std::vector<double>> bars(4, std::vector<double>(77 * 2));
    for (std::size_t i = 0; i < bars[0].size(); ++i)
      for (std::size_t j = 0; j < 4; ++j) bars[j][i] = 0.1 * double(i % 5) - 0.05 * double(j);
    const Trajectory<double> trajectory = rollout.simulate(at);
    const Gradient<double> gradient =
        rollout.value_and_gradient(at, *loss::cotangents<double>(s, {0, 20, 40, 60}, bars));

    ResidentRollout<double> resident(system, options);
    ASSERT_EQ(resident.kept(), 4);
    const auto field = [&](const std::string& name) {
      return std::size_t(std::ranges::find(s.fields(Role::parameter), name, &Field::name) -
                         s.fields(Role::parameter).begin());
    };
    const std::size_t length = field("length"), gravity = field("gravity");
    const auto x0 = array(at.x0), u = array(at.controls),
               l = array(std::vector<double>(at.parameters.values(length).begin(),
                                             at.parameters.values(length).end())),
               g = array(std::vector<double>{9});
    cuda::ResidentArguments<double> inputs{{x0.data(), false}, {u.data(), false}, {}};
    inputs.parameters.resize(s.fields(Role::parameter).size());
    inputs.parameters[length] = {l.data(), false};
    inputs.parameters[gravity] = {g.data(), true};
    auto final_state = array<double>(77 * 2), states = array<double>(4 * 77 * 2);
    resident.simulate(inputs, final_state.data(), states.data(), nullptr);
    EXPECT_EQ(final_state.download(77 * 2), trajectory.final_state);
    EXPECT_EQ(states.download(4 * 77 * 2), trajectory.states);

    std::vector<double> all;
    for (const auto& bar : bars) all.insert(all.end(), bar.begin(), bar.end());
    const auto states_bar = array(all);
    auto x0_bar = array<double>(at.x0.size()), u_bar = array<double>(at.controls.size()),
         l_bar = array<double>(77), g_bar = array<double>(1);
    cuda::ResidentCotangents<double> to{x0_bar.data(), u_bar.data(), {}};
    to.parameters.resize(inputs.parameters.size());
    to.parameters[length] = l_bar.data(), to.parameters[gravity] = g_bar.data();
    resident.pull_back(inputs, nullptr, states_bar.data(), to, nullptr);
    EXPECT_EQ(x0_bar.download(std::int64_t(at.x0.size())), gradient.x0);
    EXPECT_EQ(u_bar.download(std::int64_t(at.controls.size())), gradient.controls);
    EXPECT_TRUE(std::ranges::equal(l_bar.download(77), gradient.parameters.values(length)));
    EXPECT_TRUE(std::ranges::equal(g_bar.download(1), gradient.parameters.values(gravity)));
  }
}

TEST_P(Resident, SumsCotangentsOfWhatAllWorldsShare) {
  const auto system = ode::pendulum<float>(Integrator::rk4);
  const RolloutOptions options{.steps = 30, .worlds = 5000, .device = GetParam()};
  Rollout<float> rollout(system, options);
  Arguments<float> at = rollout.arguments();
  at.x0 = {0.4f, -0.1f};
  for (float& control : at.controls) control = 0.2f;
  const std::vector<float> bar(5000 * 2, 0.25f);
  const Gradient<float> gradient =
      rollout.value_and_gradient(at, *loss::cotangents<float>(system->signature(), {30}, {bar}));
  ResidentRollout<float> resident(system, options);
  const auto x0 = array(at.x0), u = array(at.controls), final_bar = array(bar);
  auto x0_bar = array<float>(2), u_bar = array<float>(30);
  resident.pull_back({{x0.data(), true}, {u.data(), true}, {}}, final_bar.data(), nullptr,
                     {x0_bar.data(), u_bar.data(), {}}, nullptr);
  EXPECT_EQ(x0_bar.download(2), gradient.x0);
  EXPECT_EQ(u_bar.download(30), gradient.controls);
}

TEST_P(Resident, AWorldThatDivergesIsAnErrorOrHasCotangentsOfZero) {
  const test::AllowFloatExceptions it_overflows;
  const auto system = ode::lorenz<double>(Integrator::euler, 0.01);
  RolloutOptions options{.steps = 300, .worlds = 5, .device = GetParam()};
  std::vector<double> start(15, 1.0);
  start[3 * 3] = 1e200;
  const auto x0 = array(start), final_bar = array(std::vector<double>(15, 1.0));
  auto final_state = array<double>(15), x0_bar = array<double>(15);
  const cuda::ResidentArguments<double> inputs{{x0.data(), false}, {}, {}};
  ResidentRollout<double> stops(system, options);
  expect_error([&] { stops.simulate(inputs, final_state.data(), nullptr, nullptr); },
               "world 3: the state is not finite", "mask_world");
  options.on_divergence = OnDivergence::mask_world;
  ResidentRollout<double> masks(system, options);
  masks.simulate(inputs, final_state.data(), nullptr, nullptr);
  masks.pull_back(inputs, final_bar.data(), nullptr, {x0_bar.data(), nullptr, {}}, nullptr);
  const std::vector<double> found = final_state.download(15), bars = x0_bar.download(15);
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(std::isfinite(found[std::size_t(i)]), i / 3 != 3) << i;
    EXPECT_EQ(bars[std::size_t(i)] == 0, i / 3 == 3) << i;
  }
}

TEST_P(Resident, WhatHasNoArraysOfADeviceIsRefused) {
  const auto system = ode::lorenz<double>();
  expect_error([&] { return ResidentRollout<double>(system, {.steps = 3}); }, "device = \"cpu\"",
               "device = \"cuda:0\"");
  const auto heat = grid::heat<double>({.nx = 8, .ny = 8});
  expect_error([&] { return ResidentRollout<double>(heat, {.steps = 3, .worlds = 2, .device = GetParam()}); },
               "one world for this physics", "a rollout for each world");
  ResidentRollout<double> rollout(system, {.steps = 3, .device = GetParam()});
  auto final_state = array<double>(3);
  expect_error([&] { rollout.simulate({}, final_state.data(), nullptr, nullptr); }, "x0 is missing");
}

INSTANTIATE_TEST_SUITE_P(On, Resident, testing::Values("host:0", "cuda:0"),
                         [](const auto& test) { return test.param.substr(0, test.param.find(':')); });

}  // namespace
}  // namespace costate

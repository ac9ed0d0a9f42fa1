#include "costate/learn/closed_loop.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/grid/wave.h"
#include "costate/rigid/compile/complete.h"
#include "costate/rigid/rigid_system.h"
#include "costate/soft/mass_spring.h"
#include "costate/system/program/lambda_system.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/rigid/models.h"
#include "tests/system/contract.h"

namespace costate::learn {
namespace {

using costate::test::expect_error;

// Two masses and a muscle in free space.
soft::MassSpringModel dumbbell() {
  return {.masses = {1, 2},
          .springs = {{.rest_length = 1, .stiffness = 30, .damping = 0.4, .muscle = 0, .strength = 0.3}},
          .drag = 0.5,
          .dt = 0.01};
}
const PolicyNetwork kNetwork = {.waves = 3,
                                .omega = 5,
                                .observations = {{{{0, 1}, {2, -1}}}, {{{4, 0.5}}}, {{{7, 0.3}, {1, 0.1}}}},
                                .hidden = 4,
                                .seed = 3};

template <class Real>
Arguments<Real> stretched(const Rollout<Real>& rollout) {
  Arguments<Real> a = rollout.arguments();
  for (std::size_t i = 0; i < a.x0.size(); ++i) a.x0[i] = static_cast<Real>(std::sin(1.0 + 2.0 * double(i)));
  return a;
}

template <class Real>
void contract(std::shared_ptr<System<Real>> plant, const PolicyNetwork& network, const char* field) {
  const auto system = closed_loop<Real>(plant, network);
  test::expect_contract(system, {.states = [](const auto& rollout, unsigned) { return stretched(rollout); },
                                 .objective = loss::final<Real>(system->signature(), field, {}),
                                 .stencil_step = 3e-4});
}

TEST(ClosedLoop, ManySmallWorldsMeetTheContract) {
  contract<double>(soft::make_system<double>(dumbbell()), kNetwork, "x");
  contract<float>(soft::make_system<float>(dumbbell()), kNetwork, "x");
}

TEST(ClosedLoop, OneLargeWorldMeetsTheContract) {
  const auto pond = grid::wave<double>({.nx = 6, .ny = 5, .dt = 0.05, .sources = {7, 20}});
  contract<double>(pond, {.waves = 2, .omega = 0.3, .observations = {{{{3, 1}}}, {{{40, 1}}}}, .hidden = 3},
                   "u");
}

// A recorded system steps several packs at once.
TEST(ClosedLoop, SeveralPacksInABlockMeetTheContract) {
  Signature fields;
  fields.state("angle").state("rate").control("torque").parameter("length", 1.0);
  const auto pendulum = [](auto x, auto u, auto p) {
    return std::array{x[1], u[0] - 9.81 / p[0] * sin(x[0])};
  };
  const auto system = lambda_system<double, Sizes{.states = 2, .controls = 1, .parameters = 1}>(
      fields, pendulum, rk4(0.01), 64);
  ASSERT_GT(system->lanes(), kNativeLanes<double>);
  contract<double>(system, {.waves = 2, .omega = 3, .observations = {{{{0, 1}}}, {{{1, 1}}}}, .hidden = 3},
                   "angle");
}

// A plant that leaves a tape for its transpose.
TEST(ClosedLoop, RigidBodiesMeetTheContract) {
  const rigid::Model model = rigid::test::zoo(rigid::Integrator::euler);
  const auto plant = rigid::make_system<double>(model);
  const Activity all{std::vector<bool>(plant->signature().fields(Role::parameter).size(), true), true};
  ASSERT_GT(plant->tape(all, {}).size, 0);
  const auto system = closed_loop<double>(
      plant, {.waves = 2, .omega = 3, .observations = {{{{0, 1}}}, {{{model.nq, 0.5}}}}, .hidden = 3});
  test::expect_contract(system, {.states =
                                     [&](const auto& rollout, unsigned seed) {
                                       return rigid::test::random_arguments(model, rollout, seed + 4);
                                     },
                                 .objective = loss::final<double>(system->signature(), "v", {}),
                                 .steps = 20,
                                 .long_steps = 100,
                                 .stencil_step = 3e-4});
}

// The same motion with and without a network that does nothing: the same report.
TEST(ClosedLoop, WhatThePlantNoticesIsInTheReport) {
  const auto plant = rigid::make_system<double>(rigid::test::limited_pendulum(), {.applied_forces = true});
  const auto loop = closed_loop<double>(plant, {.waves = 0, .observations = {{{{0, 1}}}}, .hidden = 2});
  const auto report_of = [](const std::shared_ptr<System<double>>& system) {
    Rollout<double> rollout(system, {.steps = 600, .hold = 600});
    Arguments<double> at = rollout.arguments();
    at.x0 = {1, 0};
    if (system->signature().find_if(Role::parameter, "policy/w2"))
      for (double& weight : at.parameters["policy/w2"]) weight = 0;
    return rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {})).report;
  };
  const GradientReport alone = report_of(plant), inside = report_of(loop);
  ASSERT_GE(alone.mode_switches.size(), 2u);  // in, and out
  EXPECT_EQ(inside.mode_switches, alone.mode_switches);
  EXPECT_EQ(inside.adjoint_residual, alone.adjoint_residual);
  EXPECT_GT(inside.adjoint_residual, 0);
}

// A quaternion of zeros has a name in a closed loop too.
TEST(ClosedLoop, APlantsFaultIsTold) {
  const rigid::Model model = rigid::test::zoo(rigid::Integrator::euler);
  const auto system =
      closed_loop<double>(rigid::make_system<double>(model), {.observations = {{{{0, 1}}}}, .hidden = 2});
  Rollout<double> rollout(system, {.steps = 3});
  const costate::test::AllowFloatExceptions nan;
  expect_error([&] { return rollout.simulate(rollout.arguments()); }, "quaternion of joint");
}

TEST(ClosedLoop, NetworkWithoutWavesMeetsTheContract) {
  PolicyNetwork reflex = kNetwork;
  reflex.waves = 0;
  contract<double>(soft::make_system<double>(dumbbell()), reflex, "x");
}

// Controls computed beside the rollout and given to the plant: the same motion.
TEST(ClosedLoop, IsThePlantUnderTheNetworksControls) {
  const auto plant = soft::make_system<double>(dumbbell());
  const auto system = closed_loop<double>(plant, kNetwork);
  Rollout<double> loop(system, {.steps = 40, .keep = 1}), open(plant, {.steps = 40});
  const Arguments<double> a = stretched(loop);
  const auto run = loop.simulate(a);
  Arguments<double> b = open.arguments();
  b.x0 = a.x0;
  const auto p = [&](const char* name) { return a.parameters[name]; };
  for (std::size_t k = 0; k < 40; ++k) {
    const double* x = run.states.data() + k * 8;
    std::vector<double> o;
    for (int j = 0; j < 3; ++j) o.push_back(std::sin(5 * 0.01 * double(k) + 2 * std::numbers::pi * j / 3));
    o.insert(o.end(), {x[0] - x[2], 0.5 * x[4], 0.3 * x[7] + 0.1 * x[1]});
    double u = p("policy/b2")[0];
    for (std::size_t i = 0; i < 4; ++i) {
      double sum = p("policy/b1")[i];
      for (std::size_t j = 0; j < 6; ++j) sum += p("policy/w1")[i * 6 + j] * o[j];
      u += p("policy/w2")[i] * std::tanh(sum);
    }
    b.controls[k] = std::tanh(u);
  }
  const auto end = open.simulate(b).final_state;
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(run.final_state[i], end[i], 1e-13);
}

TEST(ClosedLoop, RefusesNetworksThatDoNotFit) {
  const auto plant = soft::make_system<double>(dumbbell());
  const auto with = [&](PolicyNetwork n) { return closed_loop<double>(plant, n); };
  expect_error([&] { return with({.waves = 0}); }, "a network that sees neither waves nor observations");
  expect_error([&] { return with({.waves = 2, .hidden = 0}); }, "a network needs a hidden layer");
  expect_error([&] { return with({.waves = -1}); }, "waves that can be counted");
  expect_error(
      [&] {
        return with({.observations = {{{{8, 1}}}}});
      },
      "an observation of state number 8, but there are 8");
  expect_error([&] { return closed_loop<double>(grid::wave<double>({.nx = 4, .ny = 4}), {.waves = 2}); },
               "there is nothing to control: the plant has no controls");
}

}  // namespace
}  // namespace costate::learn

#include "costate/control/plan/mpc.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/control/filter/twin.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"
#include "costate/system/rollout.h"
#include "tests/control/problems.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::test::expect_error;

Problem short_sighted() {
  Problem p = test::pendulum();
  p.lower = {-3}, p.upper = {3};
  const Signature& s = p.system->signature();
  const std::string near = "(x[0] - 3.141592653589793)^2 + 0.1*x[1]^2";
  p.objective = loss::sum<double>({loss::expression<double>(s, near + " + 0.01*torque^2", loss::each_step()),
                                   loss::expression<double>(s, "20*(" + near + ")", loss::at_end())});
  return p;
}

// The pendulum itself, a step at a time.
struct World {
  Problem problem = short_sighted();
  Plant plant{problem.system, problem.parameters, StateSpace()};
  std::vector<double> x = {0, 0};
  void step(const std::vector<double>& u) {
    auto block = plant.take();
    std::vector<double> y(2);
    plant.step(0, x.data(), u.data(), y.data(), *block);
    plant.give_back(std::move(block));
    x = y;
  }
};

TEST(Mpc, SwingsUpAndStaysUp) {
  World world;
  Mpc mpc(short_sighted(), {0.1}, {.ddp = {.iterations = 20}});
  for (int k = 0; k < 100; ++k) {
    mpc.update(world.x, k == 0 ? 0 : 1);
    const auto u = mpc.control(world.x);
    EXPECT_LE(std::fabs(u[0]), 3);
    world.step(u);
    if (k == 70) world.x[1] += 0.5;  // a push
  }
  EXPECT_NEAR(world.x[0], test::kPi, 0.05);
  EXPECT_NEAR(world.x[1], 0, 0.2);
}

// Once converged, the next plan starts where it would end: one iteration at most improves on it.
TEST(Mpc, AWarmStartIsShorterThanACold) {
  Mpc mpc(short_sighted(), {0.1}, {.ddp = {.method = Method::ddp, .iterations = 200}});
  const int cold = mpc.update({0, 0}).iterations;
  const std::vector<double> next(mpc.latest().x.begin() + 2, mpc.latest().x.begin() + 4);
  const int warm = mpc.update(next, 1).iterations;
  EXPECT_LT(warm, cold / 2);
}

TEST(Mpc, ASavedPlanGoesOnAsIfNothingHappened) {
  Mpc first(short_sighted(), {0.1}, {.ddp = {.iterations = 3}});
  first.update({0, 0});
  Mpc second(short_sighted(), {0}, {.ddp = {.iterations = 3}});
  second.start(first.latest());
  EXPECT_EQ(second.latest().u, first.latest().u);
  EXPECT_EQ(second.control({0, 0}), first.control({0, 0}));
  Plan other = first.latest();
  other.u.pop_back();
  expect_error([&] { return second.start(other), 0; }, "controls instead of", "over the same steps");
  EXPECT_EQ(second.latest().u, first.latest().u);  // nothing was lost
}

// A pendulum is to be held at half a radian, and carries a load that the model does not know. A twin
// estimates the load from the angle, and plans with it leave no offset.
struct Loaded {
  Signature fields;
  std::shared_ptr<const System<double>> system;
  Loaded() {
    fields.state("angle").state("rate").control("torque").parameter("load", 0.0);
    system = equations_system<double>(
        fields, "angle_dot = rate; rate_dot = torque + load - 9.81*sin(angle) - 0.1*rate", rk4(0.05));
  }
  Problem held() const {
    Problem p{.system = system, .objective = nullptr, .steps = 20, .x0 = {0, 0}, .parameters = {}};
    p.parameters = Parameters<double>(system->signature());
    const std::string off = "10*(angle - 0.5)^2 + rate^2 + 0.1*(torque + load - 9.81*sin(0.5))^2";
    p.objective = loss::sum<double>({loss::expression<double>(fields, off, loss::each_step()),
                                     loss::expression<double>(fields, "50*(angle - 0.5)^2 + 5*rate^2")});
    return p;
  }
  TwinProblem watched() const {
    TwinProblem t;
    t.system = system, t.parameters = Parameters<double>(system->signature());
    t.measured = {loss::expression<double>(fields, "angle")};
    t.measurement_noise = {1e-6}, t.process_noise = {1e-10, 0, 0, 1e-8};
    t.x0 = {0, 0}, t.P0 = {1e-6, 0, 0, 1e-6};
    t.tuned = {{.name = "load", .deviation = 2, .drift = 0.05}};
    return t;
  }
};

double offset_under_load(bool estimates) {
  const Loaded pendulum;
  Mpc mpc(pendulum.held(), {0});
  Twin twin(pendulum.watched());
  Rollout<double> step(pendulum.system, {.steps = 1});
  Arguments<double> real = step.arguments();
  real.x0 = {0, 0}, real.parameters.set("load", 2.0);
  for (int k = 0; k < 150; ++k) {
    if (estimates) mpc.set_parameters(twin.parameters());
    mpc.update(real.x0, k == 0 ? 0 : 1);
    real.controls = mpc.control(real.x0);
    real.x0 = step.simulate(real).final_state;
    twin.step(real.controls, {real.x0[0]});
  }
  return std::abs(real.x0[0] - 0.5);
}

TEST(Mpc, ADisturbanceThatATwinEstimatesLeavesNoOffset) {
  EXPECT_GT(offset_under_load(false), 0.02);
  EXPECT_LT(offset_under_load(true), 1e-6);
}

TEST(Mpc, ParametersThatDoNotFitAreRefused) {
  const Loaded pendulum;
  Mpc mpc(pendulum.held(), {0});
  const std::vector<double> before = mpc.update({0, 0}).u;
  expect_error([&] { return mpc.set_parameters(Parameters<double>()), 0; }, "parameters of one world");
  EXPECT_EQ(mpc.update({0, 0}, 0).u.size(), before.size());
  Problem with = pendulum.held();
  with.jacobians = [](std::int64_t, const double*, const double*, double*, double*) {};
  Mpc other(with, {0});
  expect_error([&] { return other.set_parameters(Parameters<double>(pendulum.system->signature())), 0; },
               "those of its first parameters", "give new ones too");
}

// The planner thread takes new parameters with its next plan, as the planner in the caller's thread does.
TEST(Mpc, ThePlannerThreadTakesNewParameters) {
  const Loaded pendulum;
  const Parameters<double> loaded = Parameters<double>(pendulum.system->signature()).set("load", 2.0);
  Mpc here(pendulum.held(), {0});
  here.set_parameters(loaded);
  here.update({0.1, 0}, 0);
  AsyncMpc there(Mpc(pendulum.held(), {0}));
  there.set_parameters(loaded);
  there.observe({0.1, 0}, 0);
  EXPECT_EQ(there.control({0.1, 0}, 0), here.control({0.1, 0}));
}

TEST(Mpc, ThePlannerThreadFollowsTheWorld) {
  World world;
  AsyncMpc mpc(Mpc(short_sighted(), {0.1}, {.ddp = {.iterations = 20}}));
  for (int k = 0; k < 100; ++k) {
    mpc.observe(world.x, k);
    if (k % 3 == 0) mpc.settle();  // at worst three steps behind
    world.step(mpc.control(world.x, k));
  }
  mpc.settle();
  EXPECT_GE(mpc.plans(), 34);
  EXPECT_NEAR(world.x[0], test::kPi, 0.1);
}

TEST(Mpc, ErrorsOfThePlannerThreadReachTheCaller) {
  AsyncMpc mpc(Mpc(short_sighted(), {0.1}));
  expect_error([&] { return mpc.control({0, 0}, 0); }, "call observe first");
  mpc.observe({0, 0, 0}, 0);
  expect_error([&] { return mpc.control({0, 0}, 0); }, "the state has 3 numbers instead of 2");
  expect_error([&] { return mpc.observe({0, 0}, 0), 0; }, "step 0 was seen before");
}

TEST(Mpc, OverrunsAreCounted) {
  Mpc mpc(short_sighted(), {0.1}, {.ddp = {.iterations = 5, .budget_s = 1e-9}});
  EXPECT_EQ(mpc.update({0, 0}).outcome, Outcome::budget);
  EXPECT_EQ(mpc.late(), 1);
  EXPECT_EQ(mpc.control({0, 0}).size(), 1u);
  expect_error([&] { return mpc.update({0, 0}, -1), 0; }, "time does not run backwards");
}

}  // namespace
}  // namespace costate::control

#include "costate/control/mpc.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/system/program/program_objective.h"
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

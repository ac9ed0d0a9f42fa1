// Parameters that differ from episode to episode, and what learning with them is for.
#include "costate/learn/variation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "costate/learn/learner.h"
#include "costate/system/program/program_system.h"
#include "tests/expect_error.h"

namespace costate::learn {
namespace {

using costate::test::expect_error;

// A cart is to be brought to the origin; how strong its motor is varies, and a drag of two numbers.
Task cart() {
  Signature s;
  s.state("x")
      .state("v")
      .control("push")
      .parameter("motor", 2.0)
      .parameter("drag", std::vector<double>{0.1, 0.2});
  Task task{.plant = equations_system<double>(
                s, "x_dot = v; v_dot = motor*push - drag[0]*v - drag[1]*v*abs(v)", rk4(0.1)),
            .decisions = 12};
  task.observe = task_program(s, {"x", "v"}, "observe");
  task.reward = task_program(s, {"-x^2 - 0.1*v^2"}, "reward");
  task.start = {0, 0}, task.uniform = {1, 1};
  task.lower = {-1}, task.upper = {1};
  task.vary = {{"motor", 0.4}, {"drag", 0.2}};
  return task;
}

LearnOptions small() {
  return {
      .steps = 960, .worlds = 8, .horizon = 10, .hidden = {6}, .critic = {6}, .critic_passes = 2, .seed = 5};
}

TEST(Variation, FactorsAreUniformAndTheSameForAllNumbersOfAParameter) {
  const std::int64_t worlds = 4000;
  Variation variation(cart(), worlds);
  for (std::int64_t w = 0; w < worlds; ++w) variation.draw(3, w, 0);
  const auto motor = variation.parameters()["motor"], drag = variation.parameters()["drag"];
  ASSERT_EQ(motor.size(), std::size_t(worlds));
  double sum = 0, square = 0, both = 0;
  for (std::size_t w = 0; w < std::size_t(worlds); ++w) {
    const double a = motor[w] / 2 - 1, b = drag[2 * w] / 0.1 - 1;
    EXPECT_LE(std::abs(a), 0.4);
    EXPECT_LE(std::abs(b), 0.2);
    EXPECT_NEAR(drag[2 * w + 1], 2 * drag[2 * w], 1e-15);
    sum += a, square += a * a, both += a * b;
  }
  EXPECT_NEAR(sum / double(worlds), 0, 0.01);
  EXPECT_NEAR(square / double(worlds), 0.16 / 3, 0.002);
  EXPECT_NEAR(both / double(worlds), 0, 0.002);  // parameters vary independently
}

TEST(Variation, AnEpisodeIsAFunctionOfTheSeed) {
  Variation one(cart(), 3), other(cart(), 3);
  one.draw(1, 2, 7);
  const double first = one.parameters()["motor"][2];
  one.draw(1, 2, 8);
  EXPECT_NE(one.parameters()["motor"][2], first);
  other.draw(1, 2, 7);
  EXPECT_EQ(other.parameters()["motor"][2], first);
  EXPECT_EQ(other.parameters()["motor"][0], 2);  // of worlds that were not drawn: their own
}

// Scores differ between worlds that start alike, as their motors do, and vanish with the spread.
TEST(Variation, WorldsThatStartAlikeScoreDifferently) {
  Task task = cart();
  task.start = {1, 0}, task.uniform.clear();
  const auto learner = make_learner(task, small());
  const auto spread_of = [&](const Task& of) {
    const std::vector<double> r = evaluate(of, learner->policy(), 16, 1).returns;
    return *std::max_element(r.begin(), r.end()) - *std::min_element(r.begin(), r.end());
  };
  EXPECT_GT(spread_of(task), 1e-3);
  task.vary.clear();
  EXPECT_EQ(spread_of(task), 0);
}

// Episodes of 12 decisions and pieces of 10: what was drawn is still in force when learning goes on.
TEST(Variation, ALearnerGoesOnWithTheSameBits) {
  for (const char* method : {"shac", "ppo", "cma_es"}) {
    LearnOptions options = small();
    options.method = method;
    const auto learner = make_learner(cart(), options), later = make_learner(cart(), options);
    for (int i = 0; i < 3; ++i) learner->iterate();
    later->restore(learner->memory());
    for (int i = 0; i < 2; ++i) learner->iterate(), later->iterate();
    EXPECT_EQ(later->memory(), learner->memory()) << method;
  }
}

TEST(Variation, MistakesAreErrors) {
  Task task = cart();
  task.vary = {{"motr", 0.1}};
  expect_error([&] { return make_learner(task, small()); }, "motr", "motor");
  task.vary = {{"motor", 1.5}};
  expect_error([&] { return make_learner(task, small()); }, "'motor' varies by 1.5", "between 0 and 1");
  task.vary = {{"motor", NAN}};
  expect_error([&] { return make_learner(task, small()); }, "'motor' varies by nan", "between 0 and 1");
  task.vary = {{"motor", 0.1}, {"*", 0.1}};
  expect_error([&] { return make_learner(task, small()); }, "'motor' varies twice", "narrow the pattern '*'");
}

}  // namespace
}  // namespace costate::learn

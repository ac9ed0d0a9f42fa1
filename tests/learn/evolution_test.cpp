// CMA-ES in the place of a learner with gradients.
#include <gtest/gtest.h>

#include "costate/learn/learner.h"
#include "costate/system/program/program_system.h"
#include "tests/expect_error.h"

namespace costate::learn {
namespace {

using costate::test::expect_error;

// One decision, which should be tanh(0.7 x - 0.2): a policy without hidden layers can say exactly that.
Task say_a_number() {
  Signature s;
  s.state("x").control("u");
  Task task{.plant = equations_system<double>(s, "x_dot = u", euler(1)), .decisions = 1};
  task.observe = task_program(s, {"x"}, "observe");
  task.reward = task_program(s, {"-(u - tanh(0.7*last_x - 0.2))^2"}, "reward");
  task.start = {0.5}, task.uniform = {1};
  task.lower = {-1}, task.upper = {1};
  return task;
}
LearnOptions options() {
  return {.method = "cma_es", .steps = 6000, .worlds = 60, .hidden = {}, .noise = 0.3, .seed = 5};
}

double mean_score(const Task& task, const Learner& learner) {
  double sum = 0;
  for (const double r : evaluate(task, learner.policy(), 64, 99).returns) sum += r / 64;
  return sum;
}

TEST(Evolution, FindsThePolicyThatIsBest) {
  const auto learner = make_learner(say_a_number(), options());
  EXPECT_LT(mean_score(say_a_number(), *learner), -0.05);
  while (!learner->done()) learner->iterate();
  EXPECT_GT(mean_score(say_a_number(), *learner), -1e-4);  // 0 is the best there is
  // Two weights: 6 policies, of which each plays 10 of 60 episodes, of one decision.
  EXPECT_EQ(learner->history().size(), 100u);
  EXPECT_EQ(learner->history().front().steps, 60);
  EXPECT_EQ(learner->iterations(), 100);
  EXPECT_GT(learner->history().back().objective, -1e-4);
}

// A pendulum that falls ends the episode; it is scored by how long it stands, which has no gradient at all.
TEST(Evolution, LearnsWhatHasNoGradient) {
  Signature s;
  s.state("angle").state("rate").control("torque");
  Task task{.plant = equations_system<double>(
                s, "angle_dot = rate; rate_dot = 4*sin(angle) - 0.1*rate + torque", rk4(0.05)),
            .hold = 2,
            .decisions = 60};
  task.observe = task_program(s, {"angle", "rate"}, "observe");
  task.reward = task_program(s, {"alive"}, "reward");
  task.alive = task_program(s, {"0.5 - abs(angle)"}, "alive");
  task.start = {0, 0}, task.uniform = {0.2, 0.2};
  task.lower = {-6}, task.upper = {6};
  LearnOptions o = options();
  o.population = 8, o.worlds = 32, o.steps = 30000, o.hidden = {4}, o.noise = 0.5;
  const auto learner = make_learner(task, o);
  const double before = mean_score(task, *learner);
  while (!learner->done()) learner->iterate();
  EXPECT_LT(before, 30);
  EXPECT_GT(mean_score(task, *learner), 55);  // of 60
}

// Weights of a memory are searched too.
TEST(Evolution, SearchesTheWeightsOfAMemory) {
  LearnOptions o = options();
  o.memory = 2;
  const auto learner = make_learner(say_a_number(), o);
  const std::vector<double> first = learner->policy().parameters;
  learner->iterate();
  const std::vector<double>& now = learner->policy().parameters;
  ASSERT_EQ(now.size(), first.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (std::int64_t(i) == learner->policy().network.weights())  // the noise, which episodes here have not
      EXPECT_EQ(now[i], first[i]);
    else
      EXPECT_NE(now[i], first[i]) << i;
  }
}

TEST(Evolution, MistakesAreErrors) {
  LearnOptions o = options();
  o.hidden = {64, 64};
  expect_error([&] { return make_learner(say_a_number(), o); }, "a covariance of all weights",
               "hidden = [8]");
  o = options(), o.population = 3;
  expect_error([&] { return make_learner(say_a_number(), o); }, "fewer than 4 policies", "0 chooses");
  o = options(), o.method = "shac", o.population = 8;
  expect_error([&] { return make_learner(say_a_number(), o); }, "shac has no population", "use cma_es");
  o = options(), o.edge = 0.1;
  expect_error([&] { return make_learner(say_a_number(), o); }, "cma_es has no gradient that could see",
               "leave edge out");
  // A memory of another learner is refused, and nothing is lost.
  const auto learner = make_learner(say_a_number(), options());
  learner->iterate();
  const std::vector<double> kept = learner->memory();
  LearnOptions shac = options();
  shac.method = "shac";
  const std::vector<double> other = make_learner(say_a_number(), shac)->memory();
  std::vector<double> broken = kept;
  broken.pop_back();
  for (const std::vector<double>& wrong : {other, broken, {1, 2, 3}})
    expect_error([&] { learner->restore(wrong); }, "not the memory of such a learner",
                 "options it was made with");
  EXPECT_EQ(learner->memory(), kept);
}

}  // namespace
}  // namespace costate::learn

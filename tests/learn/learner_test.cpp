// A pendulum that hangs, learns to stand: every part of learning, on a task of seconds.
#include "costate/learn/learner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "costate/system/program/program_system.h"
#include "tests/expect_error.h"

namespace costate::learn {
namespace {

using costate::test::expect_error;

std::shared_ptr<const System<double>> pendulum() {
  Signature s;
  s.state("angle", 1, "rad").state("rate", 1, "rad/s").control("torque", 1, "1/s^2");
  return equations_system<double>(s, "angle_dot = rate; rate_dot = 4*sin(angle) - 0.1*rate + torque",
                                  rk4(0.05));
}

// Angle 0 stands. Falls where it is more than 2 rad off.
Task standing() {
  Task task{.plant = pendulum(), .hold = 2, .decisions = 60};
  const Signature& s = task.plant->signature();
  task.observe = task_program(s, {"sin(angle)", "cos(angle)", "rate"}, "observe");
  task.reward = task_program(
      s, {"cos(angle) - 0.05*rate^2 - 0.01*torque^2 - 0.1*(angle - last_angle)^2 + alive"}, "reward");
  task.alive = task_program(s, {"2 - abs(angle)"}, "alive");
  task.start = {0, 0};
  task.uniform = {1, 0.5};
  task.lower = {-6}, task.upper = {6};
  return task;
}

LearnOptions small() {
  return {.steps = 12000,
          .worlds = 16,
          .horizon = 12,
          .hidden = {16},
          .critic = {16, 16},
          .discount = 0.95,
          .rate = 1e-2,
          .critic_rate = 5e-3,
          .critic_passes = 4,
          .critic_batches = 2,
          .seed = 3};
}

double mean(const std::vector<double>& v) {
  double sum = 0;
  for (const double e : v) sum += e;
  return sum / double(v.size());
}

double learned_score(const char* method) {
  LearnOptions options = small();
  options.method = method;
  const auto learner = make_learner(standing(), options);
  while (!learner->done()) learner->iterate();
  return mean(evaluate(standing(), learner->policy(), 32, 99).returns);
}

TEST(Learner, ShacAndPpoLearnToStand) {
  const auto untrained = make_learner(standing(), small());
  const double before = mean(evaluate(standing(), untrained->policy(), 32, 99).returns);
  EXPECT_LT(before, 40);
  EXPECT_GT(learned_score("shac"), 105);  // 120 is standing still all the time
  EXPECT_GT(learned_score("ppo"), before + 20);
}

// With beta1 = 0 what Adam remembers of the first gradient is that gradient.
void expect_gradient_of_differences(LearnOptions options) {
  options.beta1 = 0, options.gradient_limit = 1e9, options.noise = 0.5;
  const auto learner = make_learner(standing(), options);
  // Some iterations first, so that episodes end inside the horizon and the critic has something to say.
  for (int i = 0; i < 4; ++i) learner->iterate();
  const std::vector<double> start = learner->memory();
  const std::size_t ended = std::size_t(start[3]), policy = 4 + 2 * ended,
                    n = learner->policy().parameters.size();
  const auto moved = [&](std::size_t i, double h) {
    std::vector<double> memory = start;
    memory[policy + i] += h;
    const auto other = make_learner(standing(), options);
    other->restore(memory);
    return other->iterate().objective;
  };
  learner->iterate();
  const std::vector<double> after = learner->memory();
  const std::size_t critic =
      learner->options().critic.size() ? std::size_t(3 * 16 + 16 + 16 * 16 + 16 + 16 + 1) : 0;
  const std::size_t m = 4 + 2 * std::size_t(after[3]) + n + 3 + 3 + 2 * critic;
  for (std::size_t i = 0; i < n; i += 7) {
    const double h = 1e-4;
    const double slope = (45 * (moved(i, h) - moved(i, -h)) - 9 * (moved(i, 2 * h) - moved(i, -2 * h)) +
                          (moved(i, 3 * h) - moved(i, -3 * h))) /
                         (60 * h);
    EXPECT_NEAR(-after[m + i], slope, 1e-7 * (1 + std::abs(slope))) << i;
  }
}

TEST(Learner, ShacsGradientMatchesDifferences) { expect_gradient_of_differences(small()); }

TEST(Learner, ShacsGradientGoesThroughTheMemory) {
  LearnOptions options = small();
  options.memory = 5;
  expect_gradient_of_differences(options);
}

// x0 is uniform on (-2, 2), the next state x0 + u, and the only reward to be there below 1: its expectation
// is (3 - u)/4, and changes by -1/4 per unit of u although no reward that was seen changes.
Task below_one() {
  Signature s;
  s.state("x").control("u");
  Task task{.plant = equations_system<double>(s, "x_dot = u", euler(1)), .decisions = 1};
  task.observe = task_program(s, {"1 + 0*x"}, "observe");
  task.reward = task_program(s, {"alive"}, "reward");
  task.alive = task_program(s, {"1 - x"}, "alive");
  task.start = {0}, task.uniform = {2};
  task.lower = {-0.5}, task.upper = {0.5};
  return task;
}

// Of an iteration, and sqrt 2 du/dz/4: z has a weight and a bias, whose input is 1.
std::pair<double, double> norms_at_the_edge(double edge) {
  const LearnOptions options{.steps = 1,
                             .worlds = 100000,
                             .horizon = 1,
                             .hidden = {},
                             .critic = {2},
                             .discount = 1e-6,
                             .edge = edge,
                             .noise = 1e-6,
                             .critic_passes = 0,
                             .seed = 1};
  const auto learner = make_learner(below_one(), options);
  std::vector<double> no_memory;
  const double tanh_z = learner->policy().act({1.0}, no_memory)[0] / 0.5;
  return {learner->iterate().gradient_norm, std::sqrt(2.0) * 0.25 * 0.5 * (1 - tanh_z * tanh_z)};
}

TEST(Learner, TheEdgeAtWhichEpisodesEndHasAGradientOfItsOwn) {
  const auto [seen, known] = norms_at_the_edge(0.1);
  EXPECT_NEAR(seen, known, 0.03 * known);  // 100,000 draws
  const auto [unseen, same] = norms_at_the_edge(0);
  EXPECT_LT(unseen, 1e-4 * same);
}

// The rate is not seen: where to push follows from how the angle changed, which only a memory knows.
TEST(Learner, AMemoryLearnsWhatIsNotSeen) {
  const auto blind_to_rates = [](int memory) {
    Task task = standing();
    task.observe = task_program(task.plant->signature(), {"sin(angle)", "cos(angle)"}, "observe");
    LearnOptions options = small();
    options.memory = memory, options.steps = 40000;
    const auto learner = make_learner(task, options);
    while (!learner->done()) learner->iterate();
    return mean(evaluate(task, learner->policy(), 32, 99).returns);
  };
  const double with = blind_to_rates(12), without = blind_to_rates(0);
  EXPECT_GT(with, 100);
  EXPECT_GT(with, without + 5);
}

// A mass on a floor as stiff as steel bounces; it is to hover at 0.5.
Task above_a_stiff_floor() {
  Signature s;
  s.state("h", 1, "m").state("v", 1, "m/s").control("lift", 1, "m/s^2");
  Task task{.plant = equations_system<double>(
                s, "h_dot = v; v_dot = lift - 10 + 4000*max(0 - h, 0) - 10*v*(1 - tanh(200*h))/2", rk4(0.01)),
            .hold = 2,
            .decisions = 150};
  task.observe = task_program(task.plant->signature(), {"h", "v"}, "observe");
  task.reward = task_program(task.plant->signature(), {"-(h - 0.5)^2 - 0.01*v^2 - 0.0001*lift^2"}, "reward");
  task.start = {0.5, 0}, task.uniform = {0.4, 2};
  task.lower = {-20}, task.upper = {20};
  return task;
}

// Through 64 decisions gradients come through bounces and say nothing. A horizon that begins there and adapts
// gets shorter, and learns.
TEST(Learner, AHorizonThatAdaptsLeavesStiffContactsBehind) {
  const Task task = above_a_stiff_floor();
  const auto score_with = [&](const LearnOptions& options, std::int64_t& last) {
    const auto learner = make_learner(task, options);
    while (!learner->done()) learner->iterate();
    last = learner->history().back().horizon;
    return mean(evaluate(task, learner->policy(), 64, 99).returns);
  };
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    LearnOptions options = small();
    options.horizon = 64, options.steps = 60000, options.seed = seed;
    std::int64_t last = 0;
    const double fixed = score_with(options, last);
    EXPECT_EQ(last, 64);
    options.shortest = 4, options.longest = 64;
    const double adapting = score_with(options, last);
    EXPECT_LT(last, 32) << seed;
    EXPECT_LT(fixed, -10) << seed;
    EXPECT_GT(adapting, -4) << seed;  // fixed horizons of 8 and 16 come to about -2.5
  }
}

TEST(Learner, SameBitsForAnyNumberOfThreadsAndAfterARest) {
  for (const char* method : {"shac", "ppo", "cma_es", "memory", "adapting"}) {
    LearnOptions options = small();
    if (std::string(method) == "memory")
      options.memory = 4;
    else if (std::string(method) == "adapting")
      options.shortest = 3, options.longest = 20;
    else
      options.method = method;
    std::vector<double> first;
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      const auto learner = make_learner(standing(), options);
      for (int i = 0; i < 3; ++i) learner->iterate();
      std::vector<double> memory = learner->memory();
      const auto later = make_learner(standing(), options);  // goes on where the first one stopped
      later->restore(memory);
      later->iterate(), learner->iterate();
      EXPECT_EQ(later->memory(), learner->memory()) << method;
      if (first.empty()) first = learner->memory();
      EXPECT_EQ(learner->memory(), first) << method << " with " << threads << " threads";
    }
    set_thread_count(0);
  }
}

TEST(Learner, MistakesAreErrors) {
  LearnOptions options = small();
  options.method = "sac";
  expect_error([&] { return make_learner(standing(), options); }, "no method of learning is called sac",
               "shac, ppo or cma_es");
  options = small(), options.method = "ppo", options.memory = 3;
  expect_error([&] { return make_learner(standing(), options); }, "gradients through time", "use shac");
  options = small(), options.shortest = 20, options.longest = 30;
  expect_error([&] { return make_learner(standing(), options); }, "not between the shortest and the longest",
               "shortest <= horizon");
  options = small(), options.edge = -1;
  expect_error([&] { return make_learner(standing(), options); }, "narrower than nothing", "set edge to 0");
  options = small(), options.method = "ppo", options.edge = 0.1;
  expect_error([&] { return make_learner(standing(), options); }, "no gradient that could see an edge",
               "leave edge out");
  options = small(), options.discount = 1;
  expect_error([&] { return make_learner(standing(), options); }, "discount", "0.99");
  Task task = standing();
  task.lower = {-1, -1};
  expect_error([&] { return make_learner(task, small()); }, "'lower' has 2 numbers; the plant has 1", "");
  task = standing(), task.observe = ad::Program();
  expect_error([&] { return make_learner(task, small()); }, "nothing is seen", "at least one formula");
  const auto learner = make_learner(standing(), small());
  expect_error(
      [&] {
        learner->restore({1, 2, 3});
      },
      "not the memory of such a learner", "options it was made with");
  expect_error([&] { return task_program(standing().plant->signature(), {"angel"}, "reward"); }, "angel", "");
}

}  // namespace
}  // namespace costate::learn

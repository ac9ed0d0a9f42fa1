#include "costate/io/scene_problem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "costate/core/error.h"
#include "costate/io/scene_check.h"
#include "costate/io/scene_optimize.h"
#include "tests/float_traps.h"
#include "tests/io/scene_files.h"

namespace costate::io {
namespace {

Scene paddle() { return parse_scene(test::paddle_scene(), "paddle.toml"); }

TEST(SceneProblem, GradientMatchesDifferencesInEveryVariable) {
  SceneProblem<double> problem(paddle());
  const std::vector<double> x = problem.start();
  std::vector<double> gradient(x.size());
  const double value = problem.value_and_gradient(x, gradient.data());
  EXPECT_NEAR(problem.value(x), value, 1e-12 * value);
  double largest = 0;
  for (const double g : gradient) largest = std::max(largest, std::abs(g));
  EXPECT_GT(largest, 1e-4);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto f = [&](double h) {
      std::vector<double> moved = x;
      moved[i] += h;
      return problem.value(moved);
    };
    const double h = 2e-6;  // short: a difference must not step over the start of a contact
    const double expected =
        (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h);
    EXPECT_NEAR(gradient[i], expected, 1e-6 * largest) << problem.scene().optimize->variables[i].name;
  }
}

TEST(SceneProblem, ALossThatIsNotFiniteIsAnError) {
  Scene scene = paddle();
  scene.regularisers[0].weight = 1e308;
  scene.motions[0].position[0].points[2] = 1e3;
  SceneProblem<double> problem(scene);
  std::vector<double> gradient(problem.start().size());
  try {
    const costate::test::AllowFloatExceptions allow;
    problem.value_and_gradient(problem.start(), gradient.data());
    FAIL() << "a loss of infinity passed for one";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::numerics);
    EXPECT_NE(std::string(error.what()).find("paddle.toml: the loss is not finite"), std::string::npos)
        << error.what();
  }
}

TEST(SceneProblem, RecordingsAgreeWithTheLoss) {
  SceneProblem<double> problem(paddle());
  SceneOutcome outcome;
  const Recording r = problem.record(problem.start(), &outcome);
  check_recording(r, "paddle");
  EXPECT_NEAR(outcome.loss, problem.value(problem.start()), 1e-12 * outcome.loss);
  EXPECT_EQ(outcome.terms.size(), 4U);  // two losses, two regularisers
  ASSERT_EQ(outcome.fractions.size(), 1U);
  EXPECT_EQ(outcome.fractions[0].first, "home");
  EXPECT_EQ(r.frames, 7);  // 0.12 s at 50 frames a second, both ends
  EXPECT_EQ(r.bodies[0].poses.size(), 7U);
  EXPECT_EQ(r.up, 'y');
}

TEST(SceneCheck, PassesOnASceneThatIsRight) {
  for (const CheckResult& r : check(paddle(), 20)) {
    EXPECT_TRUE(r.passed()) << r.name << " " << r.error << " above " << r.gate;
    EXPECT_FALSE(r.skipped);
  }
}

class SceneOptimization : public testing::Test {
 protected:
  SceneOptimization()
      : state_(
            (std::filesystem::temp_directory_path() / ("costate_state_" + std::to_string(getpid()) + ".json"))
                .string()) {}
  ~SceneOptimization() override { std::filesystem::remove(state_); }
  std::string state_;
};

TEST_F(SceneOptimization, LowersTheLoss) {
  SceneProblem<double> problem(paddle());
  const SceneOptimum optimum = optimize(problem);
  EXPECT_EQ(optimum.iterations, 3);
  ASSERT_EQ(optimum.losses.size(), 4U);
  EXPECT_NEAR(optimum.losses[0], problem.value(problem.start()), 1e-12 * optimum.losses[0]);
  EXPECT_LT(optimum.best_value, optimum.start_value);
  EXPECT_NEAR(problem.value(optimum.best), optimum.best_value, 1e-12 * optimum.best_value);
}

TEST_F(SceneOptimization, StoppedAndResumedGivesTheSameBits) {
  for (const char* method : {"adam", "lbfgs", "gradient_descent", "cma_es"}) {
    SCOPED_TRACE(method);
    std::filesystem::remove(state_);
    const Scene scene =
        parse_scene(test::paddle_scene(), "s", {{"optimize.method", method}, {"optimize.rate", "0.1"}});
    SceneProblem<double> whole(scene);
    const SceneOptimum expected = optimize(whole);
    SceneProblem<double> first(scene);
    const SceneOptimum part = optimize(
        first, {.state_file = state_, .progress = [](const SceneProgress& p) { return p.iteration < 1; }});
    EXPECT_EQ(part.iterations, 1);
    SceneProblem<double> second(scene);
    const SceneOptimum rest = optimize(second, {.state_file = state_, .resume = true});
    EXPECT_EQ(rest.best, expected.best);
    EXPECT_EQ(rest.losses, expected.losses);
  }
}

TEST_F(SceneOptimization, RefusesAStateThatIsNotItsOwn) {
  SceneProblem<double> problem(paddle());
  const auto refused = [&](const std::string& text) {
    std::ofstream(state_) << text;
    try {
      optimize(problem, {.state_file = state_, .resume = true});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refused("{").find("not the state"), std::string::npos);
  EXPECT_NE(refused("{\"scene\": 3}").find("not the state"), std::string::npos);
  EXPECT_NE(refused("{\"scene\": \"another\"}").find("another scene"), std::string::npos);
}

TEST_F(SceneOptimization, IsTheStartOfAnotherScene) {
  SceneProblem<double> problem(paddle());
  const SceneOptimum optimum = optimize(problem, {.state_file = state_});
  Scene fine = parse_scene(test::paddle_scene(), "s", {{"domain.dx", "0.09"}});
  start_from(state_, "s", fine.optimize);
  const SceneProblem<double> other(fine);
  for (std::size_t i = 0; i < optimum.best.size(); ++i) EXPECT_NEAR(other.start()[i], optimum.best[i], 1e-12);
  std::ofstream(state_) << "{\"best\": {\"nothing\": 1}}";
  EXPECT_THROW(start_from(state_, "s", fine.optimize), Error);
  EXPECT_THROW(start_from("/no/such/file", "s", fine.optimize), Error);
}

TEST_F(SceneOptimization, NeedsVariables) {
  Scene scene = paddle();
  scene.optimize.reset();
  SceneProblem<double> problem(scene);
  EXPECT_THROW(optimize(problem), Error);
}

}  // namespace
}  // namespace costate::io

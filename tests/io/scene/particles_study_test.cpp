#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include <unistd.h>

#include "costate/core/error.h"
#include "costate/study/check.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/io/scene/paddle.h"
#include "tests/io/scene/studies.h"

namespace costate::io {
namespace {

using study::Optimum, study::optimise, study::OptimiseProgress, study::RolloutStudy;

// `change` may alter what was read before the study is made.
std::unique_ptr<RolloutStudy<double>> paddle(const Opening& opening = {},
                                             const std::function<void(study::Setup&)>& change = {}) {
  const auto study = parse_study(test::paddle_scene(), "paddle.toml", opening);
  study::Setup setup = test::rollout_of<double>(*study).setup();
  if (change) change(setup);
  return std::make_unique<RolloutStudy<double>>(setup);
}

TEST(ParticlesStudy, GradientMatchesDifferencesInEveryVariable) {
  const auto made = paddle();
  RolloutStudy<double>& problem = *made;
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
    EXPECT_NEAR(gradient[i], expected, 1e-6 * largest) << problem.variables()[i].name;
  }
}

TEST(ParticlesStudy, ALossThatIsNotFiniteIsAnError) {
  const auto made = paddle({}, [](study::Setup& s) {
    s.prices[0].weight = 1e308;
    s.inputs.paths[0].points[2] = 1e3;
    for (study::Variable& v : s.optimize->variables)
      if (v.name == "paddle.position[2].x") v.start = 1e3;
  });
  RolloutStudy<double>& problem = *made;
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

TEST(ParticlesStudy, RecordingsAgreeWithTheLoss) {
  const auto made = paddle();
  RolloutStudy<double>& problem = *made;
  const study::Run outcome = problem.run(problem.start());
  const Recording& r = outcome.recording;
  check_recording(r, "paddle");
  EXPECT_NEAR(outcome.loss, problem.value(problem.start()), 1e-12 * outcome.loss);
  EXPECT_EQ(outcome.terms.size(), 4U);  // two losses, two regularisers
  ASSERT_EQ(outcome.fractions.size(), 1U);
  EXPECT_EQ(outcome.fractions[0].first, "home");
  EXPECT_EQ(r.frames, 7);  // 0.12 s at 50 frames a second, both ends
  EXPECT_EQ(r.bodies[0].poses.size(), 7U);
  EXPECT_EQ(r.up, 'y');
}

TEST(ParticlesStudy, CheckPassesOnASceneThatIsRight) {
  const auto study = paddle({.for_check = true, .most_steps = 20});
  for (const check::Result& r : study::check_gradient(*study)) {
    EXPECT_TRUE(r.passed()) << r.name << " " << r.error << " above " << r.gate;
    EXPECT_FALSE(r.skipped);
  }
}

class StudyOptimisation : public testing::Test {
 protected:
  StudyOptimisation()
      : state_(
            (std::filesystem::temp_directory_path() / ("costate_state_" + std::to_string(getpid()) + ".json"))
                .string()) {}
  ~StudyOptimisation() override { std::filesystem::remove(state_); }
  std::string state_;
};

TEST_F(StudyOptimisation, LowersTheLoss) {
  const auto made = paddle();
  RolloutStudy<double>& problem = *made;
  const Optimum optimum = optimise(problem);
  EXPECT_EQ(optimum.iterations, 3);
  ASSERT_EQ(optimum.losses.size(), 4U);
  EXPECT_NEAR(optimum.losses[0], problem.value(problem.start()), 1e-12 * optimum.losses[0]);
  EXPECT_LT(optimum.best_value, optimum.start_value);
  EXPECT_NEAR(problem.value(optimum.best), optimum.best_value, 1e-12 * optimum.best_value);
}

TEST_F(StudyOptimisation, StoppedAndResumedGivesTheSameBits) {
  for (const char* method : {"adam", "lbfgs", "gradient_descent", "cma_es"}) {
    SCOPED_TRACE(method);
    std::filesystem::remove(state_);
    const Opening opening{.settings = {{"optimize.method", method}, {"optimize.rate", "0.1"}}};
    const Optimum expected = optimise(*paddle(opening));
    const Optimum part = optimise(
        *paddle(opening),
        {.state_file = state_, .progress = [](const OptimiseProgress& p) { return p.iteration < 1; }});
    EXPECT_EQ(part.iterations, 1);
    const Optimum rest = optimise(*paddle(opening), {.state_file = state_, .resume = true});
    EXPECT_EQ(rest.best, expected.best);
    EXPECT_EQ(rest.losses, expected.losses);
  }
}

TEST_F(StudyOptimisation, RefusesAStateThatIsNotItsOwn) {
  const auto made = paddle();
  RolloutStudy<double>& problem = *made;
  const auto refused = [&](const std::string& text) {
    std::ofstream(state_) << text;
    try {
      optimise(problem, {.state_file = state_, .resume = true});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refused("{").find("not the state"), std::string::npos);
  EXPECT_NE(refused("{\"scene\": 3}").find("not the state"), std::string::npos);
  EXPECT_NE(refused("{\"scene\": \"another\"}").find("another scene"), std::string::npos);
}

TEST_F(StudyOptimisation, IsTheStartOfAnotherScene) {
  const auto made = paddle();
  RolloutStudy<double>& problem = *made;
  const Optimum optimum = optimise(problem, {.state_file = state_});
  const auto other = paddle({.settings = {{"domain.dx", "0.09"}}});
  other->start_from(state_);
  for (std::size_t i = 0; i < optimum.best.size(); ++i)
    EXPECT_NEAR(other->start()[i], optimum.best[i], 1e-12);
  std::ofstream(state_) << "{\"best\": {\"nothing\": 1}}";
  costate::test::expect_error([&] { return other->start_from(state_); },
                              "this state has not one variable of the scene");
  costate::test::expect_error([&] { return other->start_from("/no/such/file"); }, "cannot be read");
}

TEST_F(StudyOptimisation, NeedsVariables) {
  const auto study = paddle({}, [](study::Setup& s) { s.optimize.reset(); });
  costate::test::expect_error([&] { return optimise(*study); }, "there is nothing to optimise");
}

// A cup at rest, filled with water.
std::string cup_scene(const std::string& thickness, const std::string& contact,
                      const std::string& more = "") {
  return "[domain]\ndimension = 2\nhigh = [0.4, 0.4]\ndx = 0.01\n[run]\nduration = 0.6\n"
         "[[materials]]\nname = \"water\"\nkind = \"liquid\"\nsound_speed = 6.0\nviscosity = 0.1\n"
         "[[colliders]]\nname = \"cup\"\nshape = {kind = \"cup\", radius = 0.08, height = 0.15, thickness "
         "= " +
         thickness + "}\nposition = [0.2, 0.1]\ncontact = \"" + contact +
         "\"\n[[fill]]\nmaterial = \"water\"\ninside = \"cup\"\nlevel = 0.1\n" + more;
}

TEST(ParticlesStudy, WallsThatAreThickEnoughDoNotLeak) {
  for (const std::string contact : {"coulomb", "separate", "slip", "sticky"}) {
    const bool lets_go = contact == "coulomb" || contact == "separate";
    const auto study = parse_study(cup_scene(lets_go ? "0.06" : "0.03", contact), "cup.toml");
    const study::Run run = study->run(study->start());
    EXPECT_TRUE(run.notes.empty()) << contact << ": " << run.notes[0];
    const std::vector<float>& x = run.recording.particles.positions;
    const std::size_t count = run.recording.particles.material.size();
    for (std::size_t i = x.size() - 3 * count; i < x.size(); i += 3)
      ASSERT_GT(x[i + 1], 0.09F) << contact;  // the middle of the cup's floor is at 0.1
  }
}

TEST(ParticlesStudy, WhatLiesOutsideTheDomainIsSaid) {
  const std::string ball =
      "[[bodies]]\nname = \"ball\"\nshape = {kind = \"sphere\", radius = 0.05}\ndensity = 400.0\nposition = "
      "[0.2, -0.3]\n[[colliders]]\nname = \"bowl\"\nshape = {kind = \"sphere\", radius = 0.1}\nposition = "
      "[1.5, 0.1]\n";
  const auto study = parse_study(cup_scene("0.06", "slip", ball), "cup.toml");
  const std::vector<std::string> notes = test::rollout_of<float>(*study).setup().notes;
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_NE(notes[0].find("'ball' lies outside the domain"), std::string::npos) << notes[0];
  EXPECT_NE(notes[1].find("'bowl' lies outside the domain"), std::string::npos) << notes[1];
}

TEST(ParticlesStudy, ACupIsFilledToItsRimAtMost) {
  std::string text = cup_scene("0.06", "slip");
  text.replace(text.find("level = 0.1\n"), 12, "level = 0.5\n");
  costate::test::expect_error([&] { return parse_study(text, "cup.toml"); },
                              "the rim of 'cup' is only 0.15 high", "reduce level to 0.15");
}

TEST(ParticlesStudy, ParticlesThatPassAWallAreCounted) {
  const auto study = parse_study(cup_scene("0.016", "separate\"\nleaks = \"allow"), "cup.toml");
  const study::Run run = study->run(study->start());
  ASSERT_EQ(run.notes.size(), 2U);
  EXPECT_NE(run.notes[0].find("the wall of 'cup' is 1.6 cells thick"), std::string::npos) << run.notes[0];
  EXPECT_NE(run.notes[1].find("particles have passed through the wall of 'cup'"), std::string::npos);
}

TEST(ParticlesStudy, AWallThatLeaksIsRefusedUnlessItMay) {
  const auto read = [](const char* thickness, const std::string& contact) {
    return [=] { return parse_study(cup_scene(thickness, contact), "cup.toml"); };
  };
  for (const char* contact : {"separate", "coulomb"})
    costate::test::expect_error(read("0.059", contact),
                                "cup.toml:14:9: the wall of 'cup' is 5.9 cells thick, and particles creep "
                                "through one thinner than 6",
                                "make it 0.06 thick, reduce dx, use contact = \"slip\", or say leaks");
  for (const char* contact : {"slip", "sticky"})
    costate::test::expect_error(read("0.02", contact), "thinner than 3",
                                "make it 0.03 thick, reduce dx, or say");
  costate::test::expect_error(read("0.059", "separate\"\nleaks = \"no"), "leaks");
  EXPECT_NO_THROW(read("0.02", "none")());
}

// Half extents, position and the width of a cell are round numbers.
TEST(ParticlesStudy, GradientsAtRoundNumbersAreThoseOfDifferences) {
  for (const std::string contact : {"separate", "slip"}) {
    const auto study = parse_study(
        "[domain]\ndimension = 2\nhigh = [0.4, 0.4]\ndx = 0.01\n[run]\nduration = 0.05\n"
        "[[materials]]\nname = \"water\"\nkind = \"liquid\"\nsound_speed = 6.0\nviscosity = 0.1\n"
        "[[colliders]]\nname = \"box\"\nshape = {kind = \"box\", half = [0.08, 0.03]}\n"
        "position = [0.2, 0.16]\ncontact = \"" +
            contact +
            "\"\n[[fill]]\nmaterial = \"water\"\nshape = {kind = \"box\", half = [0.06, 0.03]}\n"
            "position = [0.2, 0.24]\nvelocity = [0.0, -0.5]\n"
            "[[loss]]\nkind = \"position\"\nof = \"particles/mean\"\ntarget = [0.2, 0.1]\n"
            "[optimize]\nvariables = [{name = \"parameters.collider/box/position\", scale = 0.01}]\n",
        "round.toml", {.for_check = true});
    EXPECT_TRUE(test::rollout_of<double>(*study).setup().notes.empty());
    for (const check::Result& r : study::check_gradient(*study))
      EXPECT_TRUE(r.passed()) << contact << " " << r.name << " " << r.error << " " << r.detail;
  }
}

// What is written in degrees is differentiated in degrees.
TEST(ParticlesStudy, AnglesAreInTheUnitOfTheFile) {
  const auto study = paddle();
  for (const study::Variable& v : study->variables()) {
    if (v.name != "paddle.angle[2]") continue;
    EXPECT_NEAR(v.start, 30, 1e-12);
    EXPECT_NEAR(v.unit, 3.14159265358979 / 180, 1e-15);
    return;
  }
  FAIL() << "there is no paddle.angle[2]";
}

}  // namespace
}  // namespace costate::io

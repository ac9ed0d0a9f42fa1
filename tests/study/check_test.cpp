// The checks of scenes: what they say of right gradients, of wrong ones, of kinks, and of contacts that
// change within a stencil.
#include "costate/study/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "costate/io/scene/load_study.h"

namespace costate::study {
namespace {

// A loss of two variables with a corner that the report knows of.
class Curve final : public Study {
 public:
  double corner = 10;  // |x - corner| is part of the loss, and changes the pattern
  double tie = 0;      // times t |t|: a corner of second order, which no report knows of
  double kink =
      0;  // times |t|: a corner that no report knows of; its gradient there is one between the slopes
  double factor = 1;  // of the gradient: 1 is right
  double size = 1;    // of the whole
  double start_at = 0.3;
  std::int64_t length = 7;
  std::multiset<std::vector<double>> asked = {};

  Curve() {
    std::vector<Variable> variables(2);
    for (Variable& v : variables) v.start = start_at;
    variables[0].name = "jug.angle[0]";
    variables[1].name = "jug.position[0]";
    choose(variables);
  }
  std::int64_t steps() const override { return length; }
  bool has_loss() const override { return true; }
  NamedTexts facts() const override { return {}; }
  std::string headline() const override { return "curve"; }
  std::string identity() const override { return "curve"; }
  double value(const std::vector<double>& x) override {
    asked.insert(x);
    return at(x);
  }
  double at(const std::vector<double>& x) const {
    const double t = x[0] - start_at;
    return 1 + size * (std::sin(x[0]) + std::cos(2 * x[1]) + std::abs(x[0] - corner) + tie * t * std::abs(t) +
                       kink * std::abs(t));
  }
  double value_and_gradient(const std::vector<double>& x, double* gradient) override {
    const double t = x[0] - start_at, side = x[0] < corner ? -1 : 1;
    const double kink_side = t > 0 ? kink : t < 0 ? -kink : 0.3 * kink;
    gradient[0] = factor * size * (std::cos(x[0]) + side + 2 * tie * std::abs(t) + kink_side);
    gradient[1] = factor * size * (-2 * std::sin(2 * x[1]));
    report_.mode_switches = {side < 0 ? 3 : 4};
    return at(x);
  }
  Run run(const std::vector<double>&, const RunOptions&) override { return {}; }
  check::Result dot_product(std::uint64_t) override { return {"dot product", 0, 1e-13, {}}; }
  Stencil stencil() const override { return {1e-4, 1e-6}; }
};

struct Verdicts {
  check::Result stencil, taylor;
};
Verdicts verdicts_of(Study& f) {
  const auto results = check_gradient(f);
  return {results.at(1), results.at(2)};
}

TEST(StudyCheck, ARightGradientPasses) {
  Curve f;
  const Verdicts v = verdicts_of(f);
  EXPECT_FALSE(v.stencil.skipped || v.taylor.skipped);
  EXPECT_TRUE(v.stencil.passed()) << v.stencil.error;
  EXPECT_TRUE(v.taylor.passed()) << v.taylor.error;
}

TEST(StudyCheck, ACornerNearbyShortensTheSteps) {
  Curve f;
  f.corner = f.start_at + 2e-5;
  const Verdicts v = verdicts_of(f);
  EXPECT_FALSE(v.stencil.skipped || v.taylor.skipped);
  EXPECT_TRUE(v.stencil.passed()) << v.stencil.error;
  EXPECT_TRUE(v.taylor.passed()) << v.taylor.error;
  EXPECT_NE(v.stencil.detail.find("contacts change nearby"), std::string::npos) << v.stencil.detail;
}

TEST(StudyCheck, ACornerRightHereIsNotComparable) {
  Curve f;
  f.corner = f.start_at;
  const Verdicts v = verdicts_of(f);
  EXPECT_TRUE(v.stencil.passed());
  EXPECT_NE(v.stencil.detail.find("1 directions, 7 steps"), std::string::npos) << v.stencil.detail;
  EXPECT_NE(v.stencil.detail.find("2 not comparable: contacts change within the stencil"), std::string::npos);
}

// Wrong by one part in a thousand, far from every corner and near one.
TEST(StudyCheck, AWrongGradientFails) {
  for (const double corner : {10.0, 0.3 + 2e-5}) {
    Curve f;
    f.corner = corner;
    f.factor = 1.001;
    const Verdicts v = verdicts_of(f);
    EXPECT_FALSE(v.stencil.skipped);
    EXPECT_FALSE(v.stencil.passed()) << v.stencil.error;
  }
}

TEST(StudyCheck, TiesAreSaidToConvergeLikeTheStep) {
  Curve f;
  f.tie = 3;
  f.factor = 1;
  const Verdicts right = verdicts_of(f);
  EXPECT_NE(right.stencil.detail.find("differences converge like h"), std::string::npos)
      << right.stencil.detail;
  EXPECT_TRUE(right.stencil.passed()) << right.stencil.error;
  f.factor = 1.001;
  EXPECT_FALSE(verdicts_of(f).stencil.passed());
}

// At a corner that no report knows of the check steps off, and says where it stood.
TEST(StudyCheck, AKinkAtTheStartIsSteppedOffAndNamed) {
  Curve f;
  f.kink = 1;
  const Verdicts v = verdicts_of(f);
  EXPECT_TRUE(v.stencil.passed()) << v.stencil.error;
  EXPECT_TRUE(v.taylor.passed()) << v.taylor.error;
  EXPECT_NE(v.stencil.detail.find("kink at "), std::string::npos) << v.stencil.detail;
  EXPECT_NE(v.stencil.detail.find("0.001 of the scales off the start"), std::string::npos)
      << v.stencil.detail;
  f.factor = 1.001;
  EXPECT_FALSE(verdicts_of(f).stencil.passed());
}

// Where a loss depends on nothing, differences see its rounding alone.
TEST(StudyCheck, AZeroGradientIsNotMeasuredByItself) {
  Curve f;
  f.size = 0;
  EXPECT_TRUE(verdicts_of(f).stencil.passed());
  f.size = 1e-15;
  const Verdicts v = verdicts_of(f);
  EXPECT_TRUE(v.stencil.passed()) << v.stencil.error;
  EXPECT_TRUE(v.taylor.passed()) << v.taylor.error;
}

TEST(StudyCheck, TheWorstFieldIsNamed) {
  Curve f;
  f.factor = 1.001;
  EXPECT_NE(verdicts_of(f).stencil.detail.find("worst: jug."), std::string::npos);
}

TEST(StudyCheck, NoPointIsSimulatedTwice) {
  Curve f;
  f.kink = 1;
  int told = 0;
  check_gradient(f, {.progress = [&](const std::string& what) { told += what.starts_with("differences"); }});
  EXPECT_EQ(told, int(f.asked.size()));
  EXPECT_GT(told, 40);
  for (const auto& x : f.asked) EXPECT_EQ(f.asked.count(x), 1U) << x[0] << " " << x[1];
}

// A check over its first steps takes as long as there is time for.
TEST(StudyCheck, StepsFollowTheTimeThatThereIs) {
  const auto of_length = [](std::int64_t length) {
    return [length](std::int64_t steps) {
      auto study = std::make_unique<Curve>();
      study->length = std::min(length, steps);
      return study;
    };
  };
  EXPECT_EQ(steps_in_time(1e6, 200, of_length(1000)), 200);
  EXPECT_EQ(steps_in_time(1e-9, 200, of_length(1000)), 10);
  EXPECT_EQ(steps_in_time(1e-9, 200, of_length(5)), 200);  // there are no more
  EXPECT_EQ(steps_in_time(1e-9, 8, of_length(1000)), 8);
}

std::vector<std::string> scenes() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(COSTATE_SOURCE "/scenes")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".toml" && !name.ends_with("_train"))
      names.push_back(name);  // tasks are learned
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(StudyCheck, ThereAreScenes) { EXPECT_GE(scenes().size(), 12U); }

// Every scene of the repository, over its first steps: liquid at rest, clamps, corners of boxes that strike
// the floor.
class CheckOfScene : public testing::TestWithParam<std::string> {};
TEST_P(CheckOfScene, Passes) {
  // Particles in three dimensions and cloth that touches itself take their time, and solids that are pressed.
  const std::set<std::string> large = {"barista", "coffee", "drape", "grip", "gripper", "shirt"},
                              slow = {"bear", "fish", "plant", "springback", "tendon", "torus"};
  const std::int64_t steps = large.contains(GetParam()) ? 8 : slow.contains(GetParam()) ? 50 : 200;
  const auto study = io::load_study(COSTATE_SOURCE "/scenes/" + GetParam() + ".toml",
                                    {.for_check = true, .most_steps = steps});
  for (const check::Result& r : check_gradient(*study))
    EXPECT_TRUE(r.passed()) << r.name << " " << r.error << " " << r.detail;
}
INSTANTIATE_TEST_SUITE_P(Each, CheckOfScene, testing::ValuesIn(scenes()),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace costate::study

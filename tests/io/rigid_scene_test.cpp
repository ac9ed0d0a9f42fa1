#include "costate/io/rigid_scene.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include <unistd.h>

#include "costate/core/error.h"
#include "costate/io/rigid_scene_problem.h"
#include "costate/io/scene_check.h"
#include "costate/io/scene_optimize.h"

namespace costate::io {
namespace {

const std::string kScenes = COSTATE_SOURCE "/scenes/";

// Every kind of control, start, loss and variable.
std::string cart() {
  return "title = \"cart\"\n"
         "[model]\nfile = \"" +
         kScenes +
         "cart_pole.xml\"\n"
         "[run]\nduration = 0.4\n"
         "[start]\nkeyframe = \"hanging\"\nposition = {slide = 0.1}\nvelocity = {hinge = 0.3}\n"
         "[parameters]\n\"body/pole/mass\" = 0.3\n\"gravity\" = [0.1, 0.0, -9.0]\n"
         "[controls]\npush = {values = [0.1, -0.2, 0.3, 0.4, -0.1], interpolation = \"spline\"}\n"
         "[[loss]]\nkind = \"position\"\nof = \"site/tip\"\ntarget = [0.2, 0.0, 0.5]\naxes = \"xz\"\n"
         "[[loss]]\nkind = \"velocity\"\nof = \"body/pole\"\nat = 0.2\nweight = 0.3\n"
         "[[loss]]\nkind = \"velocity\"\nfrom = 0.1\nto = 0.3\nevery = 0.05\n"
         "[[loss]]\nkind = \"effort\"\nweight = 0.1\n"
         "[[loss]]\nkind = \"track\"\nof = \"joint/hinge\"\ntimes = [0.1, 0.2, 0.4]\nvalues = [3.0, 2.9, "
         "2.7]\n"
         "[[loss]]\nkind = \"formula\"\nformula = \"(1 - cos(angle))^2*exp(-t) + 0.1*ctrl^2 + up[2]\"\n"
         "quantities = {angle = \"joint/hinge\", up = \"body/pole/zaxis\"}\nfrom = 0.0\nto = 0.4\nevery = "
         "0.1\n"
         "[optimize]\nmethod = \"lbfgs\"\niterations = 4\nvariables = [{name = \"controls.push\", scale = "
         "0.5},\n"
         "  {name = \"start.position.slide\"}, {name = \"start.velocity.hinge\"},\n"
         "  {name = \"parameters.body/*/mass\"}, {name = \"parameters.gravity\"}]\n"
         "[record]\nframes_per_second = 50\n";
}

TEST(RigidScene, GradientMatchesDifferencesInEveryVariable) {
  RigidSceneProblem<double> problem(parse_rigid_scene(cart(), "cart.toml"));
  const std::vector<double> x = problem.start();
  ASSERT_EQ(x.size(), 5U + 1 + 1 + 2 + 3);
  std::vector<double> gradient(x.size());
  const double value = problem.value_and_gradient(x, gradient.data());
  EXPECT_NEAR(problem.value(x), value, 1e-13 * std::abs(value));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto f = [&](double h) {
      std::vector<double> moved = x;
      moved[i] += h;
      return problem.value(moved);
    };
    const double h = 1e-3;
    const double expected =
        (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h);
    EXPECT_NEAR(gradient[i], expected, 1e-9 * std::max(1.0, std::abs(value))) << problem.variables()[i].name;
    EXPECT_GT(std::abs(gradient[i]) + (problem.variables()[i].name == "parameters.gravity[1]"), 1e-7);
  }
}

TEST(RigidScene, ChecksPass) {
  RigidSceneProblem<double> problem(parse_rigid_scene(cart(), "cart.toml"));
  for (const CheckResult& r : check(problem)) {
    EXPECT_TRUE(r.passed()) << r.name << " " << r.error << " above " << r.gate;
    EXPECT_FALSE(r.skipped);
  }
}

TEST(RigidScene, AShortenedSceneIsTheBeginningOfTheWhole) {
  const RigidScene scene = parse_rigid_scene(cart(), "cart.toml");
  const RigidScene cut = shortened(scene, 17);
  RigidSceneProblem<double> whole(scene), part(cut);
  const Arguments<double> a = whole.arguments(whole.start()), b = part.arguments(part.start());
  ASSERT_EQ(b.controls.size(), 17U);
  for (std::size_t k = 0; k < 17; ++k) EXPECT_EQ(a.controls[k], b.controls[k]);
  EXPECT_TRUE(std::isfinite(part.value(part.start())));
}

TEST(RigidScene, RecordingsAgreeWithTheLoss) {
  RigidSceneProblem<double> problem(parse_rigid_scene(cart(), "cart.toml"));
  SceneOutcome outcome;
  const Recording r = problem.record(problem.start(), &outcome);
  check_recording(r, "cart");
  EXPECT_NEAR(outcome.loss, problem.value(problem.start()), 1e-13 * outcome.loss);
  EXPECT_EQ(outcome.terms.size(), 6U);
  EXPECT_EQ(r.frames, 21);
  EXPECT_EQ(r.up, 'z');
  ASSERT_EQ(r.bodies.size(), 3U);  // rail, cart, pole; a target along two axes is no point
  EXPECT_EQ(r.bodies[1].poses.size(), 21U);
  EXPECT_NEAR(r.bodies[1].poses[0][0], 0.1, 1e-6);
}

// The files of scenes/ about contact: each is improved at once, with the gradient of its own contact model.
TEST(RigidScene, ScenesOfContactImprove) {
  for (const std::string name : {"cube_toss", "sphere_drop", "billiards", "box_push"}) {
    RigidSceneProblem<double> problem(
        load_rigid_scene(kScenes + name + ".toml", {{"optimize.iterations", "5"}}));
    const SceneOptimum optimum = optimize(problem);
    EXPECT_LT(optimum.best_value, 0.9 * optimum.start_value) << name;
  }
}

TEST(RigidScene, TheContactModelIsChosenByName) {
  const auto scene = [](const std::string& contact) {
    return parse_rigid_scene(
        "[model]\nfile = \"" + kScenes + "sphere_drop.xml\"\ncontact = " + contact + "\n", "ball.toml");
  };
  EXPECT_EQ(scene("\"event\"").system.contact, rigid::ContactModel::event);
  EXPECT_EQ(scene("\"penalty\"").system.contact, rigid::ContactModel::penalty);
  EXPECT_TRUE(scene("true").model.options.contact);
  EXPECT_FALSE(scene("false").model.options.contact);
  // Impacts have a restitution to set; soft contacts have none.
  const std::string ball = "[model]\nfile = \"" + kScenes + "sphere_drop.xml\"\n",
                    bounce = "[parameters]\n\"geom/ball/restitution\" = 0.7\n";
  EXPECT_NO_THROW(parse_rigid_scene(ball + "contact = \"event\"\n" + bounce, "ball.toml"));
  EXPECT_THROW(parse_rigid_scene(ball + bounce, "ball.toml"), Error);
  EXPECT_THROW(scene("\"bouncy\""), Error);
}

TEST(RigidScene, AModelAloneIsAScene) {
  const RigidScene scene = scene_of_model(kScenes + "double_pendulum.xml", {{"run.duration", "0.5"}});
  EXPECT_NEAR(scene.duration(), 0.5, scene.dt);
  RigidSceneProblem<double> problem(scene);
  EXPECT_FALSE(problem.has_loss());
  EXPECT_GT(problem.record({}, nullptr).frames, 2);
}

TEST(RigidScene, MistakesOfAModelAloneAreToldWithoutLinesThatNobodyWrote) {
  const std::string model = kScenes + "double_pendulum.xml";
  try {
    scene_of_model(model, {{"run.dt", "-1"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().where, model);
    EXPECT_EQ(error.message().what, "dt must be greater than zero");
  }
}

TEST(RigidScene, OptimisationIsResumedWithTheSameBits) {
  const std::string state =
      (std::filesystem::temp_directory_path() / ("costate_rigid_" + std::to_string(getpid()) + ".json"))
          .string();
  const RigidScene scene = parse_rigid_scene(cart(), "cart.toml");
  RigidSceneProblem<double> whole(scene), first(scene), second(scene);
  const SceneOptimum expected = optimize(whole);
  optimize(first, {.state_file = state, .progress = [](const SceneProgress& p) { return p.iteration < 2; }});
  const SceneOptimum rest = optimize(second, {.state_file = state, .resume = true});
  std::filesystem::remove(state);
  EXPECT_LT(expected.best_value, expected.start_value);
  EXPECT_EQ(rest.best, expected.best);
}

TEST(RigidScene, ControlsAreHeldJoinedOrSplined) {
  ControlPath path;
  path.points = {1, 2, 4, 8};
  const auto at = [&](std::int64_t k) {
    const ControlWeights w = control_weights(path, k, 12);
    double u = 0;
    for (std::size_t i = 0; i < w.count; ++i) u += w.w[i] * path.points[w.first + i];
    return u;
  };
  for (const std::int64_t k : {0, 1, 2}) EXPECT_EQ(at(k), 1);
  for (const std::int64_t k : {9, 10, 11}) EXPECT_EQ(at(k), 8);
  path.shape = ControlPath::Shape::linear;
  EXPECT_EQ(at(0), 1);
  EXPECT_NEAR(at(2), 1.5, 1e-14);
  EXPECT_NEAR(at(10), 6, 1e-14);
  path.shape = ControlPath::Shape::spline;
  EXPECT_NEAR(at(0), 1, 1e-14);
  EXPECT_NEAR(at(6), (1 + 3 * 2 + 3 * 4 + 8) / 8.0, 1e-14);  // Bernstein's polynomials at one half
}

// What is wrong, and where.
struct Wrong {
  const char *from, *to, *message;
};

class WrongRigidScene : public testing::TestWithParam<Wrong> {};

TEST_P(WrongRigidScene, IsAnErrorWithItsPlace) {
  std::string text = cart();
  const std::size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(GetParam().from).size(), GetParam().to);
  try {
    parse_rigid_scene(text, "cart.toml");
    FAIL() << "accepted " << GetParam().to;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::input);
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos) << error.what();
    EXPECT_TRUE(error.message().where.starts_with("cart.toml:")) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongRigidScene,
    testing::Values(
        Wrong{"[run]", "[ruin]", "ruin"}, Wrong{"duration = 0.4", "duration = -1", "greater than zero"},
        Wrong{"duration = 0.4", "duration = 1e9", "10 million steps"},
        Wrong{"\"hanging\"", "\"hangin\"", "did you mean 'hanging'?"},
        Wrong{"{slide = 0.1}", "{slid = 0.1}", "did you mean 'slide'?"},
        Wrong{"{slide = 0.1}", "{slide = [1.0, 2.0]}", "is 1 number, not 2"},
        Wrong{"body/pole/mass\" = 0.3", "body/pol/mass\" = 0.3", "did you mean 'body/pole/mass'?"},
        Wrong{"\npush = {", "\npsh = {", "no actuator 'psh'"},
        Wrong{"[0.1, -0.2, 0.3, 0.4, -0.1]", "[0.1]", "at least 4 values"},
        Wrong{"site/tip", "site/tup", "did you mean 'tip'?"},
        Wrong{"target = [0.2, 0.0, 0.5]", "target = [0.2]", "must be 3 numbers"},
        Wrong{"axes = \"xz\"", "axes = \"w\"", "some of \"xyz\""},
        Wrong{"times = [0.1, 0.2, 0.4]", "times = [0.1, 0.2, 0.5]", "outside the run"},
        Wrong{"values = [3.0, 2.9, 2.7]", "values = [3.0, 2.9]", "one value for each of the 3 times"},
        Wrong{"cos(angle)", "cos(angel)", "angel"},
        Wrong{"angle = \"joint/hinge\"", "t = \"joint/hinge\"", "meaning of its own"},
        Wrong{"from = 0.0\nto = 0.4\nevery = 0.1", "at = \"end\"", "reads a control"},
        Wrong{"{name = \"controls.push\", scale = 0.5}", "{name = \"controls.pull\"}", "no actuator 'pull'"},
        Wrong{"start.velocity.hinge\"", "start.speed.hinge\"", "start.velocity.NAME"},
        Wrong{"parameters.gravity", "parameters.gravitas", "did you mean 'gravity'?"}));

TEST(WrongRigidScene, AMistakeInTheModelIsToldWithItsOwnFile) {
  try {
    parse_rigid_scene("[model]\nfile = \"" COSTATE_IO_TESTS "/nothing.xml\"\n", "cart.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nothing.xml"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace costate::io

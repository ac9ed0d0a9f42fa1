#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include <unistd.h>

#include "costate/core/error.h"
#include "tests/expect_error.h"
#include "tests/io/scene/studies.h"

namespace costate::io {
namespace {

using study::Optimum, study::optimise, study::OptimiseProgress, study::RolloutStudy;

std::unique_ptr<study::Study> parse(const std::string& text, const Opening& opening = {}) {
  return parse_study(text, "cart.toml", opening);
}

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
         "[view]\nframes_per_second = 50\n";
}

// A ball that falls half a metre onto a floor, and where it is after 0.6 s.
std::string drop(const std::string& contact) {
  return "[model]\nfile = \"" COSTATE_IO_TESTS "/scene/drop.xml\"\n" + contact +
         "[run]\nduration = 0.6\n[start]\nkeyframe = \"up\"\n[[loss]]\nkind = \"formula\"\nformula = "
         "\"z\"\nquantities = {z = "
         "\"joint/z\"}\n"
         "[optimize]\nvariables = [{name = \"start.position.z\"}]\n";
}

TEST(Bodies, ContactModelIsTheOneOfTheFile) {
  const auto height = [](const std::string& contact) {
    const auto made = parse(drop(contact));
    study::Study& problem = *made;
    std::vector<double> gradient(1);
    return std::pair(problem.value_and_gradient(problem.start(), gradient.data()), gradient[0]);
  };
  // Falls sqrt(2 h / g) = 0.3193 s, returns at e times the speed: z = e u s - g s^2 / 2 with s = 0.6 - t.
  const auto bounce = [](double e, double h) {
    const double g = 9.81, t = std::sqrt(2 * h / g), s = 0.6 - t;
    return e * g * t * s - g * s * s / 2;
  };
  const auto [z, dz] = height("[contact]\nmodel = \"event\"\nrestitution = 0.8\nrest_speed = 0.01\n");
  EXPECT_NEAR(z, bounce(0.8, 0.5), 1e-12);
  EXPECT_NEAR(dz, (bounce(0.8, 0.5 + 1e-5) - bounce(0.8, 0.5 - 1e-5)) / 2e-5, 1e-8);
  EXPECT_NEAR(height("[contact]\nmodel = \"none\"\n").first, 0.5 - 9.81 * 0.36 / 2, 1e-12);
  const auto penalty = height("[contact]\nmodel = \"penalty\"\nstiffness = 1e5\nonset = \"split\"\n");
  EXPECT_NEAR(penalty.first, bounce(1, 0.5), 0.02);
  const auto split = height("[contact]\nonset = \"split\"\n"), none = height("[contact]\nonset = \"none\"\n");
  EXPECT_EQ(height("").second, split.second);  // the model says RK4
  EXPECT_NE(none.second, split.second);
}

TEST(Bodies, TolerancesOfAdaptiveStepsAreThoseOfTheFile) {
  const auto scene = [](const std::string& model) {
    std::string text = drop("");
    return text.insert(text.find('\n', text.find("file = ")) + 1, model);
  };
  const auto height = [&](const std::string& model) {
    const auto made = parse(scene("integrator = \"adaptive\"\n" + model));
    return made->value(made->start());
  };
  EXPECT_NEAR(height(""), parse(drop(""))->value(parse(drop(""))->start()), 1e-5);  // the model says RK4
  EXPECT_NEAR(height("rtol = 1e-9\natol = 1e-12\n"), height(""), 1e-8);
  costate::test::expect_error([&] { return parse(scene("rtol = 1e-6\n")); }, "rtol has no effect",
                              "adaptive");
  costate::test::expect_error([&] { return parse(scene("integrator = \"adaptive\"\natol = 0\n")); },
                              "atol must be positive");
}

TEST(Bodies, NumbersOfAnotherContactModelAreRefused) {
  const auto says = [](const std::string& contact) -> std::string {
    try {
      parse(drop(contact));
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_NE(says("[contact]\nrestitution = 0.8\n").find("cart.toml:4:1"), std::string::npos)
      << says("[contact]\nrestitution = 0.8\n");
  EXPECT_NE(says("[contact]\nmodel = \"event\"\nonset = \"split\"\n").find("onset"), std::string::npos);
  EXPECT_NE(says("[contact]\nmodel = \"event\"\nrestitution = 1.2\n").find("more than 1"), std::string::npos);
  EXPECT_NE(says("[contact]\nmodel = \"penalty\"\nstiffness = 0\n").find("positive"), std::string::npos);
  EXPECT_NE(says("[contact]\nmodel = \"springs\"\n").find("penalty"), std::string::npos);
}

TEST(Bodies, GradientMatchesDifferencesInEveryVariable) {
  const auto made = parse(cart());
  study::Study& problem = *made;
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

TEST(Bodies, ChecksPass) {
  const auto made = parse(cart());
  study::Study& problem = *made;
  for (const check::Result& r : study::check_gradient(problem)) {
    EXPECT_TRUE(r.passed()) << r.name << " " << r.error << " above " << r.gate;
    EXPECT_FALSE(r.skipped);
  }
}

TEST(Bodies, AShortenedSceneIsTheBeginningOfTheWhole) {
  const auto whole = parse(cart()), part = parse(cart(), {.most_steps = 17});
  const auto arguments = [](study::Study& s) { return test::rollout_of<double>(s).arguments(s.start()); };
  const Arguments<double> a = arguments(*whole), b = arguments(*part);
  ASSERT_EQ(b.controls.size(), 17U);
  for (std::size_t k = 0; k < 17; ++k) EXPECT_EQ(a.controls[k], b.controls[k]);
  EXPECT_TRUE(std::isfinite(part->value(part->start())));
}

TEST(Bodies, RecordingsAgreeWithTheLoss) {
  const auto made = parse(cart());
  study::Study& problem = *made;
  const study::Run outcome = problem.run(problem.start());
  const Recording& r = outcome.recording;
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
TEST(Bodies, ScenesOfContactImprove) {
  for (const std::string name : {"cube_toss", "sphere_drop", "billiards", "box_push"}) {
    const Optimum optimum =
        optimise(*load_study(kScenes + name + ".toml", {.settings = {{"optimize.iterations", "5"}}}));
    EXPECT_LT(optimum.best_value, 0.9 * optimum.start_value) << name;
  }
}

TEST(Bodies, AModelAloneIsAScene) {
  const auto study = load_study(kScenes + "double_pendulum.xml", {.settings = {{"run.duration", "0.5"}}});
  EXPECT_EQ(study->steps(), 100);
  EXPECT_FALSE(study->has_loss());
  EXPECT_GT(study->run({}).recording.frames, 2);
}

TEST(Bodies, MistakesOfAModelAloneAreToldWithoutLinesThatNobodyWrote) {
  const std::string model = kScenes + "double_pendulum.xml";
  try {
    load_study(model, {.settings = {{"run.dt", "-1"}}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().where, "--set run.dt=-1");
    EXPECT_EQ(error.message().what, "dt must be greater than zero");
  }
}

TEST(Bodies, OptimisationIsResumedWithTheSameBits) {
  const std::string state =
      (std::filesystem::temp_directory_path() / ("costate_rigid_" + std::to_string(getpid()) + ".json"))
          .string();
  const Optimum expected = optimise(*parse(cart()));
  optimise(*parse(cart()),
           {.state_file = state, .progress = [](const OptimiseProgress& p) { return p.iteration < 2; }});
  const Optimum rest = optimise(*parse(cart()), {.state_file = state, .resume = true});
  std::filesystem::remove(state);
  EXPECT_LT(expected.best_value, expected.start_value);
  EXPECT_EQ(rest.best, expected.best);
}

// What is wrong, and where.
struct Wrong {
  const char *from, *to, *message;
};

class WrongBodies : public testing::TestWithParam<Wrong> {};

TEST_P(WrongBodies, IsAnErrorWithItsPlace) {
  std::string text = cart();
  const std::size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(GetParam().from).size(), GetParam().to);
  try {
    parse(text);
    FAIL() << "accepted " << GetParam().to;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::input);
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos) << error.what();
    EXPECT_TRUE(error.message().where.starts_with("cart.toml:")) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongBodies,
    testing::Values(
        Wrong{"[run]", "[ruin]", "ruin"}, Wrong{"duration = 0.4", "duration = -1", "greater than zero"},
        Wrong{"duration = 0.4", "duration = 1e9", "10 million steps"},
        Wrong{"\"hanging\"", "\"hangin\"", "did you mean 'hanging'?"},
        Wrong{"{slide = 0.1}", "{slid = 0.1}", "did you mean 'slide'?"},
        Wrong{"{slide = 0.1}", "{slide = [1.0, 2.0]}", "is 1 number, not 2"},
        Wrong{"body/pole/mass\" = 0.3", "body/pol/mass\" = 0.3", "did you mean 'body/pole/mass'?"},
        Wrong{"\npush = {", "\npsh = {", "no control 'psh'"},
        Wrong{"[0.1, -0.2, 0.3, 0.4, -0.1]", "[0.1]", "at least 4 values"},
        Wrong{"site/tip", "site/tup", "did you mean 'tip'?"},
        Wrong{"target = [0.2, 0.0, 0.5]", "target = [0.2]", "must be 3 numbers"},
        Wrong{"axes = \"xz\"", "axes = \"w\"", "some of \"xyz\""},
        Wrong{"times = [0.1, 0.2, 0.4]", "times = [0.1, 0.2, 0.5]", "outside the run"},
        Wrong{"values = [3.0, 2.9, 2.7]", "values = [3.0, 2.9]", "one value for each of the 3 times"},
        Wrong{"cos(angle)", "cos(angel)", "angel"},
        Wrong{"angle = \"joint/hinge\"", "t = \"joint/hinge\"", "meaning of its own"},
        Wrong{"from = 0.0\nto = 0.4\nevery = 0.1", "at = \"end\"", "reads a control"},
        Wrong{"{name = \"controls.push\", scale = 0.5}", "{name = \"controls.pull\"}",
              "did you mean 'controls.push'?"},
        Wrong{"start.velocity.hinge\"", "start.speed.hinge\"", "there is no start.speed.hinge"},
        Wrong{"parameters.gravity", "parameters.gravitas", "did you mean 'parameters.gravity'?"}));

TEST(WrongBodies, AMistakeInTheModelIsToldWithItsOwnFile) {
  try {
    parse("[model]\nfile = \"" COSTATE_IO_TESTS "/nothing.xml\"\n");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nothing.xml"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace costate::io

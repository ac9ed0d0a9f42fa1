// Every physics as a section: waves and springs have scenes like the others, and every kind of loss works in
// every physics.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "tests/io/scene/studies.h"

namespace costate::io {
namespace {

const std::string kScenes = COSTATE_SOURCE "/scenes/";

void expect_right(const std::string& text) {
  SCOPED_TRACE(text);
  const auto study = parse_study(text, "f.toml", {.for_check = true, .most_steps = 60});
  for (const check::Result& r : study::check_gradient(*study))
    EXPECT_TRUE(r.passed()) << r.name << " " << r.error << " above " << r.gate << " " << r.detail;
  std::vector<double> gradient(study->variables().size());
  study->value_and_gradient(study->start(), gradient.data());
  double largest = 0;
  for (const double g : gradient) largest = std::max(largest, std::abs(g));
  EXPECT_GT(largest, 1e-8);
}

TEST(Sections, AFlowIsDrawnAsImagesWithItsBodies) {
  const auto study = load_study(kScenes + "tow.toml", {.settings = {{"run.duration", "10.0"}}});
  const Recording r = study->run(study->start()).recording;
  ASSERT_EQ(r.images.size(), 3U);
  EXPECT_EQ(r.images[0].name, "vorticity");  // as the scene asks
  EXPECT_EQ(r.images[2].name, "p");
  EXPECT_EQ(r.images[0].columns, 60U);
  EXPECT_EQ(r.up, 'y');
  ASSERT_EQ(r.bodies.size(), 1U);
  ASSERT_EQ(r.bodies[0].poses.size(), std::size_t(r.frames));
  EXPECT_NEAR(r.bodies[0].poses.back()[0], 11.5 - 8, 1e-5);
  // No slip: next to the hull, whose speed is 0.8 m/s, the water is nearly as fast.
  float fastest = 0;
  for (const float v : r.images[1].values) fastest = std::max(fastest, v);
  EXPECT_GT(fastest, 0.7F);
}

TEST(Sections, WavesAndSpringsAreRunCheckedAndOptimised) {
  for (const std::string name :
       {"pond", "plate", "hopping_frame", "cylinder", "front", "tow", "foil", "falling_plate"}) {
    SCOPED_TRACE(name);
    const auto checked = load_study(kScenes + name + ".toml", {.for_check = true, .most_steps = 60});
    for (const check::Result& r : study::check_gradient(*checked))
      EXPECT_TRUE(r.passed()) << r.name << " " << r.error << " above " << r.gate << " " << r.detail;
    const auto study = load_study(kScenes + name + ".toml", {.settings = {{"optimize.iterations", "3"}}});
    const study::Optimum optimum = study::optimise(*study);
    EXPECT_LT(optimum.best_value, optimum.start_value);
    const study::Run run = study->run(optimum.best);
    EXPECT_NEAR(run.loss, optimum.best_value, 1e-9 * optimum.best_value);
    check_recording(run.recording, name);
    EXPECT_GT(run.recording.frames, 10);
  }
}

const std::string kOscillator =
    "[start]\nx = 1.0\ny = 0.5\n[parameters]\nk = 2.0\n[controls]\nu = [0.1, 0.2, 0.3]\n"
    "[equations]\nx = \"y\"\ny = \"-k*x + u\"\n[run]\nt1 = 1.0\nrtol = 1e-10\natol = 1e-10\n";

// Kinds that were made for particles or bodies, in equations.
TEST(Sections, EveryKindOfLossWorksInEquations) {
  for (const char* loss : {
           "kind = \"position\"\nof = \"x\"\ntarget = 2.0\n",
           "kind = \"track\"\nof = \"y\"\ntimes = [0.3, 0.6, 1.0]\nvalues = [0.1, 0.2, 0.3]\n",
           "kind = \"in_region\"\nof = [\"x\", \"y\"]\nwidth = 0.1\n"
           "region = {kind = \"sphere\", centre = [2.0, 1.0], radius = 0.3}\n",
           "kind = \"effort\"\nweight = 3.0\n",
           "formula = \"x*u\"\nintegral = true\nweight = 0.5\n",
       })
    expect_right(kOscillator + "[[loss]]\n" + loss);
}

TEST(Sections, LossesOfEquationsAreWhatTheySay) {
  const auto value = [](const std::string& loss) {
    const auto study = parse_study(kOscillator + "[[loss]]\n" + loss, "f.toml");
    return study->value({});
  };
  const double x = value("formula = \"x\"\n");
  EXPECT_NEAR(value("kind = \"position\"\nof = \"x\"\ntarget = 2.0\nweight = 3.0\n"), 1.5 * (x - 2) * (x - 2),
              1e-12);
  EXPECT_NEAR(value("kind = \"effort\"\n"), 0.5 * (0.01 + 0.04 + 0.09) / 3, 1e-9);
  const double half = value("formula = \"x\"\nat = 0.5\n");
  EXPECT_NEAR(value("formula = \"x\"\ntimes = [0.5, 1.0]\n"), (x + half) / 2, 1e-12);
}

const std::string kTwoMasses =
    "[springs]\nstiffness = 30.0\n[[masses]]\nname = \"a\"\nposition = [0.0, 1.0]\n[[masses]]\nname = \"b\"\n"
    "position = [0.4, 1.2]\nvelocity = [0.1, 0.3]\n[[links]]\nbetween = [\"a\", \"b\"]\nrest_length = "
    "0.3\nmuscle = \"m\"\n"
    "[run]\nduration = 0.3\ndt = 0.01\n[controls]\nm = {values = [0.1, 0.5, 0.2, 0.4], interpolation = "
    "\"spline\"}\n";
const std::string kTheirVariables =
    "[optimize]\nvariables = [\"controls.m\", \"start.x\", \"parameters.spring/stiffness\"]\n";

TEST(Sections, EveryKindOfLossWorksInSprings) {
  for (const char* loss : {
           "kind = \"position\"\nof = \"mass/b\"\ntarget = [0.3, 1.0]\naxes = \"y\"\n",
           "kind = \"velocity\"\nof = \"mass/a\"\n",
           "kind = \"in_region\"\nregion = {kind = \"box\", centre = [1.0, 1.0], half = [0.1, 0.2]}\nwidth = "
           "0.1\n",
           "kind = \"spilled\"\nof = \"mass/b\"\nheight = 1.3\nwidth = 0.2\n"
           "region = {kind = \"sphere\", centre = [1.0, 1.0], radius = 0.2}\n",
           "kind = \"track\"\nof = \"masses/mean\"\ntimes = [0.1, 0.3]\nvalues = [[0.1, 1.0], [0.2, 1.1]]\n",
           "formula = \"c[0]^2 + c[1]\"\nquantities = {c = \"masses/mean\"}\nfrom = 0.1\nevery = 0.1\n",
           "formula = \"(c[0] - data)^2\"\nquantities = {c = \"masses/mean\"}\ntimes = [0.1, 0.2]\nvalues = "
           "[0.5, 0.6]\n",
           "kind = \"effort\"\n",
           "kind = \"jerk\"\nof = \"controls.m\"\nweight = 1e-3\n[[loss]]\nkind = \"velocity\"\nof = "
           "\"mass/a\"\n",
       })
    expect_right(kTwoMasses + "[[loss]]\n" + loss + kTheirVariables);
}

TEST(Sections, RegionsWorkForBodies) {
  expect_right("[model]\nfile = \"" + kScenes +
               "cart_pole.xml\"\n[run]\nduration = 0.4\n[controls]\npush = {count = 5, value = 0.3}\n"
               "[[loss]]\nkind = \"in_region\"\nof = \"site/tip\"\nwidth = 0.1\n"
               "region = {kind = \"sphere\", centre = [0.5, 0.0, 0.5], radius = 0.1}\n"
               "[optimize]\nvariables = [\"controls.push\", \"start.velocity.hinge\"]\n");
}

// x = v0 t + ..., measured: a fit by the gradients of single residuals.
TEST(Sections, AnyPhysicsIsFittedToMeasurements) {
  const auto study = parse_study(
      "[springs]\n[[masses]]\nname = \"a\"\nposition = [0.0, 1.0]\nvelocity = [1.0, 0.0]\n"
      "[run]\nduration = 1.0\ndt = 0.01\n"
      "[fit]\nvariables = [{name = \"start.v[0]\", scale = 0.5}]\n"
      "data = {times = [0.25, 0.5, 1.0], formula = \"c[0]\", quantities = {c = \"mass/a\"}, values = [0.5, "
      "1.0, 2.0]}\n",
      "f.toml");
  const study::Optimum o = study::optimise(*study);
  EXPECT_NEAR(o.best[0] * 0.5, 2, 1e-9);
  EXPECT_EQ(o.method, "levenberg_marquardt");
  EXPECT_EQ(o.standard_deviation.size(), 1U);
}

TEST(Sections, AFileAboutNothingIsToldWhatThereIs) {
  try {
    parse_study("title = \"nothing\"\n", "f.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("add one of [equations], [soft], [domain], [flow], [model], [grid], [springs]"),
              std::string::npos)
        << error.what();
  }
}

// T = cos(pi x / L) between insulated sides is a mode of the scheme: each step multiplies it by 1 - dt k (2
// sin(pi dx / (2 L)) / dx)^2 / C.
TEST(Sections, HeatFromAFileDecaysAsItsScheme) {
  const auto study = parse_study(
      "[grid]\nequation = \"heat\"\ncells = [10, 4]\ndx = 0.1\nconductivity = 2.0\ncapacity = 3.0\n"
      "sides = {south = \"periodic\", north = \"periodic\"}\n[run]\nsteps = 50\ndt = 0.003\n"
      "[start]\nT = \"cos(3.141592653589793*x)\"\n[[loss]]\nformula = \"a - 2*b\"\n"
      "quantities = {a = \"T/12\", b = \"T/8\"}\n",
      "f.toml");
  const double pi = 3.141592653589793, wave = 2 * std::sin(pi * 0.1 / 2) / 0.1;
  const double decay = std::pow(1 - 0.003 * 2.0 / 3.0 * wave * wave, 50);
  EXPECT_NEAR(study->value({}), decay * (std::cos(pi * 0.25) - 2 * std::cos(pi * 0.85)), 1e-12);
}

TEST(Sections, GridsHaveFormulasSidesAndSources) {
  expect_right(
      "[grid]\nequation = \"heat\"\ncells = [6, 5]\ndx = 0.1\nconductivity = \"1 + x*y\"\nsource = "
      "\"0.1*x\"\n"
      "sides = {west = {temperature = 1.0}, east = {gradient = 0.5}}\nsources = {heater = [2, 3]}\n[run]\n"
      "steps = 30\n[start]\nT = \"x - y\"\n[controls]\nheater = {count = 3, value = 0.7}\n[[loss]]\n"
      "kind = \"track\"\nof = \"T/7\"\ntimes = [0.01, 0.03]\nvalues = [0.2, 0.3]\n[optimize]\nvariables = "
      "[\"controls.heater\", \"parameters.conductivity\", \"parameters.west\", \"parameters.east\", "
      "\"start.T\"]\n");
}

TEST(Sections, ShallowWaterRunsFromAFile) {
  expect_right(
      "[grid]\nequation = \"shallow_water\"\ncells = [7, 5]\ndx = 0.5\ndepth = \"1 + 0.2*x\"\ndrag = 0.1\n"
      "sides = {south = \"periodic\", north = \"periodic\"}\nsources = {cloud = [2, 3]}\n[run]\n"
      "steps = 30\n[start]\neta = \"0.1*cos(x)*cos(y)\"\n[controls]\ncloud = {count = 3, value = 0.1}\n"
      "[[loss]]\nkind = \"position\"\nof = \"eta/9\"\ntarget = 0.3\n[optimize]\nvariables = "
      "[\"controls.cloud\", \"parameters.depth\", \"start.eta\"]\n");
}

TEST(Sections, MistakesInWavesAndSpringsHaveTheirPlace) {
  const auto says = [](const std::string& text) {
    try {
      parse_study(text, "f.toml");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(
      says("[grid]\nequation = \"wave\"\ncells = [8]\ndx = 0.1\n").find("f.toml:3:9: cells are two numbers"),
      std::string::npos);
  EXPECT_NE(says("[grid]\nequation = \"wave\"\ncells = [8, 8]\ndx = 0.1\nsources = {a = [9, 1]}\n")
                .find("f.toml:5:16: a source is at"),
            std::string::npos);
  EXPECT_NE(says("[grid]\nequation = \"wave\"\ncells = [8, 8]\ndx = 0.1\n[start]\nu = \"z\"\n")
                .find("f.toml:6:6: unknown name 'z'"),
            std::string::npos);
  const std::string heat = "[grid]\nequation = \"heat\"\ncells = [8, 8]\ndx = 0.1\n";
  EXPECT_NE(says("[grid]\nequation = \"heats\"\n").find("f.toml:2:12: there is no equation 'heats'"),
            std::string::npos);
  EXPECT_NE(says(heat + "speed = 1.0\n").find("f.toml:5:1: unknown key 'speed' in [grid] of 'heat'"),
            std::string::npos)
      << says(heat + "speed = 1.0\n");
  EXPECT_NE(says(heat + "sides = {west = {flux = 1.0}}\n").find("there is no kind of side 'flux'"),
            std::string::npos);
  EXPECT_NE(says(heat + "[run]\ndt = 0.01\n").find("reduce dt below 0.0025 (now 0.01)"), std::string::npos)
      << says(heat + "[run]\ndt = 0.01\n");
  EXPECT_NE(
      says("[springs]\n[[masses]]\nname = \"a\"\nposition = [0, 1]\n[[links]]\nbetween = [\"a\", \"c\"]\n")
          .find("f.toml:6:17: there is no mass 'c'"),
      std::string::npos);
  EXPECT_NE(says("[springs]\n").find("there are no masses"), std::string::npos);
}

}  // namespace
}  // namespace costate::io

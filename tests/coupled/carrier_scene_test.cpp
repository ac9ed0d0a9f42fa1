// Soft bodies on a model in a scene file: the gripper's least force, gradients of every variable, what is
// drawn, mistakes in words.
#include <gtest/gtest.h>

#include "costate/io/scene/load_study.h"
#include "costate/study/check.h"
#include "costate/study/rollout_study.h"
#include "tests/coupled/scenes.h"
#include "tests/expect_error.h"

namespace costate::io {
namespace {

using test::replaced;

const std::string kGripper = COSTATE_SOURCE "/scenes/gripper.toml";

// Two pads press with N each; Coulomb's friction 0.6 on both sides carries 0.2 kg from m g/(2 mu) = 1.635 N
// on.
TEST(CarrierScene, TheGripperHoldsWhereCoulombSaysSo) {
  const auto height_after = [](double newtons) {
    const auto study = load_study(kGripper);
    std::vector<double> x(study->variables().size(), newtons);
    x[0] = x[1] = 2;
    const Recording r = study->run(x).recording;
    for (const Mesh& mesh : r.meshes)
      if (mesh.name == "ball") return double(mesh.vertices[mesh.vertices.size() - 1]);
    return 0.0;
  };
  EXPECT_GT(height_after(1.1 * 1.635), height_after(0.8 * 1.635) + 0.005);
}

// While the pads are slammed together, the ball comes off the floor within steps: corners of the rigid step.
TEST(CarrierScene, ContactsOfTheModelMayOpenWithinAStep) {
  const auto study = load_study(kGripper, {.settings = {{"run.duration", "0.15"}}});
  const study::Run run = study->run(std::vector<double>(study->variables().size(), 30.0));
  EXPECT_TRUE(std::isfinite(run.loss));
}

// A cloth that is sewn to a paddle, which a motor turns.
std::string paddle(const std::string& more = "") {
  return "[model]\nfile = \"" COSTATE_COUPLED_TESTS
         "/paddle.xml\"\n"
         "[soft]\ngravity = [0.0, -9.81, 0.0]\n"
         "[start]\nvelocity = {hinge = 0.2}\n"
         "[[materials]]\nname = \"cotton\"\nlaw = \"stvk\"\nE = 1e4\ndensity = 2.0\nbending = 1e-4\n"
         "[[parts]]\nname = \"towel\"\nsize = [0.2, 0.2]\ncount = [3, 3]\norigin = [0.7, 0.0, 0.0]\n"
         "[[holds]]\nname = \"seam\"\npart = \"towel\"\nvertices = [0, 4, 8, 12]\nbody = \"paddle\"\n"
         "[run]\nduration = 0.1\n"
         "[controls]\nmotor = {values = [1.0, 2.0, 3.0]}\n"
         "[[loss]]\nkind = \"position\"\nof = \"part/towel/mean\"\ntarget = [0.8, 0.4, 0.0]\nweight = 10.0\n"
         "[optimize]\nvariables = [{name = \"controls.motor\"}, {name = \"start.velocity.hinge\"},\n"
         "  {name = \"parameters.body/paddle/mass\", scale = 10.0}, {name = "
         "\"parameters.material/cotton/E\", scale "
         "= 1e4}]\n" +
         more;
}

TEST(CarrierScene, EveryVariableHasItsGradient) {
  const auto study = parse_study(paddle(), "towel.toml", {.for_check = true});
  ASSERT_EQ(study->variables().size(), 3U + 1 + 1 + 1);
  for (const check::Result& r : study::check_gradient(*study)) EXPECT_TRUE(r.passed()) << r.name << r.error;
}

TEST(CarrierScene, RecordingShowsTheModelWhereItsClothIs) {
  const auto study = parse_study(paddle(), "towel.toml");
  const Recording r = study->run(study->start()).recording;
  ASSERT_EQ(r.meshes.size(), 1U);
  ASSERT_EQ(r.bodies.size(), 2U);  // beam and knob
  const auto frames = std::size_t(r.frames);
  ASSERT_EQ(r.bodies[1].poses.size(), frames);
  // The first vertex of the seam stays 0.2 m below the knob, in the paddle's frame.
  const std::size_t last = 3 * 16 * (frames - 1);
  double square = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double d = r.meshes[0].vertices[last + axis] - r.bodies[1].poses[frames - 1][axis];
    square += d * d;
  }
  EXPECT_NEAR(std::sqrt(square), 0.2, 1e-6);
  EXPECT_NE(r.bodies[1].poses[frames - 1][1], r.bodies[1].poses[0][1]);
}

TEST(CarrierScene, MistakesAreToldWithTheirPlace) {
  const auto refused = [](const std::string& text, const std::string& words, const std::string& advice) {
    costate::test::expect_error([&] { return parse_study(text, "scene.toml"); }, words, advice);
  };
  refused(replaced(paddle(), "body = \"paddle\"", "body = \"padle\""), "the model has no body 'padle'",
          "did you mean 'paddle'?");
  refused(replaced(paddle(), "body = \"paddle\"", "body = \"paddle\"\ndriven = true"),
          "rides on body 'paddle' and is driven", "drive the model's actuators");
  refused(replaced(paddle(), "name = \"controls.motor\"", "name = \"start.position.hinge\""),
          "start.position.hinge", "");
  std::string without = paddle();
  without.erase(without.find("[model]"), without.find("[soft]"));
  refused(without, "[start]", "");
}

}  // namespace
}  // namespace costate::io

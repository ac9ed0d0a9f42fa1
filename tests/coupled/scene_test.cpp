// A model among the particles of a scene file: the weight that it carries, gradients of every variable,
// recordings, mistakes in words.
#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/io/scene/load_study.h"
#include "costate/io/scene/sections/particles.h"
#include "costate/study/check.h"
#include "costate/study/rollout_study.h"
#include "tests/coupled/scenes.h"

namespace costate::io {
namespace {

using test::replaced;

const std::string kScenes = COSTATE_SOURCE "/scenes/";

// A paddle on a hinge, in the plane, and a block of jelly that falls onto it.
std::string paddle(const std::string& more = "") {
  return "[domain]\ndimension = 2\nhigh = [0.8, 0.8]\ndx = 0.04\n[run]\nduration = 0.3\ndt = 2e-3\nprecision "
         "= "
         "\"double\"\n"
         "[[materials]]\nname = \"jelly\"\nkind = \"neo_hookean\"\ndensity = 1000.0\nE = 2e4\nnu = 0.3\n"
         "[[fill]]\nmaterial = \"jelly\"\nshape = {kind = \"box\", half = [0.1, 0.1]}\nposition = [0.43, "
         "0.5]\nvelocity = [0.2, -1.5]\njitter = 0.3\n"
         "[model]\nfile = \"" COSTATE_COUPLED_TESTS
         "/paddle.xml\"\n"
         "[start]\nposition = {hinge = 0.1}\nvelocity = {hinge = 0.2}\n"
         "[controls]\nmotor = {values = [1.0, 2.0, 3.0, 2.0, 1.0], interpolation = \"spline\"}\n"
         "[[colliders]]\nname = \"blade\"\nbody = \"paddle\"\nshape = {kind = \"box\", half = [0.2, "
         "0.05]}\nposition = [0.21, 0.01]\ncontact = \"separate\"\n"
         "[[loss]]\nkind = \"position\"\nof = \"particles/mean\"\ntarget = [0.5, 0.6]\n"
         "[optimize]\nvariables = [{name = \"controls.motor\"}, {name = \"start.position.hinge\", scale = "
         "0.1},\n"
         "  {name = \"start.velocity.hinge\"}, {name = \"parameters.body/paddle/mass\", scale = 10.0}, {name "
         "= "
         "\"parameters.collider/blade/position\", scale = 0.01}, {name = \"parameters.gravity\"}]\n" +
         more;
}

study::ParticlesScene scene_of(const std::string& text) {
  const SceneFile file(TomlDocument(text, "paddle.toml"), {});
  ParticlesReader reader(file);
  reader.read();
  return reader.scene();
}

TEST(CoupledScene, EveryVariableHasItsGradient) {
  const auto checked = parse_study(paddle(), "paddle.toml", {.for_check = true, .most_steps = 60});
  ASSERT_EQ(checked->variables().size(), 5U + 1 + 1 + 1 + 3 + 2);
  for (const check::Result& r : study::check_gradient(*checked))
    EXPECT_TRUE(r.passed()) << r.name << ": " << r.error;
  // Each by itself: the difference along one variable is its derivative.
  study::Study& problem = *checked;
  const std::vector<double> x = problem.start();
  std::vector<double> gradient(x.size());
  problem.value_and_gradient(x, gradient.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = [&](double h) {
      std::vector<double> moved = x;
      moved[i] += h;
      return problem.value(moved);
    };
    const double h = 1e-5, slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    EXPECT_NEAR(slope, gradient[i], 1e-6 * std::abs(gradient[i]) + 1e-10) << problem.variables()[i].name;
  }
}

// Servos of stiffness kp that carry a weight m g at a lever r yield by m g r / kp. Gravity compensation
// carries the arm itself.
TEST(CoupledScene, ServosYieldUnderTheWeightOfTheCoffee) {
  const auto made = load_study(kScenes + "barista.toml", {.settings = {{"run.duration", "0.6"},
                                                                       {"controls.shoulder", "1.9179"},
                                                                       {"controls.elbow", "-2.5725"},
                                                                       {"controls.wrist", "0.6546"}}});
  auto& study = dynamic_cast<study::RolloutStudy<float>&>(*made);
  const auto state = study.rollout().simulate(study.arguments(study.start())).final_state;
  const study::Setup& setup = study.setup();
  const auto q = std::size_t(setup.signature.find(Role::state, "q").offset);
  const double* q0 = setup.inputs.x0.data() + q;
  const std::size_t count = std::size_t(setup.signature.find(Role::state, "particle/x").size) / 3;
  const double each = std::pow(0.0125, 3) / 8;  // volume of a particle
  double mass = 0, moment = 0;
  for (std::size_t i = 0; i < count; ++i) {
    mass += 1000 * each;
    moment += 1000 * each * double(state[3 * i]);
  }
  const double x = moment / mass;
  const double shoulder = q0[0], elbow = q0[1];
  const double at[] = {-0.1, -0.1 + 0.28 * std::cos(shoulder),
                       -0.1 + 0.28 * std::cos(shoulder) + 0.26 * std::cos(shoulder + elbow)};
  const double stiffness[] = {150, 100, 30};
  for (std::size_t joint = 0; joint < 3; ++joint) {
    const double yields = mass * 9.81 * (x - at[joint]) / stiffness[joint];
    EXPECT_GT(yields, 0.003);
    EXPECT_NEAR(q0[joint] - double(state[q + joint]), yields, 0.05 * yields) << joint;
  }
}

TEST(CoupledScene, RecordingShowsParticlesModelAndWhatItCarries) {
  const auto study = load_study(kScenes + "barista.toml", {.settings = {{"run.duration", "0.4"}}});
  const Recording r = study->run(study->start()).recording;
  EXPECT_GT(r.frames, 5);
  EXPECT_GT(r.particles.material.size(), 100U);
  const auto find = [&](const std::string& name) -> const Body& {
    for (const Body& b : r.bodies)
      if (b.name == name) return b;
    ADD_FAILURE() << name;
    return r.bodies.front();
  };
  const Body &jug = find("jug"), &forearm = find("forearm");
  ASSERT_EQ(jug.poses.size(), std::size_t(r.frames));
  ASSERT_EQ(forearm.poses.size(), std::size_t(r.frames));
  EXPECT_NEAR(jug.poses[0][0], 0.101, 1e-3);  // where the keyframe holds it
  EXPECT_NEAR(jug.poses[0][1], 0.145, 1e-3);
  EXPECT_NE(jug.poses.back()[0], jug.poses[0][0]);
}

// What [optimize] of the scene has found, in radians: most of the coffee lands in the mug, where the first
// pour missed it.
TEST(CoupledScene, ALearnedPourFindsTheMug) {
  const auto made = load_study(kScenes + "barista.toml");
  study::Study& problem = *made;
  const std::vector<double> learned = {1.986,  1.907,  1.596,  1.619,  1.588,  1.525,  1.524,
                                       -2.477, -2.468, -1.545, -1.532, -1.551, -1.679, -1.745,
                                       0.698,  0.702,  -1.878, -1.875, -1.882, -1.933, -1.959};
  ASSERT_EQ(problem.variables().size(), learned.size());
  std::vector<double> x;
  for (std::size_t i = 0; i < learned.size(); ++i) x.push_back(learned[i] / problem.variables()[i].scale);
  const study::Run first = problem.run(problem.start()), last = problem.run(x);
  EXPECT_LT(first.fractions[0].second, 0.3);
  EXPECT_GT(last.fractions[0].second, 0.8);
  EXPECT_LT(last.loss, 0.2 * first.loss);
}

// Without a shape a collider is the body's own geoms.
TEST(CoupledScene, ABodysOwnGeomsTouchTheMaterial) {
  const study::ParticlesScene scene = scene_of(
      replaced(paddle(), "shape = {kind = \"box\", half = [0.2, 0.05]}\nposition = [0.21, 0.01]\n", ""));
  ASSERT_EQ(scene.attached.size(), 2U);  // a capsule along x, a sphere at its end
  EXPECT_EQ(scene.attached[0].collider.shape.kind, mpm::ShapeKind::capsule);
  EXPECT_EQ(scene.attached[1].collider.name, "blade-2");
  const auto poses = coupled::shape_poses(*scene.model.mechanism, {0.1, 0.2});
  // Geoms stand along z, the physics' capsules along y: this one lies along the beam, which the hinge has
  // turned.
  EXPECT_NEAR(std::abs(std::sin(poses[0].rotation[2] - 0.1)), 1, 1e-12);
  EXPECT_NEAR(poses[0].position[0], 0.3 + 0.2 * std::cos(0.1), 1e-12);
  EXPECT_NEAR(poses[1].position[1], 0.2 + 0.4 * std::sin(0.1), 1e-12);
}

void expect_refused(const std::string& text, const std::string& words, const std::string& place) {
  try {
    parse_study(text, "scene.toml");
    ADD_FAILURE() << "accepted; expected: " << words;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(place), std::string::npos) << error.what();
  }
}
TEST(CoupledScene, MistakesAreToldWithTheirPlace) {
  expect_refused(replaced(paddle(), "body = \"paddle\"", "body = \"padle\""), "the model has no body 'padle'",
                 "scene.toml:30:8");
  expect_refused(replaced(paddle(), "body = \"paddle\"", "body = \"padle\""), "did you mean 'paddle'?", "");
  expect_refused(replaced(paddle(), "contact = \"separate\"", "contact = \"sticky\""),
                 "slip, separate or coulomb", "scene.toml:33");
  expect_refused(replaced(paddle(), "motor = {", "moter = {"), "no control 'moter'", "scene.toml:27");
  expect_refused(replaced(paddle(), "{hinge = 0.1}", "{hing = 0.1}"), "no joint 'hing'", "scene.toml:24");
  expect_refused(replaced(paddle(), "paddle.xml", "flying.xml"), "can leave the plane", "");
  expect_refused(paddle("[[bodies]]\nname = \"paddle\"\nshape = {kind = \"sphere\", radius = 0.1}\ndensity = "
                        "100.0\nposition = [0.2, 0.2]\n"),
                 "the model has a body 'paddle' already", "scene.toml:42:8");
  const std::string without =
      paddle().erase(paddle().find("[model]"), paddle().find("[start]") - paddle().find("[model]"));
  expect_refused(without, "[start] is about a model, and there is none", "scene.toml");
}

}  // namespace
}  // namespace costate::io

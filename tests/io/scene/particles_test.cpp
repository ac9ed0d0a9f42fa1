#include "costate/io/scene/sections/particles.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/io/scene/sections/fill.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/io/scene/paddle.h"
#include "tests/io/scene/studies.h"

namespace costate::io {
namespace {

struct Read {
  Draft draft;
  study::ParticlesScene scene;
};
Read parse(const std::string& text, const std::vector<Setting>& settings = {}) {
  const SceneFile file(TomlDocument(text, "paddle.toml"), settings);
  ParticlesReader reader(file);
  Draft draft = reader.read();
  return {std::move(draft), reader.scene()};
}
std::unique_ptr<study::Study> study_of(const std::string& text, const std::vector<Setting>& settings = {}) {
  return parse_study(text, "paddle.toml", {.settings = settings});
}

std::string with(std::string text, const std::string& old, const std::string& fresh) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), fresh);
}

// What the reader says about a changed scene.
std::string refusal(const std::string& old, const std::string& fresh) {
  try {
    study_of(with(test::paddle_scene(), old, fresh));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Particles, IsReadAsItIsWritten) {
  const Read read = parse(test::paddle_scene());
  const mpm::Model& m = read.scene.model;
  const auto study = study_of(test::paddle_scene());
  const study::Setup& setup = test::rollout_of<double>(*study).setup();
  EXPECT_EQ(study->title, "paddle");
  EXPECT_EQ(study->steps(), 30);
  // One cell more than fits, since the grid begins off round numbers.
  EXPECT_EQ(m.nodes, (std::array<int, 3>{14, 14, 14}));
  EXPECT_NEAR(m.origin[1], -0.2263932, 1e-12);
  EXPECT_EQ(m.walls[2].contact, mpm::Contact::coulomb);
  EXPECT_EQ(m.walls[2].friction, 0.2);
  EXPECT_EQ(m.walls[0].contact, mpm::Contact::separate);
  EXPECT_NEAR(m.materials[0].bulk_modulus, 64000, 1e-9);
  ASSERT_EQ(setup.motions.size(), 1U);
  const study::Motion& motion = setup.motions[0];
  EXPECT_EQ(setup.inputs.paths[motion.position[0]].points.size(), 5U);
  EXPECT_NEAR(setup.inputs.paths[motion.angle].points[2], 3.14159265358979 / 6, 1e-14);
  EXPECT_NEAR(m.colliders[0].position[1], 0.25, 1e-15);  // the origin lies below the pivot
  ASSERT_EQ(setup.terms.size(), 2U);
  EXPECT_EQ(setup.terms[0].steps, (std::vector<std::int64_t>{30}));
  EXPECT_EQ(setup.terms[1].steps, (std::vector<std::int64_t>{10, 20, 30}));
  ASSERT_EQ(setup.prices.size(), 2U);
  EXPECT_EQ(setup.prices[0].paths.size(), 4U);
  const std::vector<study::Variable>& variables = study->variables();
  ASSERT_EQ(variables.size(), 2U * 4 + 4 + 3);
  EXPECT_EQ(variables[0].name, "paddle.position[1].x");
  EXPECT_EQ(variables.back().name, "parameters.gravity[2]");
  EXPECT_NEAR(variables[8].upper, 90, 1e-12);  // degrees, as in the file
}

TEST(Particles, FreeBodiesHaveTheMassOfTheirShapes) {
  const std::string ball = R"(
[[bodies]]
name = "ball"
shape = {kind = "sphere", radius = 0.1}
density = 500.0
position = [0.5, 0.6, 0.5]
velocity = [0.0, -1.0, 0.0]
)";
  const study::ParticlesScene s = parse(test::paddle_scene() + ball).scene;
  ASSERT_EQ(s.model.bodies.size(), 1U);
  const mpm::Body& b = s.model.bodies[0];
  const double mass = 500 * 4.0 / 3 * 3.14159265358979 * 1e-3;
  EXPECT_NEAR(b.mass, mass, 2e-3 * mass);
  for (const double i : b.inertia) EXPECT_NEAR(i, 0.4 * mass * 0.01, 4e-5 * mass);
  EXPECT_EQ(b.velocity[1], -1);
  const auto says = [&](const std::string& old, const std::string& fresh) {
    try {
      study_of(with(test::paddle_scene() + ball, old, fresh));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(says("density = 500.0", "").find("density"), std::string::npos);
  EXPECT_NE(
      says("density = 500.0", "density = 500.0\ncontact = \"sticky\"").find("slip, separate or coulomb"),
      std::string::npos);
  EXPECT_NE(says("density = 500.0", "density = 500.0\nfriction = -1.0").find("negative"), std::string::npos);
  EXPECT_NE(
      says("kind = \"sphere\", radius = 0.1}\ndensity", "kind = \"half_space\"}\ndensity").find("no end"),
      std::string::npos);
  EXPECT_NE(says("name = \"ball\"", "name = \"a/b\"").find("must not be empty"), std::string::npos);
}

TEST(Particles, HoldsTheVolumeOfItsShapes) {
  const study::ParticlesScene s = parse(test::paddle_scene()).scene;
  double volume = 0;
  for (const double v : s.model.particles.volume) volume += v;
  EXPECT_NEAR(volume, 4.0 / 3 * 3.14159265 * 0.008, 0.1 * volume);
  for (std::size_t i = 0; i < s.model.particles.x.size(); i += 3)
    EXPECT_LT(std::hypot(s.model.particles.x[i] - 0.5, s.model.particles.x[i + 1] - 0.3,
                         s.model.particles.x[i + 2] - 0.4),
              0.2);
}

TEST(Particles, JitterIsReproducibleAndDependsOnTheSeed) {
  const auto positions = [](const std::string& text) { return parse(text).scene.model.particles.x; };
  const std::string text = test::paddle_scene();
  EXPECT_EQ(positions(text), positions(text));
  EXPECT_NE(positions(text), positions(with(text, "seed = 7", "seed = 8")));
}

TEST(Particles, ChoosesAStepFromTheSpeedOfSound) {
  const Read s = parse(with(test::paddle_scene(), "dt = 0.004", "courant = 0.4"));
  EXPECT_EQ(s.draft.setup.steps, 24);  // 0.12 / (0.4 * 0.1 / 8)
  EXPECT_NEAR(s.scene.model.dt * double(s.draft.setup.steps), 0.12, 1e-15);
}

TEST(Particles, TakesSettingsFromTheCommandLine) {
  const auto changed = [](const std::vector<Setting>& settings) {
    return parse(test::paddle_scene(), settings).scene.model;
  };
  EXPECT_EQ(changed({{"domain.dx", "0.08"}}).dx, 0.08);
  EXPECT_EQ(study_of(test::paddle_scene(), {{"optimize.iterations", "9"}})->optimize()->iterations, 9);
  // Into arrays of tables, by name and by number.
  EXPECT_EQ(changed({{"materials.water.viscosity", "0.7"}}).materials[0].viscosity, 0.7);
  EXPECT_EQ(changed({{"colliders[0].friction", "0.3"}}).colliders[0].friction, 0.3);
  const auto refused = [&](const Setting& setting) {
    try {
      changed({setting});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  costate::test::expect_error(
      [&] {
        return study_of(test::paddle_scene(), {{"nothing.dx", "1"}});
      },
      "unknown key 'nothing'", "there is: title, run");
  EXPECT_NE(refused({"dx", "1"}).find("names nothing"), std::string::npos);
  EXPECT_NE(refused({"materials.watr.viscosity", "1"}).find("did you mean 'water'"), std::string::npos);
  EXPECT_NE(refused({"colliders[3].friction", "1"}).find("an array of 1 elements"), std::string::npos);
}

TEST(Particles, FillsCups) {
  const mpm::Shape cup = mpm::Shape::cup(0.1, 0.2, 0.02);
  EXPECT_TRUE(inside_cup(cup, {0.05, 0.1, 0}, 0.15, 0.005));
  EXPECT_FALSE(inside_cup(cup, {0.05, 0.16, 0}, 0.15, 0.005));  // above the level
  EXPECT_FALSE(inside_cup(cup, {0.15, 0.1, 0}, 0.15, 0.005));   // outside
  EXPECT_FALSE(inside_cup(cup, {0.05, -0.1, 0}, 0.15, 0.005));  // below
  EXPECT_FALSE(inside_cup(cup, {0.088, 0.1, 0}, 0.15, 0.005));  // too close to the wall
  std::string text = with(test::paddle_scene(), "shape = {kind = \"sphere\", radius = 0.15}",
                          "shape = {kind = \"cup\", radius = 0.2, height = 0.2, thickness = 0.16}\n"
                          "leaks = \"allow\"");
  text = with(text, "shape = {kind = \"sphere\", radius = 0.2}\nposition = [0.5, 0.3, 0.4]",
              "inside = \"paddle\"\nlevel = 0.19");
  text = with(text, "particles_per_cell = 8", "particles_per_cell = 64");
  EXPECT_GT(parse(text).scene.model.particles.material.size(), 20U);
}

TEST(Particles, MistakesAreReportedWhereTheyAre) {
  EXPECT_EQ(refusal("dx = 0.1", "dx = -0.1").substr(0, 19), "paddle.toml:5:6: dx");
  EXPECT_NE(refusal("dx = 0.1", "dxx = 0.1").find("paddle.toml:5:1: "), std::string::npos);
  EXPECT_NE(refusal("dx = 0.1", "dxx = 0.1").find("did you mean 'dx'"), std::string::npos);
  EXPECT_NE(refusal("dx = 0.1", "dx = 0.0001").find("2^26 nodes"), std::string::npos);
  EXPECT_NE(refusal("high = [0.8, 0.8, 0.8]", "high = [0.8, 0.8]").find("high must be 3 numbers"),
            std::string::npos);
  EXPECT_NE(refusal("duration = 0.12", "duration = 1e9").find("ten million"), std::string::npos);
  EXPECT_NE(refusal("duration = 0.12\ndt = 0.004", "duration = 1e-320").find("shorter than 1e-30"),
            std::string::npos);
  EXPECT_NE(refusal("kind = \"liquid\"", "kind = \"liquit\"").find("did you mean 'liquid'"),
            std::string::npos);
  EXPECT_NE(refusal("viscosity = 0.5", "E = 0.5").find("a material of kind liquid"), std::string::npos);
  EXPECT_NE(refusal("radius = 0.15", "radius = 0").find("greater than zero"), std::string::npos);
  EXPECT_NE(refusal("kind = \"sphere\", radius = 0.15", "kind = \"sphere\"").find("has no 'radius'"),
            std::string::npos);
  EXPECT_NE(refusal("material = \"water\"", "material = \"wine\"").find("no material 'wine'"),
            std::string::npos);
  EXPECT_NE(refusal("angle_deg = [0.0, 10.0, 30.0, 40.0]", "angle_deg = [0.0]").find("4 to 1000"),
            std::string::npos);
  EXPECT_NE(refusal("axis = [0.0, 0.0, 1.0]", "axis = [0.0, 0.0, 0.0]").find("no direction"),
            std::string::npos);
  EXPECT_NE(refusal("kind = \"in_region\"", "kind = \"in_regoin\"").find("did you mean 'in_region'"),
            std::string::npos);
  EXPECT_NE(refusal("from = 0.04", "from = 4").find("not between 0 and the duration"), std::string::npos);
  EXPECT_NE(refusal("of = \"paddle\"", "of = \"puddle\"").find("no motion or control 'puddle'"),
            std::string::npos);
  EXPECT_NE(refusal("name = \"paddle.angle\"", "name = \"paddle.angel\"").find("did you mean 'paddle.angle'"),
            std::string::npos);
  EXPECT_NE(refusal("name = \"parameters.gravity\"", "name = \"parameters.gravitas\"")
                .find("did you mean 'parameters.gravity'"),
            std::string::npos);
  EXPECT_NE(refusal("upper = 90.0", "upper = 20.0").find("outside its bounds"), std::string::npos);
  EXPECT_NE(refusal("fixed_first = 1", "fixed_first = 5").find("all control points are fixed"),
            std::string::npos);
  EXPECT_NE(refusal("radius = 0.2}\nposition = [0.5, 0.3, 0.4]", "radius = 0.2}\nposition = [5, 5, 5]")
                .find("not one particle"),
            std::string::npos);
}

TEST(Particles, WithAnyBytesChangedIsReadOrRefusedButNeverBreaks) {
  const costate::test::AllowFloatExceptions
      allow;  // numbers of any size are converted on the way to the message
  const std::string good = test::paddle_scene();
  int refused = 0;
  for (std::uint32_t trial = 0; trial < 250; ++trial) {
    std::string bad = good;
    for (std::uint32_t k = 0; k < 1 + trial % 3; ++k) {
      const std::size_t at = std::size_t(uniform<double>(5, trial, k, 0) * double(good.size()));
      const std::string letters = "0123456789.-e[]{}\"=,\n#xyz\xff";
      bad[at] = letters[std::size_t(uniform<double>(5, trial, k, 1) * double(letters.size()))];
    }
    try {
      study_of(bad);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 250);
}

TEST(Particles, NeedsItsTables) {
  costate::test::expect_error([&] { return study_of(""); }, "there is no table that says what this is about");
  costate::test::expect_error(
      [&] { return study_of("[domain]\nhigh = [1, 1, 1]\ndx = 0.1\n[run]\nduration = 1\n"); },
      "there is no material");
}

}  // namespace
}  // namespace costate::io

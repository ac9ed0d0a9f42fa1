// Flow as a section: gradients checked, pictures made, and mistakes told at their place.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/expect_error.h"
#include "tests/io/scene/studies.h"

namespace costate::io {
namespace {

using costate::test::expect_error;

void expect_right(const std::string& text) {
  SCOPED_TRACE(text);
  const auto study = parse_study(text, "f.toml", {.for_check = true});
  for (const check::Result& r : study::check_gradient(*study))
    EXPECT_TRUE(r.passed()) << r.name << " " << r.error << " above " << r.gate << " " << r.detail;
  std::vector<double> gradient(study->variables().size());
  study->value_and_gradient(study->start(), gradient.data());
  double largest = 0;
  for (const double g : gradient) largest = std::max(largest, std::abs(g));
  EXPECT_GT(largest, 1e-10);
}

const std::string kChannel =
    "[run]\nduration = 0.2\ndt = 0.02\n"
    "[flow]\ncells = [16, 9]\nwidth = 0.1\nviscosity = \"0.02 + 0.01*y\"\nforce = [0.1, 0.0]\n"
    "sides = {west = {velocity = [\"y*(0.9 - y)\", 0.0]}, east = \"outflow\", south = \"wall\", north = "
    "\"slip\"}\n";

TEST(FlowSection, ShapesSidesAndHeatHaveARightGradient) {
  expect_right(
      kChannel +
      "[[obstacles]]\nname = \"leaf\"\nshape = \"ellipsoid\"\ncenter = [0.6, 0.4]\nsize = [0.25, 0.2]\n"
      "[[scalars]]\nname = \"T\"\ndiffusivity = 0.02\nbuoyancy = [0.0, 1.0]\nsource = \"x*y\"\n"
      "sides = {south = 1.0}\n[start]\nu = \"y*(0.9 - y)\"\nT = 0.1\n"
      "[[loss]]\nkind = \"position\"\nof = \"leaf/force/0\"\ntarget = 0.5\n"
      "[[loss]]\nkind = \"position\"\nof = \"T/40\"\ntarget = 1.0\n"
      "[optimize]\nvariables = [\"parameters.leaf/size\", \"parameters.T/south\", \"parameters.west/u\"]\n");
}

TEST(FlowSection, AModelSwimsAndIsDrawnWhereItIs) {
  const std::string fish = COSTATE_SOURCE "/scenes/fish.toml";
  const auto checked = load_study(fish, {.for_check = true, .most_steps = 4});
  for (const check::Result& r : study::check_gradient(*checked))
    EXPECT_TRUE(r.passed()) << r.name << " " << r.error << " above " << r.gate << " " << r.detail;
  const auto study = load_study(fish, {.settings = {{"run.duration", "0.4"}}});
  const Recording r = study->run(study->start()).recording;
  ASSERT_EQ(r.bodies.size(), 2U);
  EXPECT_NEAR(r.bodies[0].poses.front()[0], 1.0, 1e-6);         // its head,
  EXPECT_NEAR(r.bodies[1].poses.front()[0], 1.2 + 0.24, 1e-6);  // and the middle of its tail,
  EXPECT_GT(std::abs(r.bodies[1].poses.back()[6]), 0.01);       // which bends
}

TEST(FlowSection, LimitedFluxesAndTracersHaveARightGradient) {
  expect_right(kChannel.substr(0, kChannel.find("[flow]\n") + 7) + "limited = true\n" +
               kChannel.substr(kChannel.find("[flow]\n") + 7) +
               "[[scalars]]\nname = \"T\"\ncarried = \"limited\"\nsides = {west = 1.0}\n"
               "[[tracers]]\nname = \"dye\"\nfrom = [0.22, 0.21]\nto = [0.43, 0.52]\ncount = [3, 2]\n"
               "[[tracers]]\nname = \"seed\"\nplaces = [[0.31, 0.4]]\n"
               "[start]\nu = \"y*(0.9 - y) + 0.02*x\"\nv = \"0.01 + 0.02*x*y\"\nT = \"x*y + 0.3*x\"\n"
               "[[loss]]\nkind = \"position\"\nof = \"dye/mean\"\ntarget = [0.9, 0.3]\n"
               "[[loss]]\nkind = \"position\"\nof = \"seed/0\"\ntarget = [0.4, 0.3]\n"
               "[[loss]]\nkind = \"position\"\nof = \"T/40\"\ntarget = 1.0\n"
               "[optimize]\nvariables = [\"parameters.west/u\", \"parameters.T/west\"]\n");
}

TEST(FlowSection, ProbesDissipationAndMixNormsHaveARightGradient) {
  expect_right(
      "[run]\nduration = 0.2\ndt = 0.02\n"
      "[flow]\ncells = [12, 9]\nwidth = 0.1\nviscosity = 0.02\ndissipation = true\npressure = true\n"
      "sides = {south = \"wall\", north = {velocity = [1.0, 0.0]}}\n"
      "[[scalars]]\nname = \"T\"\ndiffusivity = 0.02\nbuoyancy = [0.0, 1.0]\nmix_norm = true\n"
      "[[probes]]\nname = \"low\"\nplace = [0.32, 0.2]\n"
      "[[probes]]\nname = \"drop\"\nplace = [0.32, 0.2]\nminus = [0.9, 0.81]\n"
      "[start]\nu = \"y\"\nT = \"y*y + 0.2*x\"\n"
      "[[loss]]\nkind = \"position\"\nof = \"low/velocity/0\"\ntarget = 0.5\n"
      "[[loss]]\nkind = \"position\"\nof = \"drop/p\"\ntarget = 0.5\n"
      "[[loss]]\nkind = \"position\"\nof = \"dissipation\"\ntarget = 0.0\n"
      "[[loss]]\nkind = \"position\"\nof = \"T/mix_norm_squared\"\ntarget = 0.0\n"
      "[optimize]\nvariables = [\"parameters.north/u\", \"parameters.T/buoyancy\"]\n");
}

TEST(FlowSection, ThreeDimensionsAndADrivenSpinHaveARightGradient) {
  expect_right(
      "[run]\nduration = 0.1\ndt = 0.02\n[flow]\ncells = [6, 8, 5]\nwidth = [0.1, 0.1, 0.2]\nshow = "
      "\"vorticity\"\n"
      "viscosity = 0.02\n[start]\nu = \"0.3*sin(7.8*y)\"\nw = 0.1\n"
      "[[obstacles]]\nname = \"ball\"\ncenter = [0.3, 0.4, 0.5]\nsize = 0.31\ndriven = true\n"
      "[controls]\nball_spin_z = {count = 2, value = 1.0}\n"
      "[[loss]]\nkind = \"position\"\nof = \"ball/force/1\"\ntarget = 0.5\n"
      "[optimize]\nvariables = [\"controls.ball_spin_z\"]\n");
}

TEST(FlowSection, AVolumeIsDrawnInLayersAndTracersAsParticles) {
  const auto study = parse_study(
      "[run]\nduration = 0.2\ndt = 0.1\n"
      "[flow]\ncells = [6, 5, 20]\nwidth = 0.5\nviscosity = 0.1\nshow = \"smoke, volume\"\n"
      "sides = {west = \"wall\", east = \"wall\"}\n"
      "[[scalars]]\nname = \"smoke\"\n[start]\nsmoke = \"x + 10*y + 100*z\"\n"
      "[[tracers]]\nname = \"dye\"\nplaces = [[1.0, 2.6, 9.0], [0.3, 0.4, 0.5]]\n",
      "f.toml", {});
  const Recording r = study->run(study->start()).recording;
  check_recording(r, "volume");
  // Layers of 6, 5 and at most 12, then three slices of each other field.
  ASSERT_EQ(r.images.size(), 6U + 5 + 12 + 3 * 3);
  for (std::size_t i = 0; i < 23; ++i) EXPECT_EQ(r.images[i].name, "smoke, volume");
  // Number (2, 1) of the layer across x at cell 4, in the first frame: y = 1.25, z = 0.75.
  EXPECT_NEAR(r.images[4].values[1 * 5 + 2], 2.25 + 12.5 + 75, 1e-4);
  // The fifth of 12 layers of 20 cells along z: cell 7.
  EXPECT_NEAR(r.images[11 + 4].values[0], 0.25 + 2.5 + 375, 1e-4);
  ASSERT_EQ(r.particles.material.size(), 2U);
  EXPECT_NEAR(r.particles.positions[1], 2.6 - 2.5, 1e-6);  // within the box
  EXPECT_EQ(r.materials[0].name, "dye");
}

TEST(FlowSection, AStretchedGridHasARightGradientAndPixelsOfOneSize) {
  const std::string text =
      "[run]\nduration = 0.2\ndt = 0.02\n"
      "[flow]\ncells = [16, 9]\nwidth = [[[0, 2], [0.5, 1], [1.5, 3]], [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, "
      "0.1, 0.2]]\n"
      "viscosity = 0.02\nshow = \"T\"\n"
      "sides = {west = {velocity = [\"y*(1 - y)\", 0.0]}, east = \"outflow\", south = \"wall\", north = "
      "\"slip\"}\n"
      "[[obstacles]]\nname = \"disc\"\ncenter = [0.6, 0.4]\nsize = 0.2\n"
      "[[scalars]]\nname = \"T\"\nbuoyancy = [0.0, 1.0]\n"
      "[start]\nu = \"y*(1 - y)\"\nT = \"x + 10*y\"\n";
  expect_right(text +
               "[[loss]]\nkind = \"position\"\nof = \"disc/force/0\"\ntarget = 0.5\n"
               "[optimize]\nvariables = [\"parameters.disc/size\", \"parameters.west/u\"]\n");
  const auto study = parse_study(text, "f.toml", {});
  const Recording r = study->run(study->start()).recording;
  ASSERT_EQ(r.images[0].rows, 10U);
  ASSERT_GT(r.images[0].columns, 16U);
  // T of the cell that the middle of a pixel lies in; the uppermost cell is as high as two pixels.
  const auto at = [&](std::size_t column, std::size_t row) {
    return r.images[0].values[row * r.images[0].columns + column];
  };
  EXPECT_NEAR(at(0, 1) - at(0, 0), 1, 1e-5);
  EXPECT_NEAR(at(0, 8) - at(0, 7), 1.5, 1e-5);
  EXPECT_EQ(at(0, 9), at(0, 8));
  for (std::size_t i = 0; i < r.images[0].columns; ++i) {
    const double middle = 1.5 * (double(i) + 0.5) / r.images[0].columns;
    EXPECT_NEAR(at(i, 0) - 0.5, middle, 0.09) << i;  // within half of the widest cell
  }
}

TEST(FlowSection, ReactionsHaveARightGradient) {
  const std::string text =
      kChannel +
      "[[scalars]]\nname = \"A\"\n[[scalars]]\nname = \"B\"\n[start]\nA = \"x\"\nB = 0.5\n"
      "[[reactions]]\nname = \"burning\"\nrate = 2.0\ntakes = {A = 1, B = 2}\nmakes = {B = 3}\n"
      "[[loss]]\nkind = \"position\"\nof = \"A/40\"\ntarget = 0.1\n"
      "[optimize]\nvariables = [\"parameters.burning/rate\"]\n";
  expect_right(text);
  std::string wrong = text;
  wrong.replace(wrong.find("{A = 1"), 6, "{C = 1");
  expect_error([&] { parse_study(wrong, "f.toml"); }, "there is no scalar 'C'", "add it to [[scalars]]");
}

TEST(FlowSection, MistakesHaveTheirPlace) {
  const auto open = [](const std::string& text) { return [text] { return parse_study(text, "f.toml"); }; };
  expect_error(open("[flow]\ncells = [8]\nwidth = 0.1\n"), "f.toml:2:9: cells are two or three numbers");
  expect_error(open("[flow]\ncells = [4096, 4096, 4096]\nwidth = 0.1\n"),
               "f.toml:2:9: a flow in a file has at most");
  expect_error(open("[flow]\ncells = [8, 8]\n"), "[flow]", "width = 0.01");
  expect_error(open("[flow]\ncells = [8, 8]\nwidth = [0.1]\n"),
               "f.toml:3:9: the width of a cell is one number");
  expect_error(open("[flow]\ncells = [8, 8]\nwidth = [[[0, 1], [0, 2]], 0.1]\n"),
               "f.toml:3:10: at the place 0", "write pairs");
  expect_error(open("[flow]\ncells = [8, 8]\nwidth = [[0.1, 0.1], 0.1]\n"), "an axis of 8 cells has 2 widths",
               "one width per cell");
  expect_error(open("[flow]\ncells = [8, 8]\nwidth = 0.1\nsides = {west = \"wal\"}\n"),
               "f.toml:4:17: there is no kind of side 'wal'", "outflow");
  expect_error(open("[flow]\ncells = [8, 8]\nwidth = 0.1\nsides = {top = \"wall\"}\n"),
               "there is no side 'top'", "west, east, south, north");
  expect_error(open("[flow]\ncells = [8, 8]\nwidth = 0.1\nsides = {west = \"wall\"}\n"),
               "east is periodic and west is not", "make both periodic");
  expect_error(open("[flow]\ncells = [8, 8]\nwidth = 0.1\nshow = \"heat\"\n"),
               "f.toml:4:8: there is no 'heat' to show", "vorticity");
  expect_error(open(kChannel + "[start]\nu = \"q\"\n"), "unknown name 'q'");
  expect_error(open(kChannel + "[[obstacles]]\nname = \"dot\"\ncenter = [0.5, 0.5]\nsize = 0.01\n"),
               "'dot' is thinner than the mask", "three cells thick");
  expect_error(open(kChannel + "[[obstacles]]\nname = \"dot\"\nshape = \"cube\"\n"),
               "there is no shape 'cube'", "ball");
}

}  // namespace
}  // namespace costate::io

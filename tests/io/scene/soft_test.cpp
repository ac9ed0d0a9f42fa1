// Soft bodies as a section: gradients checked, pictures made, and mistakes told at their place.
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/io/scene/studies.h"

namespace costate::io {
namespace {

using costate::test::expect_error;

const std::string kCloth =
    "[soft]\ntolerance = 1e-12\nwind = [1.0, 2.0, 0.0]\nwind_drag = 0.2\n"
    "[[materials]]\nname = \"cotton\"\nlaw = \"stvk\"\nE = 1e4\ndensity = 0.2\nbending = 1e-5\n"
    "[[parts]]\nname = \"flag\"\nshape = \"cloth\"\nplane = \"xz\"\nsize = [0.3, 0.2]\ncount = [3, 2]\n"
    "[run]\nduration = 0.1\ndt = 0.02\n";

TEST(SoftSection, ADrivenClothHasARightGradientAndAPicture) {
  const auto study =
      parse_study(kCloth +
                      "[[holds]]\nname = \"pole\"\nhigh = [0.0, 1.0, 1.0]\ndriven = true\n"
                      "[controls]\npole_x = {count = 2, value = 0.1}\n"
                      "[[obstacles]]\nname = \"floor\"\nplace = [0.0, 0.0, -0.015]\nfriction = 0.2\n"
                      "[contact]\ndistance = 0.02\nstiffness = 100.0\n"
                      "[[loss]]\nkind = \"position\"\nof = \"part/flag/3\"\ntarget = [0.3, 0.1, 0.0]\n"
                      "[optimize]\nvariables = [\"controls.pole_x\", \"parameters.material/cotton/E\", "
                      "\"parameters.obstacle/floor/friction\"]\n",
                  "f.toml", {.for_check = true});
  for (const check::Result& r : study::check_gradient(*study))
    EXPECT_TRUE(r.passed()) << r.name << " " << r.error << " above " << r.gate << " " << r.detail;
  const Recording film = study->run(study->start()).recording;
  ASSERT_EQ(film.meshes.size(), 1U);
  EXPECT_EQ(film.meshes[0].triangles.size(), 3U * 12);
  EXPECT_EQ(film.meshes[0].vertices.size(), std::size_t(film.frames) * 12 * 3);
}

TEST(SoftSection, ARodHasARightGradientAndAPicture) {
  const std::string head =
      "[soft]\ntolerance = 1e-12\n"
      "[[materials]]\nname = \"wire\"\nlaw = \"rod\"\nE = 1e6\na = 0.004\nb = 0.002\ndensity = 0.05\n"
      "[run]\nduration = 0.1\ndt = 0.02\n";
  const auto study = parse_study(
      head +
          "[[parts]]\nname = \"wire\"\nshape = \"rod\"\nsize = 0.2\ncount = 4\nalong = [0.6, 0.8, 0.0]\n"
          "[[holds]]\nname = \"wall\"\nvertices = [0, 1, 5]\nturns = true\n"
          "[controls]\nwall_spin_y = {count = 2, value = 1.0}\n"
          "[[loss]]\nkind = \"position\"\nof = \"part/wire/4\"\ntarget = [0.1, 0.1, 0.0]\n"
          "[optimize]\nvariables = [\"controls.wall_spin_y\", \"parameters.material/wire/E\", "
          "\"parameters.material/wire/a\"]\n",
      "f.toml", {.for_check = true});
  for (const check::Result& r : study::check_gradient(*study))
    EXPECT_TRUE(r.passed()) << r.name << " " << r.error << " above " << r.gate << " " << r.detail;
  const Recording film = study->run(study->start()).recording;
  ASSERT_EQ(film.meshes.size(), 1U);
  EXPECT_EQ(film.meshes[0].triangles.size(), 3U * 4);  // a ribbon
  expect_error([&] { return parse_study(head + "[[parts]]\nname = \"wire\"\nshape = \"rod\"\n", "f.toml"); },
               "this rod", "add size");
  expect_error(
      [&] {
        return parse_study(
            head + "[[parts]]\nname = \"wire\"\nshape = \"rod\"\npoints = [[0, 0, 0], [0, 0, 1]]\n",
            "f.toml");
      },
      "no direction", "not along the rod");
}

TEST(SoftSection, MusclesPressuresAndObstaclesAreDriven) {
  const auto study = parse_study(
      "[soft]\ntolerance = 1e-12\n"
      "[[materials]]\nname = \"flesh\"\nE = 2e4\n"
      "[[materials]]\nname = \"muscle\"\nlaw = \"muscle\"\nstiffness = 1e4\ndriven = \"contraction\"\n"
      "density = 0.0\n"
      "[[materials]]\nname = \"skin\"\nlaw = \"stvk\"\nE = 1e5\ndensity = 0.3\nbending = 1e-4\n"
      "[[parts]]\nname = \"block\"\nshape = \"block\"\nsize = [0.1, 0.1, 0.1]\ncount = [1, 1, 1]\n"
      "material = \"flesh\"\n"
      "[[parts]]\nname = \"pull\"\nover = \"block\"\nmaterial = \"muscle\"\n"
      "[[parts]]\nname = \"balloon\"\nshape = \"ball\"\nradius = 0.05\ncount = 1\n"
      "origin = [0.05, 0.05, 0.155]\nmaterial = \"skin\"\npressure = 50.0\npressure_driven = true\n"
      "[[parts]]\nname = \"wall\"\nobstacle = true\ndriven = true\nturns = true\nplane = \"yz\"\n"
      "size = [0.2, 0.2]\ncount = [1, 1]\norigin = [0.104, -0.05, 0.0]\n"
      "[[holds]]\nname = \"feet\"\npart = \"block\"\nhigh = [1.0, 1.0, 0.0]\n"
      "[contact]\nself = true\ndistance = 0.003\nstiffness = 1e4\nfriction = 0.3\n"
      "[controls]\nmuscle_contraction = {count = 2, value = 0.1}\nballoon_pressure = {count = 2, value = "
      "9.0}\n"
      "wall_x = {count = 2, value = -0.03}\nwall_spin_z = {count = 2, value = 0.1}\n"
      "[run]\nsteps = 6\ndt = 0.01\n"
      "[[loss]]\nkind = \"position\"\nof = \"part/balloon/0\"\ntarget = [0.1, 0.1, 0.1]\n"
      "[[loss]]\nkind = \"position\"\nof = \"part/block/7\"\ntarget = [0.1, 0.1, 0.1]\n"
      "[optimize]\nvariables = [\"controls.muscle_contraction\", \"controls.balloon_pressure\", "
      "\"controls.wall_x\", \"controls.wall_spin_z\", \"parameters.part/balloon/pressure\"]\n",
      "f.toml", {.for_check = true});
  for (const check::Result& r : study::check_gradient(*study))
    EXPECT_TRUE(r.passed()) << r.name << " " << r.error << " above " << r.gate << " " << r.detail;
}

TEST(SoftSection, MistakesAreToldAtTheirPlace) {
  const auto open = [](const std::string& text) { return [text] { return parse_study(text, "f.toml"); }; };
  expect_error(open("[soft]\n"), "there are no materials", "[[materials]]");
  expect_error(open(kCloth + "[[holds]]\nname = \"h\"\nlow = [5.0, 0.0, 0.0]\n"), "has no vertices",
               "low and high");
  expect_error(open(kCloth + "[[holds]]\nname = \"h\"\nvertices = [99]\n"), "no vertex 99", "from 0 to 11");
  expect_error(open(kCloth + "[[obstacles]]\nname = \"o\"\nshape = \"bal\"\n"), "unknown shape 'bal'",
               "ball");
  expect_error(open(kCloth + "[[parts]]\nname = \"m\"\nover = \"flg\"\nmaterial = \"cotton\"\n"),
               "there is no part 'flg'", "flag");
  expect_error(open(kCloth + "[[parts]]\nname = \"m\"\nsize = [1.0, 1.0]\ncount = [1, 1]\ndriven = true\n"),
               "driven, turns and body are keys of obstacles", "obstacle = true");
  expect_error(open(kCloth + "[[parts]]\nname = \"m\"\nfile = \"none.obj\"\n"),
               "none.obj: there is no such file");
  expect_error(open(kCloth + "[contact]\nself = true\ndistance = 0.2\n"), "apart at rest",
               "contact distance below");
  expect_error(open(kCloth + "[[parts]]\nname = \"m\"\nover = \"flag\"\nmaterial = \"cotton\"\nlow = [9.0, "
                             "0.0, 0.0]\n"),
               "no cell of this part has its middle between low and high");
  const std::string cubes = kCloth + "[[parts]]\nname = \"m\"\nshape = \"voxels\"\nsize = 0.1\n";
  expect_error(open(cubes), "boxes", "add boxes = [[0, 0, 0, 2, 2, 8]]");
  expect_error(open(cubes + "boxes = [[0, 0, 0, 2]]\n"), "a box is six numbers", "");
  expect_error(open(cubes + "boxes = [[0, 0, 0.5, 1, 1, 1]]\n"), "whole numbers, not 0.5", "");
  expect_error(open(cubes + "boxes = [[0, 0, 0, 999, 999, 999]]\n"), "more than 1e+06 cubes", "larger cubes");
  expect_error(open(cubes + "boxes = [[0, 0, 0, 0, 1, 1]]\n"), "one or more", "");
  expect_error(open(kCloth + "[[parts]]\nname = \"m\"\nshape = \"ring\"\nradius = 0.1\ndepth = 0.3\n"
                             "count = [8, 2]\n"),
               "more than half its thickness", "");
}

}  // namespace
}  // namespace costate::io

// The questions that other simulators of soft bodies are known for, as files of scenes/: each has a gradient
// through its contact, which says where the loss falls, and a film.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/io/scene/studies.h"

namespace costate::io {
namespace {

struct Asked {
  const char* name;
  const char* duration;  // of the test, s: until surfaces have met
};
class SoftScenes : public testing::TestWithParam<Asked> {};

TEST_P(SoftScenes, HaveAGradientThroughContactAndAFilm) {
  const std::string file = std::string(COSTATE_SOURCE "/scenes/") + GetParam().name + ".toml";
  const auto study =
      load_study(file, {.settings = {{"run.duration", GetParam().duration}}, .for_check = true});
  const std::vector<double> z = study->start();
  std::vector<double> g(z.size()), moved = z;
  study->value_and_gradient(z, g.data());
  double size = 0;
  for (const double d : g) size += d * d;
  ASSERT_GT(size, 0);
  // Along the gradient: a central difference of fourth order, of the steps and nothing else.
  const auto at = [&](double h) {
    for (std::size_t i = 0; i < z.size(); ++i) moved[i] = z[i] + h * g[i] / std::sqrt(size);
    return study->value(moved);
  };
  const double h = 2e-4, slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
  EXPECT_NEAR(slope, std::sqrt(size), 1e-5 * std::sqrt(size));
  // What touches feels where barriers begin.
  const auto by_distance =
      load_study(file, {.settings = {{"run.duration", GetParam().duration},
                                     {"optimize.variables", "[\"parameters.contact/distance\"]"}}});
  double slope_by_distance = 0;
  by_distance->value_and_gradient(by_distance->start(), &slope_by_distance);
  EXPECT_NE(slope_by_distance, 0);
  const Recording film = study->run(z).recording;
  EXPECT_GE(film.meshes.size(), 1U);
  EXPECT_GT(film.frames, 3);
}

INSTANTIATE_TEST_SUITE_P(, SoftScenes,
                         testing::Values(Asked{"cloth_on_ball", "0.1"}, Asked{"slope", "0.16"},
                                         Asked{"hat", "0.4"}, Asked{"sock", "0.3"}, Asked{"dress", "0.2"},
                                         Asked{"napkin", "0.1"}, Asked{"trampoline", "0.1"},
                                         Asked{"dominoes", "0.2"}, Asked{"bounce", "0.13"},
                                         Asked{"rolling_ball", "0.06"}),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace costate::io

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
  double step = 2e-4;    // of differences; a sheet that creases has corners within that
};
std::string file_of(const Asked& asked) {
  return std::string(COSTATE_SOURCE "/scenes/") + asked.name + ".toml";
}

// Along the gradient: a central difference of fourth order, of the steps and nothing else. Then the film.
void expect_slope(const Asked& asked, Recording& film) {
  const auto study =
      load_study(file_of(asked), {.settings = {{"run.duration", asked.duration}}, .for_check = true});
  const std::vector<double> z = study->start();
  std::vector<double> g(z.size()), moved = z;
  study->value_and_gradient(z, g.data());
  double size = 0;
  for (const double d : g) size += d * d;
  ASSERT_GT(size, 0);
  const auto at = [&](double h) {
    for (std::size_t i = 0; i < z.size(); ++i) moved[i] = z[i] + h * g[i] / std::sqrt(size);
    return study->value(moved);
  };
  const double h = asked.step, slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
  EXPECT_NEAR(slope, std::sqrt(size), 1e-5 * std::sqrt(size));
  film = study->run(z).recording;
  EXPECT_GT(film.frames, 3);
}

class SoftScenes : public testing::TestWithParam<Asked> {};
TEST_P(SoftScenes, HaveAGradientThroughContactAndAFilm) {
  Recording film;
  expect_slope(GetParam(), film);
  EXPECT_GE(film.meshes.size(), 1U);
  // What touches feels where barriers begin.
  const auto by_distance = load_study(
      file_of(GetParam()), {.settings = {{"run.duration", GetParam().duration},
                                         {"optimize.variables", "[\"parameters.contact/distance\"]"}}});
  double slope = 0;
  by_distance->value_and_gradient(by_distance->start(), &slope);
  EXPECT_NE(slope, 0);
}

class FreeSoftScenes : public testing::TestWithParam<Asked> {};
TEST_P(FreeSoftScenes, HaveAGradientAndAFilm) {
  Recording film;
  expect_slope(GetParam(), film);
}
INSTANTIATE_TEST_SUITE_P(, FreeSoftScenes,
                         testing::Values(Asked{"tendon", "0.08"}, Asked{"plant", "0.08"},
                                         Asked{"cage", "0.5"}),
                         [](const auto& of) { return std::string(of.param.name); });

INSTANTIATE_TEST_SUITE_P(, SoftScenes,
                         testing::Values(Asked{"cloth_on_ball", "0.1"}, Asked{"slope", "0.16"},
                                         Asked{"hat", "0.4"}, Asked{"sock", "0.3"}, Asked{"dress", "0.2"},
                                         Asked{"napkin", "0.1"}, Asked{"trampoline", "0.1"},
                                         Asked{"dominoes", "0.2"}, Asked{"bounce", "0.13"},
                                         Asked{"rolling_ball", "0.06"}, Asked{"torus", "0.06"},
                                         Asked{"bear", "0.12"}, Asked{"springback", "0.16", 2e-6}),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace costate::io

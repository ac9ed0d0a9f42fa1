// Random shapes near each other.
#pragma once

#include "tests/geometry/pair_check.h"

namespace costate::geometry::test {

inline Shape<double> random_shape(std::mt19937& rng, double extent = 0.25) {
  Shape<double> s;
  s.x = {uniform(rng, -extent, extent), uniform(rng, -extent, extent), uniform(rng, -extent, extent)};
  s.R = random_rotation(rng);
  for (double& size : s.size) size = uniform(rng, 0.15, 0.4);
  return s;
}

// Two shapes whose centres are up to `extent` apart, in each coordinate.
inline Sampler near_each_other(ShapeType first, ShapeType second, double extent = 0.3) {
  return [=](std::mt19937& rng) {
    Scene scene{{first, second}, {random_shape(rng, 0), random_shape(rng, extent)}, 0.05};
    scene.shapes[0].x = {0.3, -0.2, 0.5};
    scene.shapes[1].x += scene.shapes[0].x;
    return scene;
  };
}

}  // namespace costate::geometry::test

// What of soft bodies is drawn, as the meshes and balls of meshes_picture.h.
// Tests: tests/io/scene/soft_test.cpp.
#pragma once

#include <vector>

#include "costate/io/scene/sections/meshes_picture.h"
#include "costate/soft/mesh/surface.h"
#include "costate/soft/soft_model.h"

namespace costate::io {

// A rod is drawn as a ribbon of triangles to its frame points, which shows how it is twisted.
inline std::vector<int> drawn(const soft::Part& part) {
  return part.cells == soft::Cells::rods ? part.vertices : soft::surface_of(part);
}

inline std::vector<DrawnBall> balls(const soft::SoftModel& m) {
  std::vector<DrawnBall> all;
  for (const soft::Obstacle& o : m.obstacles)
    if (o.shape == soft::Obstacle::Shape::ball) all.push_back({o.name, o.place, o.radius});
  return all;
}

}  // namespace costate::io

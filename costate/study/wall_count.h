// WallCount: which particles have passed through a wall. Liquid that leaks out of a cup looks like liquid
// that was spilled, and a loss takes it for that.
//
// A particle that is inside a collider at one look (phi < 0) and at the next has the normal of the other side
// has crossed the middle of the wall; if it comes out there, it has passed through. Looks are a few steps
// apart, so that a particle moves less than two cells. Tests: tests/io/scene/particles_study_test.cpp.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "costate/mpm/model.h"

namespace costate::study {

class WallCount {
 public:
  explicit WallCount(const mpm::Model& model);

  // Positions of all particles, and the pose of one collider at that time.
  void look(std::size_t collider, const std::array<double, 3>& position,
            const std::array<double, 3>& rotation, const double* x);
  // "12 of 409 particles have passed through the wall of 'cup' ...", one for each collider that leaks.
  std::vector<std::string> notes() const;

 private:
  struct Seen {
    std::array<float, 3> at = {}, normal = {};  // in the coordinates of the shape
    bool inside = false, crossed = false, passed = false;
  };
  const mpm::Model& model_;
  std::vector<std::vector<Seen>> seen_;  // of each collider, of each particle
};

}  // namespace costate::study

// Filling space with particles: a lattice, optionally jittered, cut out by a predicate.
//
// Lattice points are numbered, and the jitter of point i is drawn by Philox from (seed, i): where a particle
// lies does not depend on what else is filled. Tests: tests/io/scene/particles_test.cpp.
#pragma once

#include <functional>

#include "costate/mpm/model.h"

namespace costate::io {

struct Fill {
  mpm::Vector low = {}, high = {};  // box that holds the shape
  std::function<bool(const mpm::Vector&)> inside;
  double spacing = 0.01;
  double jitter = 0;  // fraction of the spacing, 0 to 1: at most half of that in either direction
  std::uint64_t seed = 0;
  int material = 0;
  mpm::Vector velocity = {0, 0, 0};
};

// Adds the particles to the model, each with volume spacing^dimension; returns how many.
std::int64_t add_particles(mpm::Model& model, const Fill& fill);

// Whether a point (in the coordinates of the cup) lies in the hollow of a cup: above its bottom, below
// `level`, within its wall, and at least `gap` away from the wall.
bool inside_cup(const mpm::Shape& cup, const mpm::Vector& x, double level, double gap);

}  // namespace costate::io

// Does a shape meet the grid at all? One that does not touches no particle, and is a mistake in a scene.
//
// Tests: tests/mpm/shape_test.cpp.
#pragma once

#include "costate/mpm/model.h"

namespace costate::mpm {

// Whether a node of the grid lies in the shape or nearer than `band` cells to it. `rotation` is a rotation
// vector.
bool meets_grid(const Model& model, const Shape& shape, const Vector& position, const Vector& rotation,
                double band);

}  // namespace costate::mpm

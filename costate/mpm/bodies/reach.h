// Nodes of the grid about a body. A shape that none of them lies near touches no particle: a mistake in a
// scene.
//
// Tests: tests/mpm/shape_test.cpp.
#pragma once

#include "costate/mpm/bodies/collider.h"
#include "costate/mpm/model.h"

namespace costate::mpm {

// look(l, phi) with each node of the grid: where it is in the frame of a body, and its distance to the shape.
// Ends at the first for which it is true, and says whether there was one.
template <class F>
bool any_node(const Model& model, const Shape& shape, const Vector& position, const Vector& rotation,
              const F& look) {
  const int D = model.dimension;
  const Vec3<double> c{position[0], position[1], position[2]};
  const Mat3<double> R = rotation_matrix(Vec3<double>{rotation[0], rotation[1], rotation[2]});
  for (int i = 0; i < model.nodes[0]; ++i) {
    for (int j = 0; j < model.nodes[1]; ++j) {
      for (int k = 0; k < (D == 3 ? model.nodes[2] : 1); ++k) {
        const Vec3<double> X{model.origin[0] + i * model.dx, model.origin[1] + j * model.dx,
                             D == 3 ? model.origin[2] + k * model.dx : 0};
        const Vec3<double> l = transpose_times(R, X - c);
        const double x[3] = {l.x, l.y, l.z};
        if (look(l, distance(shape, x, D))) return true;
      }
    }
  }
  return false;
}

// Whether a node of the grid lies in the shape or nearer than `band` cells to it. `rotation` is a rotation
// vector.
bool meets_grid(const Model& model, const Shape& shape, const Vector& position, const Vector& rotation,
                double band);

}  // namespace costate::mpm

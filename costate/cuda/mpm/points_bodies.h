// Shapes and colliders where the threads of a device can read them: mpm::Shape and mpm::Collider with
// pointers instead of containers. shape_distance.h and collider.h take either. Made by points_model.h.
#pragma once

#include "costate/mpm/bodies/collider_inputs.h"

namespace costate::cuda {

struct DeviceLattice {  // mpm::DistanceLattice
  int points[3];
  double origin[3], spacing;
  const double* phi;
};

struct DeviceShape {  // mpm::Shape
  struct Profile {
    const std::array<double, 2>* points;
    std::size_t count;
    COSTATE_HD const std::array<double, 2>& operator[](std::size_t i) const { return points[i]; }
    COSTATE_HD std::size_t size() const { return count; }
  };
  mpm::ShapeKind kind;
  double size[3];
  Profile profile;
  const DeviceLattice* lattice;
};

struct DeviceCollider {  // mpm::Collider
  DeviceShape shape;
  mpm::Contact contact;
  double band;  // in cells
  mpm::ColliderNumbers numbers;
};

}  // namespace costate::cuda

// Shape: a solid given by its signed distance phi (negative inside), in its own coordinates.
//
//   sphere         |x| - r
//   box            half extents h: distance to [-h, h]
//   capsule        a segment of length 2 l along y, thickened by r
//   cylinder       radius r, half height l, axis y
//   half_space     y < 0
//   cup            a thick shell of revolution about y: the polyline (radius, height) of its mid-surface,
//                  thickened by t/2. cup(radius, height, thickness) is closed at the bottom, which lies at
//                  y = 0; profile() takes any polyline (a jug, a bowl, a funnel that is open below).
//   sampled        values on a lattice, multilinear between them (made from a mesh: mesh_distance.h)
//
// In two dimensions the shape is the section z = 0: a sphere is a disc, a cup a U.
// A shell should be at least two cells thick, or the grid does not see it.
// Tests: tests/mpm/shape_test.cpp.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "costate/geometry/shape_type.h"

namespace costate::mpm {

// sphere, box, capsule, cylinder, plane (the half space), revolution (a cup) or sampled
using ShapeKind = geometry::ShapeType;

// phi at the points origin + spacing (i, j, k), z fastest. Outside the lattice the nearest value counts, plus
// the distance to the lattice.
struct DistanceLattice {
  std::array<int, 3> points = {0, 0, 0};
  std::array<double, 3> origin = {0, 0, 0};
  double spacing = 1;
  std::vector<double> phi = {};
};

struct Shape {
  ShapeKind kind = ShapeKind::sphere;
  std::array<double, 3> size = {1, 1, 1};  // radius, half height; half extents of a box; thickness of a cup
  std::vector<std::array<double, 2>>
      profile;  // cup: (radius, height) of the mid-surface, from the axis outward
  std::shared_ptr<const DistanceLattice> lattice = {};  // sampled

  static Shape sphere(double radius);
  static Shape box(double half_x, double half_y, double half_z = 1);
  static Shape capsule(double radius, double half_length);
  static Shape cylinder(double radius, double half_height);
  static Shape half_space();
  static Shape cup(double radius, double height, double thickness);
  static Shape shell(std::vector<std::array<double, 2>> profile, double thickness);
  static Shape sampled(DistanceLattice lattice);
};

// phi at a point in the shape's own coordinates.
double signed_distance(const Shape& shape, const std::array<double, 3>& x);

// Throws an Error if the sizes make no sense.
void check(const Shape& shape);

}  // namespace costate::mpm

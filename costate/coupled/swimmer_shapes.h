// Geoms of a rigid model as obstacles of a flow in two dimensions: what the plane z = 0 cuts out of them,
// with its area and its moment of area about its middle.
//
//   sphere, cylinder along z     ball           A = pi r^2             I = A r^2 / 2
//   ellipsoid                    ellipsoid      A = pi a b             I = A (a^2 + b^2) / 4
//   box                          box            A = 4 a b              I = A (a^2 + b^2) / 3
//   capsule in the plane         capsule        A = pi r^2 + 4 r l     I = pi r^2 (r^2 / 2 + l^2)
//                                                           + 8 r^3 l / 3 + 4 r l (r^2 + l^2) / 3
//   capsule along z              ball
//
// Tests: tests/coupled/swimmer_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "costate/fluid/flow.h"
#include "costate/rigid/model.h"

namespace costate::coupled {

struct SwimmingShape {
  fluid::Obstacle obstacle;  // centre and angle in the frame of its body
  int body;
  double area, moment;
};

// Of the geoms with these names; none: of all geoms of bodies that can move. Error for names that are not
// there and geoms that have no such shape.
std::vector<SwimmingShape> swimming_shapes(const rigid::Model& model, const std::vector<std::string>& geoms);

// Takes the fluid that a shape displaces out of the body's mass, centre of mass and inertia.
void displace(rigid::Body& body, const SwimmingShape& shape, double density);

}  // namespace costate::coupled

// The shapes that there are, in one list for rigid bodies, for what particles meet, and for pictures.
//
//   shape         its sizes                              who knows it
//   plane         none; in a picture half extents x, y   all; for particles it is the half space below it
//   heightfield   none: a table of heights               rigid bodies; in a picture it is a mesh
//   sphere        radius                                 all
//   capsule       radius, half length without the caps   all
//   ellipsoid     half axes                              rigid bodies, pictures
//   cylinder      radius, half length                    all
//   box           half extents                           all
//   mesh          none: vertices and triangles           rigid bodies, pictures
//   revolution    none: a line turned about the axis     particles (a cup), pictures
//   sampled       none: distances on a lattice           particles; in a picture its lattice is a box
//
// The axis is z for rigid bodies and in pictures, y for particles.
#pragma once

#include <iterator>
#include <string_view>

namespace costate::geometry {

// Pairs that collide are ordered as here (collide.h).
enum class ShapeType {
  plane,
  heightfield,
  sphere,
  capsule,
  ellipsoid,
  cylinder,
  box,
  mesh,
  revolution,
  sampled
};

struct ShapeTraits {
  const char* name;
  int sizes;
};
inline constexpr ShapeTraits kShapes[] = {
    {"plane", 0},    {"heightfield", 0}, {"sphere", 1}, {"capsule", 2},    {"ellipsoid", 3},
    {"cylinder", 2}, {"box", 3},         {"mesh", 0},   {"revolution", 0}, {"sampled", 0}};
constexpr const ShapeTraits& traits(ShapeType type) { return kShapes[int(type)]; }

// The shape of this name; false: there is none.
constexpr bool find_shape(std::string_view name, ShapeType& type) {
  for (int i = 0; i < int(std::size(kShapes)); ++i) {
    if (name != kShapes[i].name) continue;
    type = ShapeType(i);
    return true;
  }
  return false;
}

}  // namespace costate::geometry

// What collision finds: points where two shapes are closest, and what its transpose hands back.
//
//   dist    signed distance along the normal, negative when the shapes overlap
//   point   midway between the two surfaces
//   normal  unit, from the first shape to the second
//   tangent a direction the pair prefers for the first tangent (a capsule on a plane: its axis), or zero: any
//           will do
//
// A pair has a fixed number of slots. A slot with nothing in it has dist = kFar, and numbers in the rest that
// raise no trap. In a pack each lane fills its own. Shapes come in the order of ShapeType; the sizes mean
// what they mean in MuJoCo [1]: radius; radius, half length; half sizes. A shape's axis is the third column
// of R.
//
// Cotangents treat R as nine numbers; `turn` makes them one of a rotation of the shape.
//
// [1] MuJoCo documentation, XML reference, geom.
#pragma once

#include "costate/core/mat3.h"
#include "costate/geometry/shape_type.h"

namespace costate::geometry {

struct ConvexMesh;  // convex.h
struct HeightGrid;  // heightfield.h

inline constexpr double kFar = 1e10;

template <class S>
struct Shape {
  Vec3<S> x;
  Mat3<S> R;
  S size[3];
  const ConvexMesh* mesh = nullptr;
  const HeightGrid* heights = nullptr;
};

template <class S>
struct ShapeBar {
  Vec3<S> x;
  Mat3<S> R;
  S size[3];

  static ShapeBar zero() { return {Vec3<S>::zero(), Mat3<S>::zero(), {S(0), S(0), S(0)}}; }
};

template <class S>
struct ContactPoint {
  S dist;
  Vec3<S> point, normal, tangent;

  static ContactPoint zero() { return {S(0), Vec3<S>::zero(), Vec3<S>::zero(), Vec3<S>::zero()}; }
  static ContactPoint none() {
    return {S(value_t<S>(kFar)), Vec3<S>::zero(), {S(1), S(0), S(0)}, Vec3<S>::zero()};
  }
};

// Torque-like cotangent of a rotation of the shape about its centre: R moves by w x R.
template <class S>
COSTATE_INLINE Vec3<S> turn(const Mat3<S>& R, const Mat3<S>& R_bar) {
  Vec3<S> w = Vec3<S>::zero();
  for (int j = 0; j < 3; ++j) w += cross(R.column(j), R_bar.column(j));
  return w;
}

}  // namespace costate::geometry

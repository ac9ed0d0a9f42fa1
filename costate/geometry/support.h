// The farthest point of a convex shape's core along a direction, in plain numbers: what searching (gjk.h)
// sees of a shape.
//
// A sphere's core is its centre and a capsule's its axis; their radius is put on afterwards, so that the
// search works on what is not round.
#pragma once

#include <cmath>

#include "costate/geometry/contact_point.h"
#include "costate/geometry/convex.h"

namespace costate::geometry {

struct ConvexBody {
  ShapeType type;
  Shape<double> shape;
  int last_vertex = 0;                  // of a mesh: where the next walk starts
  const Vec3<double>* prism = nullptr;  // of a heightfield: three corners below, three above

  double radius() const {
    return type == ShapeType::sphere || type == ShapeType::capsule ? shape.size[0] : 0;
  }
  Vec3<double> local_support(const Vec3<double>& u) {
    const double* size = shape.size;
    const auto sign = [](double x) { return x >= 0 ? 1.0 : -1.0; };
    switch (type) {
      case ShapeType::capsule:
        return {0, 0, sign(u.z) * size[1]};
      case ShapeType::ellipsoid: {
        const Vec3<double> s = {size[0] * u.x, size[1] * u.y, size[2] * u.z};
        const double length = std::sqrt(squared_norm(s));
        if (length < 1e-15) return {size[0], 0, 0};
        return {size[0] * s.x / length, size[1] * s.y / length, size[2] * s.z / length};
      }
      case ShapeType::cylinder: {
        const double across = std::hypot(u.x, u.y), scale = across > 1e-15 ? size[0] / across : 0;
        return {scale * u.x, scale * u.y, sign(u.z) * size[1]};
      }
      case ShapeType::box:
        return {sign(u.x) * size[0], sign(u.y) * size[1], sign(u.z) * size[2]};
      case ShapeType::mesh:
        last_vertex = farthest_vertex(*shape.mesh, u, last_vertex);
        return shape.mesh->vertices[last_vertex];
      case ShapeType::heightfield: {
        int best = 0;
        for (int k = 1; k < 6; ++k)
          if (dot(u, prism[k]) > dot(u, prism[best])) best = k;
        return prism[best];
      }
      default:
        return {0, 0, 0};
    }
  }
  Vec3<double> support(const Vec3<double>& direction) {
    return shape.x + shape.R * local_support(transpose_times(shape.R, direction));
  }
};

}  // namespace costate::geometry

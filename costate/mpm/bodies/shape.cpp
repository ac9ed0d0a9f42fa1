#include "costate/mpm/bodies/shape.h"

#include <cmath>

#include "costate/core/error.h"
#include "costate/mpm/bodies/shape_distance.h"

namespace costate::mpm {

Shape Shape::sphere(double radius) {
  Shape s;
  s.size = {radius, radius, radius};
  return s;
}
Shape Shape::box(double half_x, double half_y, double half_z) {
  Shape s;
  s.kind = ShapeKind::box;
  s.size = {half_x, half_y, half_z};
  return s;
}
Shape Shape::capsule(double radius, double half_length) {
  Shape s;
  s.kind = ShapeKind::capsule;
  s.size = {radius, half_length, 0};
  return s;
}
Shape Shape::cylinder(double radius, double half_height) {
  Shape s;
  s.kind = ShapeKind::cylinder;
  s.size = {radius, half_height, 0};
  return s;
}
Shape Shape::half_space() {
  Shape s;
  s.kind = ShapeKind::plane;
  return s;
}
Shape Shape::cup(double radius, double height, double thickness) {
  return shell({{0, 0}, {radius, 0}, {radius, height}}, thickness);
}
Shape Shape::shell(std::vector<std::array<double, 2>> profile, double thickness) {
  Shape s;
  s.kind = ShapeKind::revolution;
  s.size = {thickness, 0, 0};
  s.profile = std::move(profile);
  return s;
}
Shape Shape::sampled(DistanceLattice lattice) {
  Shape s;
  s.kind = ShapeKind::sampled;
  s.lattice = std::make_shared<const DistanceLattice>(std::move(lattice));
  return s;
}

double signed_distance(const Shape& shape, const std::array<double, 3>& x) {
  const double at[3] = {x[0], x[1], x[2]};
  return distance(shape, at, 3);
}

void check(const Shape& shape) {
  const auto positive = [](double value, const char* what) {
    if (!(value > 0) || !std::isfinite(value)) throw Error(std::string("a shape needs a positive ") + what);
  };
  switch (shape.kind) {
    case ShapeKind::sphere:
      return positive(shape.size[0], "radius");
    case ShapeKind::box:
      for (double h : shape.size) positive(h, "half extent");
      return;
    case ShapeKind::capsule:
    case ShapeKind::cylinder:
      positive(shape.size[0], "radius");
      return positive(shape.size[1], "half length");
    case ShapeKind::plane:
      return;
    case ShapeKind::revolution:
      positive(shape.size[0], "thickness");
      if (shape.profile.size() < 2)
        throw Error("a shell of revolution needs a profile of two points or more");
      for (const auto& p : shape.profile) {
        if (!(p[0] >= 0) || !std::isfinite(p[0]) || !std::isfinite(p[1]))
          throw Error("a profile consists of finite points (radius >= 0, height)");
      }
      return;
    case ShapeKind::sampled: {
      if (!shape.lattice) throw Error("a sampled shape needs its lattice");
      const DistanceLattice& l = *shape.lattice;
      positive(l.spacing, "lattice spacing");
      std::int64_t count = 1;
      for (int n : l.points) {
        if (n < 1) throw Error("a lattice of distances needs at least one point along each axis");
        count *= n;
      }
      if (static_cast<std::int64_t>(l.phi.size()) != count)
        throw Error("a lattice of " + std::to_string(count) + " points has " + std::to_string(l.phi.size()) +
                    " distances");
      for (double phi : l.phi)
        if (!std::isfinite(phi)) throw Error("a distance of the lattice is not finite");
      return;
    }
    default:
      throw Error({std::string("particles do not know the shape ") + geometry::traits(shape.kind).name,
                   {},
                   "use a sphere, box, capsule, cylinder, half space, cup or a lattice of distances"});
  }
}

}  // namespace costate::mpm

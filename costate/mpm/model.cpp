#include "costate/mpm/model.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"

namespace costate::mpm {

std::int64_t particle_count(const Model& model) {
  return static_cast<std::int64_t>(model.particles.x.size()) / model.dimension;
}

namespace {

// Half extents of a box about the origin (and its centre) that holds the shape.
void bounds(const Shape& shape, Vector& low, Vector& high) {
  const double a = shape.size[0], b = shape.size[1], c = shape.size[2];
  switch (shape.kind) {
    case ShapeKind::sphere:
      low = {-a, -a, -a}, high = {a, a, a};
      return;
    case ShapeKind::box:
      low = {-a, -b, -c}, high = {a, b, c};
      return;
    case ShapeKind::capsule:
      low = {-a, -b - a, -a}, high = {a, b + a, a};
      return;
    case ShapeKind::cylinder:
      low = {-a, -b, -a}, high = {a, b, a};
      return;
    case ShapeKind::revolution: {
      double radius = 0, bottom = shape.profile[0][1], top = bottom;
      for (const auto& p : shape.profile)
        radius = std::max(radius, p[0]), bottom = std::min(bottom, p[1]), top = std::max(top, p[1]);
      low = {-radius - a / 2, bottom - a / 2, -radius - a / 2};
      high = {radius + a / 2, top + a / 2, radius + a / 2};
      return;
    }
    case ShapeKind::sampled:
      low = high = shape.lattice->origin;
      for (std::size_t i = 0; i < 3; ++i) high[i] += shape.lattice->spacing * (shape.lattice->points[i] - 1);
      return;
    default:
      throw Error("a half space has no end: fill a box");
  }
}

template <class T>
void repeat_to(std::vector<T>& values, std::int64_t count, T otherwise) {
  const T value = values.empty() ? otherwise : values[0];
  if (values.size() <= 1) values.assign(count, value);
}

}  // namespace

std::int64_t fill(Model& model, const Shape& shape, const Vector& position, double spacing, int material,
                  const Vector& velocity) {
  check(shape);
  if (!(spacing > 0)) throw Error("filling a shape needs a positive spacing");
  Vector low, high;
  bounds(shape, low, high);
  const int D = model.dimension;
  std::array<std::int64_t, 3> count = {1, 1, 1};
  double volume = 1;
  for (int a = 0; a < D; ++a) {
    count[a] = std::max<std::int64_t>(1, std::llround(std::floor((high[a] - low[a]) / spacing + 1e-9)));
    volume *= spacing;
  }
  Particles& p = model.particles;
  const std::int64_t before = particle_count(model);
  repeat_to(p.volume, before, volume);
  repeat_to(p.material, before, 0);
  repeat_to(p.actuator, before, -1);
  p.v.resize(p.x.size(), 0.0);
  std::int64_t added = 0;
  for (std::int64_t i = 0; i < count[0]; ++i) {
    for (std::int64_t j = 0; j < count[1]; ++j) {
      for (std::int64_t k = 0; k < count[2]; ++k) {
        const Vector x = {low[0] + (double(i) + 0.5) * spacing, low[1] + (double(j) + 0.5) * spacing,
                          D == 3 ? low[2] + (double(k) + 0.5) * spacing : 0.0};
        if (!(signed_distance(shape, x) < 0)) continue;
        for (int a = 0; a < D; ++a) {
          p.x.push_back(x[a] + position[a]);
          p.v.push_back(velocity[a]);
        }
        p.volume.push_back(volume);
        p.material.push_back(material);
        p.actuator.push_back(-1);
        ++added;
      }
    }
  }
  return added;
}

void set_density(Body& body, double density, int dimension) {
  check(body.shape);
  Vector low, high;
  bounds(body.shape, low, high);
  constexpr int kPoints = 80;  // along each axis
  double inside = 0, square[3] = {0, 0, 0}, cell = 1;
  const auto place = [&](std::size_t a, int i) {
    return low[a] + (high[a] - low[a]) * (double(i) + 0.5) / kPoints;
  };
  for (int a = 0; a < dimension; ++a) cell *= (high[a] - low[a]) / kPoints;
  for (int i = 0; i < kPoints; ++i) {
    for (int j = 0; j < kPoints; ++j) {
      for (int k = 0; k < (dimension == 3 ? kPoints : 1); ++k) {
        const Vector x = {place(0, i), place(1, j), dimension == 3 ? place(2, k) : 0.0};
        if (!(signed_distance(body.shape, x) < 0)) continue;
        inside += 1;
        for (std::size_t a = 0; a < 3; ++a) square[a] += x[a] * x[a];
      }
    }
  }
  body.mass = density * cell * inside;
  const double share = density * cell;
  body.inertia = {share * (square[1] + square[2]), share * (square[0] + square[2]),
                  share * (square[0] + square[1])};
}

}  // namespace costate::mpm

// GridShape: how nodes lie in memory and in space; and which colliders are near a block of them.
#pragma once

#include <cmath>

#include "costate/mpm/bodies/collider.h"
#include "costate/mpm/transfer/particle_order.h"

namespace costate::mpm {

struct GridShape {
  int dimension = 3;
  std::array<int, 3> nodes = {};  // of the second axis 1 in 2-D; last is nodes[2]
  std::int64_t row = 0;           // nodes of a row in memory, padded
  std::int64_t size = 0;          // numbers
  Vector origin = {};
  double dx = 1;

  GridShape(const Model& model) : dimension(model.dimension), origin(model.origin), dx(model.dx) {
    const int last = model.nodes[dimension - 1];
    nodes = {model.nodes[0], dimension == 3 ? model.nodes[1] : 1, last};
    row = (last + 3) / 4 * 4 + 4;
    size = std::int64_t(nodes[0]) * nodes[1] * row * 4;
  }
  std::int64_t second_stride() const { return row * 4; }
  std::int64_t first_stride() const { return row * 4 * nodes[1]; }

  template <class Real>
  Vec3<Real> position(double i, double j, double k) const {
    if (dimension == 2) return {Real(origin[0] + i * dx), Real(origin[1] + k * dx), Real(0)};
    return {Real(origin[0] + i * dx), Real(origin[1] + j * dx), Real(origin[2] + k * dx)};
  }
};

// Which colliders' bands may reach the block of nodes at k of a pencil: distances change by no more than the
// way. One bit each.
template <class Real, class S>
std::uint64_t reaching(const GridShape& grid, const std::vector<Collider>& colliders,
                       const std::vector<Pose<S>>& poses, const ParticleOrder::NodePencil& p, int k) {
  std::uint64_t near = 0;
  if (colliders.empty()) return near;
  constexpr int B = ParticleOrder::kBlock;
  const Vec3<Real> centre = grid.template position<Real>(p.a * B + 1.5, p.b * B + 1.5, k + 1.5);
  const double radius = 1.5 * std::sqrt(double(grid.dimension)) * grid.dx;
  for (std::size_t c = 0; c < colliders.size(); ++c) {
    const Collider& collider = colliders[c];
    const Pose<S>& pose = poses[c];
    Vec3<Real> y;
    for (int a = 0; a < 3; ++a) y[a] = centre[a] - primal(pose.c[a]);
    Real l[3];
    for (int a = 0; a < 3; ++a)
      l[a] = primal(pose.R.e[0][a]) * y.x + primal(pose.R.e[1][a]) * y.y + primal(pose.R.e[2][a]) * y.z;
    // A lattice's interpolated distance is not exact: it gets room.
    const double room = collider.shape.kind == ShapeKind::sampled ? 2 * radius : radius;
    if (double(distance(collider.shape, l, grid.dimension)) < room * 1.01 + collider.band * grid.dx)
      near |= std::uint64_t(1) << c;
  }
  return near;
}

}  // namespace costate::mpm

#include "costate/mpm/bodies/ridges.h"

#include "costate/mpm/bodies/reach.h"

namespace costate::mpm {
namespace {

constexpr double kStep = 1e-6;  // of a cell
constexpr std::int64_t kMost = 20'000'000;

bool on_ridge(const Shape& shape, const Vec3<double>& l, int dimension, double dx) {
  for (int a = 0; a < dimension; ++a) {
    Vec3<double> low = l, high = l;
    low[a] -= kStep * dx;
    high[a] += kStep * dx;
    const Vec3<double> turn =
        distance_at(shape, high, dimension).gradient - distance_at(shape, low, dimension).gradient;
    if (dot(turn, turn) > 0.01) return true;
  }
  return false;
}

}  // namespace

std::int64_t nodes_on_ridges(const Model& model, const Collider& collider) {
  const int D = model.dimension;
  const std::int64_t nodes = std::int64_t(model.nodes[0]) * model.nodes[1] * (D == 3 ? model.nodes[2] : 1);
  if (collider.moves || nodes * std::int64_t(model.colliders.size()) > kMost) return 0;
  std::int64_t count = 0;
  any_node(model, collider.shape, collider.position, collider.rotation,
           [&](const Vec3<double>& l, double phi) {
             if (phi < collider.band * model.dx && phi >= -2 * model.dx)
               count += on_ridge(collider.shape, l, D, model.dx) ? 1 : 0;
             return false;
           });
  return count;
}

}  // namespace costate::mpm

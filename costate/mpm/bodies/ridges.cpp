#include "costate/mpm/bodies/ridges.h"

#include "costate/mpm/bodies/collider.h"

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
  const Vec3<double> c{collider.position[0], collider.position[1], collider.position[2]};
  const Mat3<double> R =
      rotation_matrix(Vec3<double>{collider.rotation[0], collider.rotation[1], collider.rotation[2]});
  std::int64_t count = 0;
  for (int i = 0; i < model.nodes[0]; ++i) {
    for (int j = 0; j < model.nodes[1]; ++j) {
      for (int k = 0; k < (D == 3 ? model.nodes[2] : 1); ++k) {
        const Vec3<double> X{model.origin[0] + i * model.dx, model.origin[1] + j * model.dx,
                             D == 3 ? model.origin[2] + k * model.dx : 0};
        const Vec3<double> l = transpose_times(R, X - c);
        const double x[3] = {l.x, l.y, l.z}, phi = distance(collider.shape, x, D);
        if (phi >= collider.band * model.dx || phi < -2 * model.dx) continue;
        count += on_ridge(collider.shape, l, D, model.dx) ? 1 : 0;
      }
    }
  }
  return count;
}

}  // namespace costate::mpm

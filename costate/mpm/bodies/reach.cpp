#include "costate/mpm/bodies/reach.h"

#include "costate/mpm/bodies/collider.h"

namespace costate::mpm {

bool meets_grid(const Model& model, const Shape& shape, const Vector& position, const Vector& rotation,
                double band) {
  const int D = model.dimension;
  const Vec3<double> c{position[0], position[1], position[2]};
  const Mat3<double> R = rotation_matrix(Vec3<double>{rotation[0], rotation[1], rotation[2]});
  for (int i = 0; i < model.nodes[0]; ++i) {
    for (int j = 0; j < model.nodes[1]; ++j) {
      for (int k = 0; k < (D == 3 ? model.nodes[2] : 1); ++k) {
        const Vec3<double> X{model.origin[0] + i * model.dx, model.origin[1] + j * model.dx,
                             D == 3 ? model.origin[2] + k * model.dx : 0};
        const Vec3<double> l = transpose_times(R, X - c);
        const double x[3] = {l.x, l.y, l.z};
        if (distance(shape, x, D) < band * model.dx) return true;
      }
    }
  }
  return false;
}

}  // namespace costate::mpm

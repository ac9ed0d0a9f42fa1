#include "costate/mpm/bodies/reach.h"

namespace costate::mpm {

bool meets_grid(const Model& model, const Shape& shape, const Vector& position, const Vector& rotation,
                double band) {
  return any_node(model, shape, position, rotation,
                  [&](const Vec3<double>&, double phi) { return phi < band * model.dx; });
}

}  // namespace costate::mpm

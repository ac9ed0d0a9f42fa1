#include "costate/grid/shallow_water.h"

#include "costate/grid/shallow_water_kernel.h"
#include "costate/grid/stencil_system.h"

namespace costate::grid {

template <class Real>
std::shared_ptr<System<Real>> shallow_water(const ShallowWaterOptions& o) {
  if (!(o.dx > 0) || !(o.dt > 0) || !(o.gravity > 0) || !(o.drag >= 0))
    throw Error("shallow water needs dx > 0, dt > 0, gravity > 0 and a drag that is not negative");
  const std::int64_t n = o.nx * o.ny;
  Signature signature;
  signature.state("eta", n, "m").state("u", n, "m/s").state("v", n, "m/s");
  o.depth.add_to(signature, "depth", n, "m");
  signature.parameter("gravity", o.gravity, "m/s^2")
      .parameter("drag", o.drag, "1/s")
      .parameter("dx", o.dx, "m")
      .parameter("dt", o.dt, "s")
      .parameter("rotation", o.rotation, "1/s");
  if (!o.sources.empty()) signature.control("rain", std::int64_t(o.sources.size()), "m/s");
  const ShallowWaterKernel kernel{{o.periodic_x, o.periodic_y}};
  std::vector<double> given = o.depth.values;
  given.insert(given.end(), {o.gravity, o.drag, o.dx, o.dt, o.rotation});
  kernel.check(given.data(), std::int64_t(o.depth.values.size()));
  signature.limit("depth", kPositive)
      .limit("gravity", kPositive)
      .limit("drag", kNotNegative)
      .limit("d?", kPositive);
  return std::make_shared<StencilSystem<ShallowWaterKernel, Real>>(signature, kernel, o.nx, o.ny, o.sources);
}
template std::shared_ptr<System<float>> shallow_water<float>(const ShallowWaterOptions&);
template std::shared_ptr<System<double>> shallow_water<double>(const ShallowWaterOptions&);

}  // namespace costate::grid

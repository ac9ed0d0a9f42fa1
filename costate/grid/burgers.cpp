#include "costate/grid/burgers.h"

#include "costate/grid/burgers_kernel.h"
#include "costate/grid/stencil_system.h"

namespace costate::grid {

template <class Real>
std::shared_ptr<System<Real>> burgers(const BurgersOptions& o) {
  if (!(o.dx > 0) || !(o.dt > 0)) throw Error("Burgers' equation needs dx > 0 and dt > 0");
  const std::int64_t n = o.nx * o.ny;
  Signature signature;
  signature.state("u", n, "m/s");
  o.source.add_to(signature, "source", n, "m/s^2");
  signature.parameter("viscosity", o.viscosity, "m^2/s")
      .parameter("dx", o.dx, "m")
      .parameter("dt", o.dt, "s");
  const std::vector<double> given = {0, o.viscosity, o.dx, o.dt};
  BurgersKernel{}.check(given.data(), 1);
  signature.limit("viscosity", kNotNegative).limit("d?", kPositive);
  return std::make_shared<StencilSystem<BurgersKernel, Real>>(signature, BurgersKernel{}, o.nx, o.ny);
}
template std::shared_ptr<System<float>> burgers<float>(const BurgersOptions&);
template std::shared_ptr<System<double>> burgers<double>(const BurgersOptions&);

}  // namespace costate::grid

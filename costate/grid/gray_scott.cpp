#include "costate/grid/gray_scott.h"

#include "costate/grid/gray_scott_kernel.h"
#include "costate/grid/stencil_system.h"

namespace costate::grid {

template <class Real>
std::shared_ptr<System<Real>> gray_scott(const GrayScottOptions& o) {
  if (!(o.dx > 0) || !(o.dt > 0)) throw Error("reaction and diffusion need dx > 0 and dt > 0");
  const std::int64_t n = o.nx * o.ny;
  Signature signature;
  signature.state("u", n).state("v", n);
  o.feed.add_to(signature, "feed", n, "1/s");
  signature.parameter("kill", o.kill, "1/s");
  signature.parameter("diffusivity_u", o.diffusivity_u, "m^2/s");
  signature.parameter("diffusivity_v", o.diffusivity_v, "m^2/s");
  signature.parameter("dx", o.dx, "m").parameter("dt", o.dt, "s");
  if (!o.sources.empty()) signature.control("drop", std::int64_t(o.sources.size()), "1/s");
  const std::vector<double> given = {0, o.kill, o.diffusivity_u, o.diffusivity_v, o.dx, o.dt};
  GrayScottKernel{}.check(given.data(), 1);
  signature.limit("diffusivity_*", kNotNegative).limit("d?", kPositive);
  return std::make_shared<StencilSystem<GrayScottKernel, Real>>(signature, GrayScottKernel{}, o.nx, o.ny,
                                                                o.sources);
}
template std::shared_ptr<System<float>> gray_scott<float>(const GrayScottOptions&);
template std::shared_ptr<System<double>> gray_scott<double>(const GrayScottOptions&);

}  // namespace costate::grid

#include "costate/grid/wave.h"

#include <cmath>

#include "costate/grid/stencil_system.h"
#include "costate/grid/wave_kernel.h"

namespace costate::grid {
namespace {

void check(const WaveOptions& o) {
  if (o.nx < 2 || o.ny < 2) {
    throw Error("a wave needs at least 2 x 2 cells, not " + std::to_string(o.nx) + " x " +
                std::to_string(o.ny));
  }
  if (!(o.dx > 0) || !(o.dt > 0)) throw Error("a wave needs dx > 0 and dt > 0");
  if (!(o.speed >= 0) || !std::isfinite(o.damping))
    throw Error("a wave needs a speed that is not negative and a finite damping");
  if (o.speed * o.dt / o.dx > std::sqrt(0.5)) {
    throw Error(
        {"speed dt / dx = " + std::to_string(o.speed * o.dt / o.dx) + " exceeds the stability limit 0.707",
         {},
         "reduce dt below " + std::to_string(std::sqrt(0.5) * o.dx / o.speed)});
  }
}

}  // namespace

template <class Real>
std::shared_ptr<System<Real>> wave(const WaveOptions& o) {
  check(o);
  const std::int64_t n = o.nx * o.ny;
  Signature signature;
  signature.state("u", n, "m").state("v", n, "m/s");
  signature.parameter_field("speed", n, o.speed, "m/s")
      .parameter("damping", o.damping, "1/s")
      .parameter("dx", o.dx, "m")
      .parameter("dt", o.dt, "s");
  if (!o.sources.empty()) signature.control("source", std::int64_t(o.sources.size()), "m/s^2");
  return std::make_shared<StencilSystem<WaveKernel, Real>>(signature, WaveKernel{}, o.nx, o.ny, o.sources);
}
template std::shared_ptr<System<float>> wave<float>(const WaveOptions&);
template std::shared_ptr<System<double>> wave<double>(const WaveOptions&);

}  // namespace costate::grid

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
  if (!(o.speed.smallest() >= 0) || !(o.damping >= 0) || !std::isfinite(o.damping))
    throw Error("a wave needs a speed and a damping that are not negative");
}

}  // namespace

template <class Real>
std::shared_ptr<System<Real>> wave(const WaveOptions& o) {
  check(o);
  const std::int64_t n = o.nx * o.ny;
  Signature signature;
  signature.state("u", n, "m").state("v", n, "m/s");
  o.speed.add_to(signature, "speed", n, "m/s");
  signature.parameter("damping", o.damping, "1/s").parameter("dx", o.dx, "m").parameter("dt", o.dt, "s");
  if (!o.sources.empty()) signature.control("source", std::int64_t(o.sources.size()), "m/s^2");
  std::vector<double> given = o.speed.values;
  given.insert(given.end(), {o.damping, o.dx, o.dt});
  WaveKernel{}.check(given.data(), std::int64_t(o.speed.values.size()));
  signature.limit("speed", kNotNegative).limit("damping", kNotNegative).limit("d?", kPositive);
  return std::make_shared<StencilSystem<WaveKernel, Real>>(signature, WaveKernel{}, o.nx, o.ny, o.sources);
}
template std::shared_ptr<System<float>> wave<float>(const WaveOptions&);
template std::shared_ptr<System<double>> wave<double>(const WaveOptions&);

}  // namespace costate::grid

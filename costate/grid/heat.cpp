#include "costate/grid/heat.h"

#include <algorithm>
#include <cmath>

#include "costate/grid/heat_kernel.h"
#include "costate/grid/stencil_system.h"

namespace costate::grid {
namespace {

void check(const HeatOptions& o) {
  if (o.nx < 2 || o.ny < 2) {
    throw Error("heat needs at least 2 x 2 cells, not " + std::to_string(o.nx) + " x " +
                std::to_string(o.ny));
  }
  if (!(o.dx > 0) || !(o.dt > 0) || !(o.capacity > 0))
    throw Error("heat needs dx > 0, dt > 0 and capacity > 0");
  for (const HeatSide& side : {o.west, o.east, o.south, o.north}) {
    if (!std::isfinite(side.value)) throw Error("the value of a side must be finite");
  }
  const auto periodic = [](const HeatSide& side) { return side.kind == HeatSide::Kind::periodic; };
  if (periodic(o.west) != periodic(o.east) || periodic(o.south) != periodic(o.north))
    throw Error({"one side is periodic and the opposite one is not", {}, "make both periodic, or neither"});
}

}  // namespace

template <class Real>
std::shared_ptr<System<Real>> heat(const HeatOptions& o) {
  check(o);
  const std::int64_t n = o.nx * o.ny;
  Signature signature;
  signature.state("T", n, "K");
  signature.parameter_field("conductivity", n, o.conductivity, "W/(m K)")
      .parameter_field("source", n, o.source, "W/m^3")
      .parameter("capacity", o.capacity, "J/(m^3 K)");
  HeatKernel kernel;
  kernel.closed = o.source == 0 && o.heaters.empty();
  const std::pair<const char*, HeatSide> sides[4] = {
      {"west", o.west}, {"east", o.east}, {"south", o.south}, {"north", o.north}};
  for (int side = 0; side < 4; ++side) {
    const auto& [name, given] = sides[side];
    const bool fixed = given.kind == HeatSide::Kind::temperature;
    signature.parameter(name, given.value, fixed ? "K" : "K/m");
    kernel.sides[side] = given.kind;
    kernel.closed = kernel.closed && !fixed && given.value == 0;
  }
  signature.parameter("dx", o.dx, "m").parameter("dt", o.dt, "s");
  if (!o.heaters.empty()) signature.control("heater", std::int64_t(o.heaters.size()), "W/m^3");
  kernel.check(std::vector<double>{o.conductivity, o.source, o.capacity, 0, 0, 0, 0, o.dx, o.dt}.data(), 1);
  return std::make_shared<StencilSystem<HeatKernel, Real>>(signature, kernel, o.nx, o.ny, o.heaters);
}
template std::shared_ptr<System<float>> heat<float>(const HeatOptions&);
template std::shared_ptr<System<double>> heat<double>(const HeatOptions&);

}  // namespace costate::grid

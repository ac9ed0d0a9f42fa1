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
  o.conductivity.add_to(signature, "conductivity", n, "W/(m K)");
  o.source.add_to(signature, "source", n, "W/m^3");
  signature.parameter("capacity", o.capacity, "J/(m^3 K)");
  HeatKernel kernel;
  kernel.closed = o.source.smallest() == 0 && o.source.largest() == 0 && o.heaters.empty();
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
  std::vector<double> given = o.conductivity.values;
  const auto count = std::int64_t(given.size());
  given.resize(2 * given.size());
  given.insert(given.end(), {o.capacity, 0, 0, 0, 0, o.dx, o.dt});
  kernel.check(given.data(), count);
  signature.limit("conductivity", kPositive).limit("capacity", kPositive).limit("d?", kPositive);
  return std::make_shared<StencilSystem<HeatKernel, Real>>(signature, kernel, o.nx, o.ny, o.heaters);
}
template std::shared_ptr<System<float>> heat<float>(const HeatOptions&);
template std::shared_ptr<System<double>> heat<double>(const HeatOptions&);

}  // namespace costate::grid

// The arrays of a call that is about one world: a plan, a filter, an identification.
#pragma once

#include "call.h"

namespace costate::python {

// Where x0, u or p is None: the system's own start, zero controls, the system's own parameters.
inline Arguments<double> one_world(const AnySystem& system, std::int64_t steps, nb::handle x0, nb::handle u,
                                   nb::handle p) {
  if (steps < 1) throw Error("steps = " + std::to_string(steps) + ": at least one is needed");
  const Call<double> call(system, steps, x0, u, p);
  if (call.batch()) throw Error("this is about one world: give arrays without batch axes");
  const Parameters<double> defaults(system.signature());
  Arguments<double> at;
  at.parameters = defaults;
  std::vector<std::size_t> changed;
  call.fill(at, defaults, changed);
  return at;
}

}  // namespace costate::python

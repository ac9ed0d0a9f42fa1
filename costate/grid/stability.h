// What a kernel says of a step that is too long for one of its cells.
#pragma once

#include <string>

#include "costate/core/error.h"
#include "costate/core/text.h"

namespace costate::grid {

// what: "the speed of cell 7 is 2"; number: "speed dt / dx = 0.9, above 0.7"; largest: the dt that would do.
[[noreturn]] inline void refuse_step(const std::string& what, const std::string& condition, double dt,
                                     double largest) {
  if (largest != largest) throw Error({what, {}, "give a finite number"}, Error::Kind::numerics);
  throw Error({what + ", with which the step is not stable: " + condition,
               {},
               "reduce dt below " + number(largest) + " (now " + number(dt) + "), or take larger cells"},
              Error::Kind::numerics);
}

}  // namespace costate::grid

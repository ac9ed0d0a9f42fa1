// What a loss of molecules is compared with, or weighted by, is a number.
#pragma once

#include <cmath>
#include <span>
#include <string>

#include "costate/core/error.h"

namespace costate::md {

inline void require_finite(std::span<const double> numbers, const std::string& name) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (!std::isfinite(numbers[i]))
      throw Error({name + " " + std::to_string(i) + " of the loss is not finite", "md::observe",
                   "give finite numbers"});
}

}  // namespace costate::md

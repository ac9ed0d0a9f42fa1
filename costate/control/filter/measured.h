// What filters, twins and identifications measure: numbers of one state, said by losses of the final state.
// Tests: tests/control/input_test.cpp.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "costate/core/error.h"
#include "costate/system/objective.h"

namespace costate::control {

inline void check_measured(const std::vector<ObjectivePtr<double>>& measured) {
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (measured[i] && measured[i]->next(0, 2) == 2) continue;
    throw Error({"number " + std::to_string(i) + " of what is measured is not a loss of the final state",
                 {},
                 "a measurement sees one state and no controls: loss::expression(signature, \"angle\")"});
  }
}

// A covariance: finite, symmetric, and not negative on its diagonal.
inline void check_covariance(const char* name, const std::vector<double>& of, std::size_t side) {
  for (std::size_t i = 0; i < side; ++i) {
    const double variance = of[i * side + i];
    if (!(variance >= 0) || variance > 1e300)
      throw Error({std::string(name) + " has the variance " + std::to_string(variance) + " at number " +
                       std::to_string(i),
                   {},
                   "a variance is a square: finite, and not negative"});
    for (std::size_t j = 0; j < i; ++j) {
      const double one = of[i * side + j], other = of[j * side + i];
      if (!(std::abs(one - other) <= 1e-9 * (std::abs(one) + std::abs(other))))
        throw Error({std::string(name) + " is not symmetric: numbers (" + std::to_string(i) + ", " +
                         std::to_string(j) + ") and (" + std::to_string(j) + ", " + std::to_string(i) +
                         ") differ",
                     {},
                     "give a covariance"});
    }
  }
}

}  // namespace costate::control

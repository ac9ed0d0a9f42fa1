// CellValues: a parameter that every cell has, as one number for all of them or as one number per cell.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.h"
#include "costate/system/signature.h"

namespace costate::grid {

struct CellValues {
  std::vector<double> values;

  CellValues(double value) : values{value} {}
  CellValues(std::vector<double> per_cell) : values(std::move(per_cell)) {}
  double smallest() const { return *std::ranges::min_element(values); }
  double largest() const { return *std::ranges::max_element(values); }

  // Becomes a parameter of `cells` numbers.
  void add_to(Signature& signature, const char* name, std::int64_t cells, const char* unit) const {
    if (values.size() == 1) {
      signature.parameter_field(name, cells, values[0], unit);
    } else if (std::int64_t(values.size()) == cells) {
      signature.parameter(name, values, unit);
    } else {
      throw Error({std::string("'") + name + "' has " + std::to_string(values.size()) +
                       " numbers, and the grid has " + std::to_string(cells) + " cells",
                   {},
                   "give one number, or one per cell: cell (i, j) is number j * nx + i"});
    }
  }
};

}  // namespace costate::grid

// The part of [grid] that reads an equation of the user's.
#pragma once

#include <functional>
#include <vector>

#include "costate/io/scene/section.h"

namespace costate::io {

// The cells of a grid, and the values of a formula in them.
struct GridCells {
  std::int64_t nx, ny;
  double dx;
  std::function<std::vector<double>(const TomlValue&)> at;
  std::vector<double> operator()(const TomlValue& v) const { return at(v); }
};

// Everything but [start] and what is said about the run.
Draft read_own_grid(const SceneFile& file, const TomlValue& table, const GridCells& in_every_cell);

}  // namespace costate::io

// A terrain of heights over a grid, in its own frame: x along columns, y along rows.
//
//   x in [-size_x, size_x], y in [-size_y, size_y];  top(r, c) = height * heights[r * columns + c],
//     bottom at -base
//
// Each cell is two prisms with a triangle on top. Sizes mean what they mean in MuJoCo's hfield asset.
#pragma once

#include <cmath>
#include <vector>

namespace costate::geometry {

struct HeightGrid {
  int rows = 0, columns = 0;
  double size_x = 1, size_y = 1, height = 1, base = 0;
  std::vector<double> heights;  // 0..1

  double top(int r, int c) const { return height * heights[r * columns + c]; }
  double bounding_radius() const {
    const double z = height > base ? height : base;
    return std::sqrt(size_x * size_x + size_y * size_y + z * z);
  }
};

}  // namespace costate::geometry

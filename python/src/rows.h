// Arrays whose shape says what they mean: rows of numbers, and numbers that count something.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "arrays.h"
#include "costate/core/text.h"

namespace costate::python {

// Numbers of this shape and no other: as many in another shape are meant otherwise.
inline std::vector<double> to_vector_of(nb::handle object, const char* what, const Shape& wanted) {
  const auto array = as_array<double>(object, what);
  if (const Shape shape = shape_of(array); shape != wanted) wrong_shape(what, shape, text_of(wanted));
  return std::vector<double>(array.data(), array.data() + array.size());
}

// Rows of so many numbers: (rows, width), or one row after the other.
inline std::vector<double> to_rows(nb::handle object, const char* what, std::size_t width) {
  const auto array = as_array<double>(object, what);
  const Shape shape = shape_of(array);
  const bool fits = shape.size() == 1 ? shape[0] % width == 0 : shape.size() == 2 && shape[1] == width;
  if (!fits) wrong_shape(what, shape, "(rows, " + std::to_string(width) + ")");
  return std::vector<double>(array.data(), array.data() + array.size());
}

// The same of numbers that count something, from 0.
inline std::vector<int> to_indices(nb::handle object, const char* what, std::size_t width = 1) {
  std::vector<int> indices;
  for (const double i : to_rows(object, what, width)) {
    if (!(i == std::floor(i) && std::abs(i) < 1e9))
      throw Error({std::string(what) + " has a number that is not whole, " + number(i), {}, "count from 0"});
    indices.push_back(static_cast<int>(i));
  }
  return indices;
}

}  // namespace costate::python

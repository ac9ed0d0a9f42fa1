// Widths of the cells along an axis, from how wide they are to be at some places: a grid that is fine where
// much happens.
//
//   dx/di = c w(x)        i the number of a face, w linear between the places, c such that n cells fit
//
// so where w is the same over a while, cells have one width; where it grows linearly, each is wider than the
// one before by the same factor. Tests: tests/fluid/stretched_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace costate::fluid {

// `at`: pairs (place, width there), the first place 0, the last one the length of the axis. With a number of
// `cells` only the ratios of the widths count; with 0, cells are as wide as told, to a whole number of them.
std::vector<double> graded_widths(const std::vector<std::array<double, 2>>& at, std::int64_t cells = 0);

}  // namespace costate::fluid

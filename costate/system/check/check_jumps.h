// The slope of a loss that jumps nearby: where steps are taken in another number of parts, or a solver in
// another number of iterations, a loss moves by the error of the method, which no derivative sees.
//
// Between jumps the loss is smooth. Over n intervals of length d around the point, with t the middle of one,
//
//   (L(t + d/2) - L(t - d/2)) / d = s + a t + b t^2 + c t^3
//
// but for those that hold a jump. The cubic is fitted to the least sum of absolute residuals, which a few
// jumps do not move, then to the squares of all but the outliers. s is the slope; its error follows from the
// residuals. A wrong slope is beside it by many times that error.
// Tests: tests/system/check/checks_test.cpp.
#pragma once

#include <optional>
#include <string>

#include "costate/system/check/check_line.h"

namespace costate::check {

struct SlopeAmongJumps {
  double slope = 0, error = 0;   // the error: how well these differences tell it
  double largest = 0, step = 0;  // the largest jump, within this distance of the point
  std::string to_text(double size) const;
};

// Of the lengths h, h/4, ..., h/1024 the one that tells the slope best, given how large a slope usually is.
// None: jumps make up more than a hundredth of how the loss changes, or there are too many of them to tell
// them from it; or the slope of the line is another one.
std::optional<SlopeAmongJumps> agrees_among_jumps(const Line& line, double h, double size);

}  // namespace costate::check

// What an optimiser changed about a motion, in words: "tilt 12 degrees less, 0.40 s later, 3.1 cm lower".
//
//   tilt     the largest angle (in size)
//   time     when the angle first reaches half of its largest
//   place    mean position of the pivot while the angle is beyond that half; without an angle, all the time
//
// Changes too small to matter (2 degrees, a hundredth of the duration, 2 mm) are left out.
// Tests: tests/study/motion_summary_test.cpp.
#pragma once

#include <vector>

#include "costate/study/motion.h"

namespace costate::study {

struct MotionSummary {
  double largest_angle = 0;  // rad, signed
  double half_time = 0;      // s
  std::array<double, 3> place = {};
};
MotionSummary summarise(const Motion& motion, const std::vector<Path>& paths, double duration);

std::string what_changed(const Motion& motion, const std::vector<Path>& before,
                         const std::vector<Path>& after, double duration);

}  // namespace costate::study

// The window of a gradient: over how many steps a cotangent is worth following.
//
// Where motion is chaotic, cotangents grow on their way back, and what is added up is the noise of the
// longest way instead of the signal of the shorter ones. From the norms of the whole adjoint at the sampled
// steps,
//
//   window = the largest W such that |lambda_k| <= G |lambda_(k+W)| for half of all k or more
//
// with G = 30. Half of them: a loss that begins late, or a drop that hits, makes single ratios large.
// Tests: tests/study/window_test.cpp.
#pragma once

#include <cstdint>

#include "costate/system/gradient_report.h"

namespace costate::study {

constexpr double kSignalGrowth = 30;

// In steps; report.steps where no window is needed. At least one sampled interval.
std::int64_t signal_window(const GradientReport& report);

}  // namespace costate::study

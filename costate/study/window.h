// The window of a gradient: over how many steps a cotangent is worth following.
//
// Where motion is chaotic, cotangents grow on their way back, and what is added up is the noise of the
// longest way instead of the signal of the shorter ones. From the norms of the whole adjoint at the sampled
// steps,
//
//   window = the largest W such that |lambda_k| <= G |lambda_(k+W)| for half of all k or more
//
// with G = 30. Half of them: a loss that begins late, or a drop that hits, makes single ratios large.
//
// Cotangents are dropped every W steps, counted from the end. A stretch of W steps in which no loss is taken
// has no gradient at all then, and neither has what a stretch does after its last loss: blind_steps counts
// both. A loss of the final state alone sees one window, which may be long after what decided it.
// Tests: tests/study/window_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "costate/system/gradient_report.h"

namespace costate::study {

constexpr double kSignalGrowth = 30;

// In steps; report.steps where no window is needed. At least one sampled interval.
std::int64_t signal_window(const GradientReport& report);

// Of `steps` steps, those that no loss feels. `losses`: at which states losses are taken, 0 ... steps.
std::int64_t blind_steps(const std::vector<std::int64_t>& losses, std::int64_t window, std::int64_t steps);

}  // namespace costate::study

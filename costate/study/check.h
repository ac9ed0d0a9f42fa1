// check: is the gradient of this study right? Evidence of four kinds, each of which would catch a different
// mistake.
//
//   dot product    <J v, w> = <v, J' w> for random inputs v and outputs w: forward and reverse are transposes
//   stencil        the gradient along random directions, over all variables and over those of one name,
//                  against (45 (L1 - L-1) - 9 (L2 - L-2) + (L3 - L-3)) / (60 h)
//   Taylor         |L(z + h d) - L(z) - h <g, d>| falls like h^2
//   comparisons    of the gradient with other ways to it, where the physics has some
//
// What is measured, and how steps are shortened, is in system/check/check_line.h. Differences begin as long
// as the physics allows (Study::stencil()).
//
// Errors are relative to the gradient of the variables that were moved. Where that is nearly zero they are
// relative to 1e-2 of the whole gradient, or to what rounding does to a difference. A failure names the worst
// field.
//
// A study may start on a kink: liquid at rest against a wall neither presses nor leaves. There the loss has
// one slope on each side, and no derivative. Where one-sided differences show it, the check steps off the
// start, by 1e-3 of the scales, and says so. A wrong gradient is wrong there, too.
//
// Rigid bodies say in which steps their contacts change (GradientReport::mode_switches): only runs that agree
// in these are compared. Where differences converge like h only, as they do at the corner between two geoms
// of equal softness, their limit is compared.
// Tests: tests/study/check_test.cpp.
#pragma once

#include <functional>
#include <memory>

#include "costate/study/study.h"

namespace costate::study {

struct CheckOptions {
  std::uint64_t seed = 1;
  // Told before each simulation what it is for: "stencil of jug.angle". May be empty.
  std::function<void(const std::string& what)> progress = {};
};

// Over study.inputs(). Open the study for a check (io::Opening): in double precision, with tight tolerances,
// over its first steps.
std::vector<check::Result> check_gradient(Study& study, const CheckOptions& options = {});

// Most checks take less time than this many gradients.
inline constexpr int kGradientsPerCheck = 40;

// How many of the first `most` steps a check has time for in so many seconds, from a gradient over a few of
// them; `open` opens the study over its first steps. At least a few, and all of a study that chooses its own.
std::int64_t steps_in_time(double seconds, std::int64_t most,
                           const std::function<std::unique_ptr<Study>(std::int64_t steps)>& open);

}  // namespace costate::study

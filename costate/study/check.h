// check: is the gradient of this study right? Evidence of four kinds, each of which would catch a different
// mistake.
//
//   dot product    <J v, w> = <v, J' w> for random inputs v and outputs w: forward and reverse are transposes
//   stencil        the gradient along random directions against
//                  (45 (L1 - L-1) - 9 (L2 - L-2) + (L3 - L-3)) / (60 h)
//   Taylor         |L(z + h d) - L(z) - h <g, d>| falls like h^2
//   comparisons    of the gradient with other ways to it, where the physics has some
//
// Differences are as long as the physics allows (Study::stencil()) and are shortened where they disagree: too
// long a step meets other branches, too short a step meets rounding. The best of several steps counts, since
// no step makes a wrong gradient right.
//
// Rigid bodies say in which steps their contacts change (GradientReport::mode_switches). Steps are shortened
// until these are the same at every point of the stencil; a direction in which they never are is not
// comparable, and the result says so instead of failing. Where differences converge like h only, as they do
// at the corner between two geoms of equal softness, their limit is compared.
// Tests: tests/study/check_test.cpp.
#pragma once

#include "costate/study/study.h"

namespace costate::study {

// Over study.inputs(). Open the study for a check (io::Opening): in double precision, with tight tolerances,
// over its first steps.
std::vector<check::Result> check_gradient(Study& study, std::uint64_t seed = 1);

}  // namespace costate::study

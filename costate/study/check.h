// check: is the gradient of this study right? Evidence of four kinds, each of which would catch a different
// mistake.
//
//   dot product       <J v, w> = <v, J' w> for random inputs v and outputs w: forward and reverse are
//                     transposes
//   stencil, Taylor   the gradient against differences of the loss (system/check_differences.h)
//   comparisons       of the gradient with other ways to it, where the physics has some
//
// Tests: tests/study/check_test.cpp.
#pragma once

#include "costate/study/study.h"

namespace costate::study {

// Over study.inputs(). Open the study for a check (io::Opening): in double precision, with tight tolerances,
// over its first steps.
std::vector<check::Result> check_gradient(Study& study, std::uint64_t seed = 1);

}  // namespace costate::study

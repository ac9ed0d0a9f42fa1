// How far the gradient of a study can be followed (system/check/trust.h), in units of the scales of its
// variables.
// Tests: tests/study/trust_test.cpp.
#pragma once

#include "costate/study/study.h"
#include "costate/system/check/trust.h"

namespace costate::study {

// Of the loss at z and its gradient there, in units of the scales.
check::Trust trust(Study& study, const std::vector<double>& z, double loss,
                   const std::vector<double>& gradient, const check::TrustOptions& options = {});

}  // namespace costate::study

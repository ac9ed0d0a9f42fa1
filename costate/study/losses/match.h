// match: points that should be where they were in another run.
//
//   1/(2N) sum_i |x_i - target_i|^2
//
// Tests: tests/study/losses_test.cpp.
#pragma once

#include "costate/study/losses/points.h"

namespace costate::study {

// targets: points x dimension. Error where they do not fit.
template <class Real>
ObjectivePtr<Real> match(const Points& points, const std::vector<double>& targets, double weight,
                         std::vector<std::int64_t> steps);

}  // namespace costate::study

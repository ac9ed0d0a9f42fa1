// A few worlds of many: a system and a loss whose world 0 is world `first` of a larger job. A step draws its
// noise, and a loss takes its target, by the number of a world in the whole job.
//
// `first` is read at every step, so one system serves one block after the other, never two at a time.
// Tests: tests/cluster/rollout_job_test.cpp.
#pragma once

#include <memory>
#include <string>

#include "costate/system/objective.h"
#include "costate/system/system.h"

namespace costate::cluster {

template <class Real>
std::shared_ptr<const System<Real>> shifted(std::shared_ptr<const System<Real>> system,
                                            std::shared_ptr<const std::int64_t> first);
// `worlds`: of the whole job.
template <class Real>
ObjectivePtr<Real> shifted(ObjectivePtr<Real> objective, std::shared_ptr<const std::int64_t> first,
                           std::int64_t worlds);

// "step 3 of 10, world 2" of a block that begins at world 256: "step 3 of 10, world 258".
std::string in_the_whole_job(std::string where, std::int64_t first);

}  // namespace costate::cluster

// RolloutJob: a rollout of many worlds as a Job. theta are parameters that all worlds share; whatever else
// the worlds start from and are driven by may differ from world to world.
//
//   f(theta) = sum over worlds w of L(rollout of world w with the parameters theta)
//
// A block is a rollout of its worlds. Inside it, noise and objective see the number of a world in the whole
// job, so the partition does not change what a world does.
// Tests: tests/cluster/rollout_job_test.cpp.
#pragma once

#include <memory>

#include "costate/cluster/job.h"
#include "costate/system/rollout.h"

namespace costate::cluster {

struct RolloutJobOptions {
  std::int64_t block = 256;            // worlds of a block
  std::vector<std::string> variables;  // parameters, as globs, in the order of the signature: theta
  // Of the model and the loss, which a log cannot see: a job of another name is another job.
  std::string name = {};
};

// `options.worlds` are those of the whole job; arguments that have as many rows are different in every
// world. Error where a glob matches nothing, or a variable differs between worlds.
std::shared_ptr<const Job> rollout_job(std::shared_ptr<const System<double>> system, RolloutOptions options,
                                       Arguments<double> arguments, ObjectivePtr<double> objective,
                                       RolloutJobOptions how);
// theta where the arguments are.
std::vector<double> start_of(const Arguments<double>& arguments, const std::vector<std::string>& variables);

}  // namespace costate::cluster

// StudyJob: a study as a job of a pool. It travels as the text of its file.
//
//   theta = z                   the loss there
//   theta = (z, first, count)   residuals first ... first + count - 1 of a fit and, where the gradient is
//                               wanted, their derivatives, row-major, as the sums of the Part
//
// Every point is one block. A row of the Jacobian does not depend on the others, so neither do its bits.
// Tests: tests/apps/pool_test.cpp.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "costate/cluster/job.h"
#include "costate/io/scene/load_study.h"
#include "costate/system/run/pool.h"

namespace costate::app {

class StudyJob final : public cluster::Job {
 public:
  StudyJob(std::string text, std::string name, std::vector<io::Setting> settings);

  cluster::Partition partition() const override { return {1, 1}; }
  std::string identity() const override { return identity_; }
  std::string description() const override;
  cluster::Part part(const std::vector<double>& theta, const cluster::Block& block,
                     cluster::Want want) const override;

 private:
  std::string text_, name_, identity_;
  std::vector<io::Setting> settings_;
  std::size_t variables_ = 0;
  mutable costate::Pool<study::Study> studies_;
};

// What a worker makes of a description().
std::unique_ptr<cluster::Job> study_job_of(const std::string& description);

// Whether the residuals of a fit can be computed some at a time: those of a simulation in steps. Equations
// have all of them from one solution.
bool has_rows(const study::Study& study);
int rows_per_block(int residuals);
std::vector<double> point_of_rows(std::vector<double> z, int first, int count);

}  // namespace costate::app

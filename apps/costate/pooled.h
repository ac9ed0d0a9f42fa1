// --pool: the losses of a generation of cma_es, and the measurements of a fit with their derivatives, by
// threads, by processes that are this program again (costate work), or by ranks of MPI. Guide:
// docs/cluster.md.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "commands.h"
#include "costate/cluster/pool.h"
#include "ranks.h"

namespace costate::app {

// Of --pool mpi: a rank that is not the first one computes for the first one here, before it says anything,
// and ends the program when the first one has ended.
void serve_if_pooled(const study::Study& study, const Arguments& arguments);

class Pooled {
 public:
  // Error where --pool makes no sense.
  Pooled(const study::Study& study, const Arguments& arguments);

  // For study::optimise. Empty, and said so, where the method asks for one point at a time.
  std::function<void(const double*, int, double*)> values();
  std::function<void(const std::vector<double>& z, double* residual, double* jacobian)> residuals();
  std::string report() const;
  // For the bar: how many workers there are, and how many were lost; empty before they begin.
  std::string state() const;

 private:
  std::unique_ptr<cluster::Job> job_;
  std::unique_ptr<cluster::Pool> pool_;
  std::size_t variables_;
  int data_;
};

}  // namespace costate::app

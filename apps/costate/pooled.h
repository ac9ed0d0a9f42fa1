// --pool: the losses of a generation of cma_es, computed by threads, by processes that are this program again
// (costate work), or by ranks of MPI. Guide: docs/cluster.md.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "commands.h"
#include "costate/cluster/pool.h"

namespace costate::app {

// What a program that was built with MPI knows about its ranks; empty otherwise.
struct Ranks {
  std::function<std::unique_ptr<cluster::Transport>()> transport;
  std::function<int()> rank;
  std::function<void(const cluster::Job&)> serve;
};
Ranks& ranks_of_mpi();

class Pooled {
 public:
  // Error where --pool makes no sense. A rank of MPI that is not the first one serves here, and ends the
  // program when the first one has ended.
  Pooled(const study::Study& study, const Arguments& arguments);

  // Empty, and said so, where the method asks for one point at a time.
  std::function<void(const double*, int, double*)> values();
  std::string report() const;

 private:
  std::unique_ptr<cluster::Job> job_;
  std::unique_ptr<cluster::Pool> pool_;
  std::size_t variables_;
  bool generations_;
};

}  // namespace costate::app

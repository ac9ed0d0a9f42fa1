// Ranks of MPI as workers: rank 0 deals, the others compute. Built where CMake finds MPI.
//
//   const auto job = ...;                                      // the same on every rank
//   if (cluster::mpi_rank() > 0) return cluster::mpi_serve(*job), 0;
//   cluster::Pool pool(cluster::mpi());                        // mpirun -n 9: eight ranks compute
//
// With one rank alone, rank 0 computes too. A task is a whole node of the tree of sums, so that a rank sends
// about 2 log2(blocks) Parts per call. A rank that dies ends the job, as MPI does; go on from a log (log.h).
// Tests: tests/cluster/mpi_test.cmake.
#pragma once

#include "costate/cluster/transport.h"
#include "costate/system/channel.h"

namespace costate::cluster {

// These start MPI where nobody has, and end it with the process.
int mpi_rank();
std::unique_ptr<Transport> mpi();
// How ranks that share one world talk to each other (world/split_rollout.h).
std::unique_ptr<Channel> mpi_channel();
// Until rank 0 goes on to another job, or ends.
void mpi_serve(const Job& job);

}  // namespace costate::cluster

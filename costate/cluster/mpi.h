// Ranks of MPI as workers: rank 0 deals, the others compute. Built where CMake finds MPI.
//
//   const auto job = ...;                                      // the same on every rank
//   if (cluster::mpi_rank() > 0) return cluster::mpi_serve(*job), 0;
//   cluster::Pool pool(cluster::mpi());                        // mpirun -n 9: eight ranks compute
//
// With one rank alone, rank 0 computes too. A task is a whole node of the tree of sums, so that a rank sends
// about 2 log2(blocks) Parts per call. A rank that dies ends the job, as MPI does; go on from a log (log.h).
//
// One large world over ranks: device = "mpi" (world/ranks.h). Rank 0 has the Rollout, the others follow.
//
//   cluster::register_mpi();
//   if (cluster::mpi_rank() > 0) return cluster::mpi_follow(*system), 0;
//   Rollout<double> rollout(system, {.steps = 100, .device = "mpi"});
//
// Tests: tests/cluster/mpi_test.cmake.
#pragma once

#include "costate/cluster/transport.h"
#include "costate/system/channel.h"
#include "costate/system/system.h"

namespace costate::cluster {

// These start MPI where nobody has, and end it with the process.
int mpi_rank();
std::unique_ptr<Transport> mpi();
// How ranks that share one world talk to each other (world/split_rollout.h).
std::unique_ptr<Channel> mpi_channel();
// Until rank 0 goes on to another job, or ends.
void mpi_serve(const Job& job);
// On rank 0: the others, which serve already, will be told when it ends, whether it makes a pool or not.
void mpi_deal();
// On a rank that cannot serve: the pool of rank 0 stops with this Error.
void mpi_refuse(const Error& error);

void register_mpi();
// On a rank other than 0: computes for the rollouts of rank 0 until that one ends.
template <class Real>
void mpi_follow(const System<Real>& system);
// On rank 0: the others will be told when it ends, whether it makes a Rollout or not.
void mpi_lead();
// On a rank that cannot follow: rank 0 stops with this Error at its next word to the others.
void mpi_fail(const Error& error);

}  // namespace costate::cluster

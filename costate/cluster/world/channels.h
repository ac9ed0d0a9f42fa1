// Ranks of one process: threads that talk through memory. For tests, and to try a split world on one machine;
// ranks of MPI: cluster/mpi.h.
// Tests: tests/cluster/channel_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "costate/system/channel.h"

namespace costate::cluster {

// One channel per rank; they may be used by different threads.
std::vector<std::unique_ptr<Channel>> channels(int ranks);

// body(channel) on `ranks` threads at once. Throws the Error of the lowest rank that failed of its own
// accord.
void on_ranks(int ranks, const std::function<void(Channel&)>& body);

}  // namespace costate::cluster

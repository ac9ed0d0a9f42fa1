// Ranks of MPI: mpirun starts this program on each of them. One of them is the user's; the others compute for
// it, and end when it ends. Guide: docs/cluster.md.
#pragma once

#include <functional>
#include <memory>

#include "costate/cluster/transport.h"
#include "costate/study/study.h"
#include "costate/system/system.h"

namespace costate::app {

// What a program that was built with MPI knows about its ranks; empty otherwise.
struct Ranks {
  std::function<int()> rank;
  // Of --pool mpi.
  std::function<std::unique_ptr<cluster::Transport>()> transport;
  std::function<void(const cluster::Job&)> serve;
  std::function<void()> deal;
  std::function<void(const Error&)> refuse;
  // Of --device mpi.
  std::function<void()> lead;
  std::function<void(const System<float>&)> follow_in_float;
  std::function<void(const System<double>&)> follow_in_double;
  std::function<void(const Error&)> fail;
};
Ranks& ranks_of_mpi();

// Makes ranks known as a device. Where one world is split over the ranks of MPI, each rank but the first
// computes its piece here, and ends the program when the first one has ended.
void follow_if_split(const study::Study& study);
// Where the rollouts of a study run; equations: "cpu".
std::string device_of(const study::Study& study);
// Whether this is a rank of --pool mpi or --device mpi that leaves all words to the first one, which is told.
bool leaves_words_to_the_first(const Error& error, const std::string& pool, const std::string& device);

}  // namespace costate::app

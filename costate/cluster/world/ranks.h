// Ranks: one large world over ranks, as a device of Rollout (system/devices.h).
//
//   device = "ranks:4"   this thread and three others
//   device = "mpi"       the ranks of mpirun (cluster/mpi.h)
//
// The first rank is where the Rollout is: it has the arguments, the objective and the observers, and orders
// what the others do. They hold their pieces of the states. So scene files, the command line, Python and
// every optimiser work on a split world as on any other, and values and gradients have the bits of the CPU.
// Every rank is sent the whole start, and the first one gathers whole states where the loss wants them;
// SplitRollout (split_rollout.h) leaves them where they are.
//
// Tests: tests/cluster/ranks_test.cpp, mpi_world.cpp. Guide: docs/cluster.md.
#pragma once

#include <functional>
#include <memory>

#include "costate/system/backend.h"
#include "costate/system/channel.h"

namespace costate::cluster {

// The ranks that a Rollout works with, besides its own.
class Crew {
 public:
  virtual ~Crew() = default;
  virtual Channel& channel() = 0;  // of the first rank; the others follow()
  virtual void failed() = 0;       // an Error has stopped all: the next order begins anew
  virtual int turn() const = 0;    // how often that has happened
};
template <class Real>
using MakeCrew = std::function<std::unique_ptr<Crew>(const System<Real>&)>;

template <class Real>
std::shared_ptr<const Backend<Real>> split_backend(MakeCrew<Real> make);

// On every rank but the first: carries out orders until end_following(). Throws what stopped all ranks.
template <class Real>
void follow(Channel& channel, const System<Real>& system);
// By the first rank.
void end_following(Channel& channel);

// Makes "ranks" a kind of device.
void register_ranks();

extern template std::shared_ptr<const Backend<float>> split_backend(MakeCrew<float>);
extern template std::shared_ptr<const Backend<double>> split_backend(MakeCrew<double>);
extern template void follow(Channel&, const System<float>&);
extern template void follow(Channel&, const System<double>&);

}  // namespace costate::cluster

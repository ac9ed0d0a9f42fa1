// Channel: how the ranks that share one world talk to each other. Threads of one process and ranks of MPI
// stand behind it (cluster/world/channels.h, cluster/mpi.h).
//
// Messages between two ranks arrive in the order in which they were sent. A message is of one kind, and the
// bytes of each kind are counted: what a split world sends can be predicted, and is tested.
// Tests: tests/cluster/channel_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "costate/core/error.h"

namespace costate {

enum class Traffic {
  halo,   // what neighbours need of each other in every step
  moved,  // elements that change their owner
  sums,   // numbers that all ranks add up
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  // Returns at once, whether the other rank waits or not.
  void send(int to, std::string bytes, Traffic kind) {
    sent_[std::size_t(kind)] += std::int64_t(bytes.size());
    put(to, std::move(bytes));
  }
  // The next message from that rank. Throws what fail() was told, there or at a rank that it waited for: a
  // failure does not overtake what was sent before it, and so all ranks stop in the same exchange.
  std::string receive(int from) { return get(from); }

  // What every rank has said, in the order of the ranks. All ranks must call it.
  std::vector<std::string> gather(std::string mine, Traffic kind = Traffic::sums) {
    std::vector<std::string> all(static_cast<std::size_t>(ranks()));
    if (ranks() == 1) return all[0] = std::move(mine), all;
    if (rank() > 0) {
      send(0, std::move(mine), kind);
      for (std::string& one : all) one = receive(0);
      return all;
    }
    all[0] = std::move(mine);
    for (int r = 1; r < ranks(); ++r) all[std::size_t(r)] = receive(r);
    for (int r = 1; r < ranks(); ++r)
      for (const std::string& one : all) send(r, one, kind);
    return all;
  }

  // This rank cannot go on: others stop with the same Error where they wait for it.
  virtual void fail(const Error& error) = 0;

  std::int64_t sent(Traffic kind) const { return sent_[std::size_t(kind)]; }

 protected:
  virtual void put(int to, std::string bytes) = 0;
  virtual std::string get(int from) = 0;

 private:
  std::array<std::int64_t, 3> sent_ = {};
};

}  // namespace costate

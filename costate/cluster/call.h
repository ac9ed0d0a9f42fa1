// Call: one evaluation of a job at one or several points, as a state machine. It decides who computes what,
// takes lost work back, and adds up what arrives; it neither waits nor sends. Every executor, the simulated
// one of the tests included, is a loop around it.
//
//   deal        the free node with the lowest blocks, halved until it has at most free / (2 workers) blocks
//               (guided self-scheduling [1]), so that large nodes come first and small ones fill the end. An
//               executor whose messages are cheap asks for single blocks instead
//   lost        the nodes of a worker that left are free again; a node that has ended `most_tries` workers is
//               an Error
//   stragglers  where nothing is free and a node takes `patience` times as long as nodes of its size took on
//               average, an idle worker computes it too. The first answer counts
//
// The result depends on none of it (tree.h).
// [1] Polychronopoulos, Kuck: Guided self-scheduling, IEEE Trans. Computers 36 (1987).
// Tests: tests/cluster/simulated_test.cpp, pool_test.cpp.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "costate/cluster/job.h"

namespace costate::cluster {

// What a worker is asked for: a node of one of the points.
struct Task {
  std::int64_t point = 0;
  Node node;
  auto operator<=>(const Task&) const = default;
};

struct CallOptions {
  std::int64_t most_blocks = 1;  // of a task
  int most_tries = 4;            // of a task, before its blocks are blamed
  double patience = 1.5;         // infinity: stragglers are waited for
};

// What was done, of one call or of many.
struct Counts {
  std::int64_t blocks = 0;   // that were needed
  std::int64_t resumed = 0;  // of them, read from a log
  std::int64_t tasks = 0;    // answers that counted
  std::int64_t lost = 0;     // workers that left while they computed
  std::int64_t redone = 0;   // blocks that were dealt again for it
  std::int64_t copied = 0;   // blocks that a second worker computed for a straggler
  struct Worker {
    std::int64_t blocks = 0;
    double seconds = 0;  // in which it computed
  };
  std::map<int, Worker> workers = {};

  void add(const Counts& other);
};

class Call {
 public:
  Call(std::int64_t points, Partition partition, CallOptions options = {});

  // A node that is known already. Before anything is dealt, and none inside another.
  void resume(const Task& task, Part part);
  // What an idle worker does next; nothing: there is nothing to do for now. `workers`: how many there are.
  std::optional<Task> next(int worker, int workers, double now);
  // False: another worker's answer was first, or the task was taken back. `seconds` that it computed.
  bool finished(int worker, const Task& task, Part part, double seconds);
  // `why` in words: "signal 9". Error where a task has ended too many workers.
  void lost(int worker, const std::string& why);

  bool complete() const { return incomplete_ == 0; }
  // Until when an idle worker may sleep if nothing else happens: then a straggler is due.
  double next_look(double now) const;
  const Part& total(std::int64_t point) const { return sums_[std::size_t(point)].total(); }
  std::int64_t done() const { return done_; }  // blocks
  std::int64_t blocks() const { return blocks_ * std::int64_t(sums_.size()); }
  const Counts& counts() const { return counts_; }

 private:
  struct Dealt {
    std::map<int, double> since = {};  // who computes it, and from when on
    double first = 0;                  // when it was first dealt
  };
  void settle(const Task& task, Part part);
  double patience_for(const Task& task) const;
  std::int64_t count(const Task& task) const { return task.node.count(blocks_); }
  std::optional<Task> straggler(int worker, double now) const;

  Partition partition_;
  CallOptions options_;
  std::int64_t blocks_, incomplete_, free_blocks_, done_ = 0;
  std::vector<TreeSum> sums_;
  std::deque<Task> free_;
  std::map<Task, Dealt> dealt_;
  std::map<int, Task> computes_;
  std::map<Task, int> tries_;
  double seconds_ = 0;         // that answers took ...
  std::int64_t answered_ = 0;  // ... for so many blocks
  Counts counts_;
};

}  // namespace costate::cluster

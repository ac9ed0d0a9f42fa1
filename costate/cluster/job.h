// Job: a sum over many worlds, cut into blocks that can be computed anywhere.
//
//   f(theta) = sum over blocks b of part(theta, worlds of b)
//
// A block is a pure function of theta and of the numbers of its worlds: it draws its noise from the seed and
// the number of a world in the whole job, never from who computes it or when. That is why a lost block is
// simply computed again, and why every pool gives the same bits.
// Tests: tests/cluster/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costate/cluster/part.h"
#include "costate/cluster/tree.h"

namespace costate::cluster {

// Worlds [first, first + count) of the job.
struct Block {
  std::int64_t first = 0, count = 0;
};

// `worlds` in blocks of `block`; the last one may be smaller.
struct Partition {
  std::int64_t worlds = 1, block = 1;

  std::int64_t blocks() const { return (worlds + block - 1) / block; }
  Block at(std::int64_t number) const;
};

enum class Want { value, gradient };

class Job {
 public:
  virtual ~Job() = default;
  virtual Partition partition() const = 0;
  // Equal for two jobs whose blocks are interchangeable: the model, the data, the seed, the settings.
  virtual std::string identity() const = 0;
  // What a worker program makes the job from (worker.h). Empty: only this process and its forks have it.
  virtual std::string description() const { return {}; }
  // By several threads at once. With Want::value the sums may be empty. Throws Error.
  virtual Part part(const std::vector<double>& theta, const Block& block, Want want) const = 0;
};

// Error where the worlds or the block are not positive.
void check(const Partition& partition);
// The blocks of a node, added in the order of the tree. An Error of a block becomes its Part's failure.
Part part_of_node(const Job& job, const std::vector<double>& theta, Want want, Node node);

}  // namespace costate::cluster

// Workers that are simulated: a clock that jumps from event to event, delays and failures by a seed. What
// they compute is real. The test double of every other executor, for more workers than there are cores.
// Tests: tests/cluster/simulated_test.cpp.
#pragma once

#include "costate/cluster/transport.h"

namespace costate::cluster {

struct Simulation {
  int workers = 4;
  std::uint64_t seed = 1;
  double seconds_per_block = 1;
  double noise = 0.1;          // of the time of a task: times exp(noise * normal)
  double latency = 1e-4;       // of a message, seconds
  double chance_of_death = 0;  // of a worker, per task; another one joins ten blocks later
  int slow_workers = 0;        // five times slower than the others
  std::int64_t most_blocks = std::numeric_limits<std::int64_t>::max();
};

class Simulated : public Transport {
 public:
  // Parts that were sent to the driver.
  virtual std::int64_t messages() const = 0;
};

std::unique_ptr<Simulated> simulated(const Simulation& simulation);

}  // namespace costate::cluster

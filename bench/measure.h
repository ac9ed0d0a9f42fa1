// The counters of a benchmark, as bench/bench.py reads them. Register with ->UseRealTime(): the work is done
// by all threads.
#pragma once
#include <benchmark/benchmark.h>

namespace costate::bench {

// What one iteration did. `items` is what the rate counts: steps of a world, particles, cells. Zero means
// unknown.
struct Work {
  double items = 0;
  double flops = 0;  // a multiply-add is two
  double bytes = 0;  // to and from memory
};

inline void report(benchmark::State& state, const Work& per_iteration) {
  const auto rate = [](double amount) {
    return benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
  };
  if (per_iteration.items > 0) state.counters["rate"] = rate(per_iteration.items);
  if (per_iteration.flops > 0) state.counters["flops"] = rate(per_iteration.flops);
  if (per_iteration.bytes > 0) state.counters["bytes"] = rate(per_iteration.bytes);
}

}  // namespace costate::bench

// What dealing costs: blocks that compute nothing, with a gradient of 1000 numbers. And weak scaling: four
// blocks of 200 ms of arithmetic per worker; its rate would grow with the workers as long as there are cores.
// Processes are forks, which a process with threads refuses: run ./dev bench cluster by itself.
#include <chrono>
#include <cmath>
#include <string>

#include "bench/measure.h"
#include "costate/cluster/pool.h"
#include "costate/cluster/processes.h"
#include "costate/cluster/threads.h"

namespace costate::bench {
namespace {

using Clock = std::chrono::steady_clock;

class Blocks final : public cluster::Job {
 public:
  Blocks(std::int64_t blocks, long turns) : blocks_(blocks), turns_(turns) {}
  cluster::Partition partition() const override { return {blocks_, 1}; }
  std::string identity() const override { return std::to_string(blocks_) + "x" + std::to_string(turns_); }
  cluster::Part part(const std::vector<double>& theta, const cluster::Block& block,
                     cluster::Want) const override {
    double x = double(block.first);
    for (long k = 0; k < turns_; ++k) x = std::fma(x, 0.999, 1e-3);
    cluster::Part part;
    part.value = x;
    part.sums.assign(theta.size(), x);
    return part;
  }

 private:
  std::int64_t blocks_;
  long turns_;
};

void run(benchmark::State& state, bool forks, std::int64_t blocks, long turns) {
  const int workers = int(state.range(0));
  const Blocks job(blocks * (turns > 0 ? workers : 1), turns);
  const std::vector<double> theta(1000, 1.0);
  try {
    cluster::Pool pool(forks ? cluster::processes(workers) : cluster::threads(workers));
    pool.value_and_grad(job, theta);
    for (auto _ : state) benchmark::DoNotOptimize(pool.value_and_grad(job, theta).value);
    state.counters["efficiency"] = pool.report().efficiency();
  } catch (const Error& error) {
    state.SkipWithError(error.what());
  }
  report(state, {.items = double(job.partition().blocks())});
}

// Turns of the arithmetic that take 200 ms here and now.
long turns_of_200_ms() {
  long turns = 4'000'000;
  benchmark::DoNotOptimize(turns);  // a compiler that knows the start finds its fixed point
  const auto began = Clock::now();
  benchmark::DoNotOptimize(Blocks(1, turns).part({}, {turns, 1}, cluster::Want::value).value);
  return long(0.2 / std::chrono::duration<double>(Clock::now() - began).count() * double(turns));
}

void overhead_threads(benchmark::State& state) { run(state, false, 256, 0); }
void overhead_processes(benchmark::State& state) { run(state, true, 256, 0); }
void scaling_processes(benchmark::State& state) { run(state, true, 4, turns_of_200_ms()); }

BENCHMARK(overhead_threads)->Name("cluster/overhead/threads")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(overhead_processes)->Name("cluster/overhead/processes")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(scaling_processes)->Name("cluster/weak_scaling/processes")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace costate::bench

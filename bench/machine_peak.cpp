// What this machine can do at most: multiply-adds per second, and bytes per second to and from memory. The
// other benchmarks are shown as a share of these.
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "bench/measure.h"
#include "costate/core/pack.h"
#include "costate/core/parallel.h"

namespace costate::bench {
namespace {

// Independent chains of fused multiply-adds: enough to fill two pipes of latency 5, few enough for 16
// registers.
template <class T>
void fma_peak(benchmark::State& state) {
  using P = NativePack<T>;
  constexpr int kChains = 12;
  constexpr int kRounds = 1 << 16;
  const int pieces =
      16 * thread_count();  // several each, so that a thread that starts late does not count as idle
  std::vector<T> sums(static_cast<std::size_t>(pieces));
  for (auto _ : state) {
    parallel_for(pieces, 1, [&](std::int64_t piece, std::int64_t) {
      // x <- x * 0.999 + 0.001 stays near one: neither overflow nor denormals disturb the timing.
      const volatile T factor = T(0.999), term = T(0.001);  // unknown to the compiler
      const P a(factor), b(term);
      std::array<P, kChains> x;
      for (int c = 0; c < kChains; ++c) x[static_cast<std::size_t>(c)] = P(T(1) + T(0.01) * T(c));
      for (int round = 0; round < kRounds; ++round)
        for (P& chain : x) chain = chain * a + b;
      P sum(T(0));
      for (const P& chain : x) sum += chain;
      sums[static_cast<std::size_t>(piece)] = sum[0];
    });
    benchmark::DoNotOptimize(sums.data());
    benchmark::ClobberMemory();
  }
  report(state, {.flops = 2.0 * kRounds * kChains * P::lanes * pieces});
}
BENCHMARK(fma_peak<float>)->Name("machine/fma_peak/float")->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(fma_peak<double>)->Name("machine/fma_peak/double")->UseRealTime()->Unit(benchmark::kMillisecond);

// a = b + s c on arrays far larger than the caches, counted as STREAM counts: two reads and one write, no
// write-allocate.
void triad_bandwidth(benchmark::State& state) {
  constexpr std::int64_t kCount = std::int64_t(1) << 24;
  constexpr std::int64_t kGrain = std::int64_t(1) << 16;
  const auto size = static_cast<std::size_t>(kCount);
  std::vector<double> a(size, 0.0), b(size, 1.0), c(size, 2.0);
  for (auto _ : state) {
    parallel_for(kCount, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
        a[i] = b[i] + 3.0 * c[i];
    });
    benchmark::ClobberMemory();
  }
  report(state, {.bytes = 3.0 * sizeof(double) * double(kCount)});
}
BENCHMARK(triad_bandwidth)->Name("machine/triad_bandwidth")->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace costate::bench

#include <benchmark/benchmark.h>

#include <string>

#include "costate/core/parallel.h"
#include "costate/core/platform.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
#if defined(__clang__)
  benchmark::AddCustomContext("compiler", "clang++ " __clang_version__);
#else
  benchmark::AddCustomContext("compiler", "g++ " __VERSION__);
#endif
  benchmark::AddCustomContext("simd", std::to_string(8 * costate::kSimdBytes) + " bit");
  benchmark::AddCustomContext("threads", std::to_string(costate::thread_count()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

// Sums 1 to 100 with packs (headers) in a parallel loop (library).
#include <cstdio>

#include "costate/core/pack.h"
#include "costate/core/parallel.h"

int main() {
  const double sum = costate::parallel_sum(100, 7, 0.0, [](std::int64_t begin, std::int64_t end) {
    costate::NativePack<double> part(0.0);
    for (std::int64_t i = begin; i < end; ++i) part += costate::NativePack<double>(double(i + 1));
    return part[0];
  });
  std::printf("%g\n", sum);
  return sum == 5050 ? 0 : 1;
}

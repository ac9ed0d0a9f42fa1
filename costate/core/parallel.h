// Parallel loops whose results do not depend on the number of threads.
//
// Work is cut into chunks of a fixed size, never into as many parts as there are threads: the same element is always handled
// by the same code at the same place in a chunk, and reductions add chunk results in the order of the chunks.
// Tests: tests/core/parallel_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace costate {

// Threads that loops may use; 0 asks for one per core. Applies to the whole process.
void set_thread_count(int threads);
int thread_count();

// body(begin, end) for consecutive chunks of `grain` elements of [0, count). The first exception thrown leaves the loop.
// A loop inside a loop is allowed: a thread that waits in the inner one takes no work from the outer one.
void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

// Sum of term(begin, end) over chunks, added in order of the chunks.
template <class T, class Term>
T parallel_sum(std::int64_t count, std::int64_t grain, T zero, const Term& term) {
  const std::int64_t chunks = (count + grain - 1) / grain;
  std::vector<T> partial(static_cast<std::size_t>(chunks), zero);
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    partial[static_cast<std::size_t>(begin / grain)] = term(begin, end);
  });
  T sum = zero;
  for (const T& part : partial) sum += part;
  return sum;
}

}  // namespace costate

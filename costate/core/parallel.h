// Parallel loops whose results do not depend on the number of threads.
//
// Work is cut into chunks of a fixed size, never into as many parts as there are threads: the same element is
// always handled by the same code at the same place in a chunk, and reductions add chunk results in the order
// of the chunks.
// Tests: tests/core/parallel_test.cpp.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

namespace costate {

// A loop body that is borrowed for the length of a call: unlike std::function it never allocates.
class ChunkBody {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, ChunkBody>)
      ChunkBody(const F& f)  // NOLINT: implicit on purpose
      : object_(&f), call_([](const void* object, std::int64_t begin, std::int64_t end) {
          (*static_cast<const F*>(object))(begin, end);
        }) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

 private:
  const void* object_;
  void (*call_)(const void*, std::int64_t, std::int64_t);
};

// Threads that loops may use; 0 asks for one per core. Applies to the whole process.
void set_thread_count(int threads);
int thread_count();

// body(begin, end) for consecutive chunks of `grain` elements of [0, count). The first exception thrown
// leaves the loop. A loop inside a loop is allowed: a thread that waits in the inner one takes no work from
// the outer one.
void parallel_for(std::int64_t count, std::int64_t grain, ChunkBody body);

// Sum of term(begin, end) over chunks, added in order of the chunks.
template <class T, class Term>
T parallel_sum(std::int64_t count, std::int64_t grain, T zero, const Term& term) {
  const std::int64_t chunks = (count + grain - 1) / grain;
  std::vector<T> partial(static_cast<std::size_t>(chunks), zero);
  parallel_for(count, grain,
               [&](std::int64_t begin, std::int64_t end) { partial[begin / grain] = term(begin, end); });
  T sum = zero;
  for (const T& part : partial) sum += part;
  return sum;
}

}  // namespace costate

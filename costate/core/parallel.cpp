#include "costate/core/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <mutex>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace costate {
namespace {

// What a parallel loop orders: all before it, then its chunks, then all after it. oneTBB, which sees to that,
// is not instrumented, so the thread sanitizer has to be told.
class Order {
 public:
#ifdef __SANITIZE_THREAD__
  Order() { __tsan_release(&begin_); }
  ~Order() { __tsan_acquire(&end_); }
  void begin_chunk() { __tsan_acquire(&begin_); }
  void end_chunk() { __tsan_release(&end_); }

 private:
  char begin_ = 0, end_ = 0;
#else
  void begin_chunk() {}
  void end_chunk() {}
#endif
};

std::mutex limit_mutex;
std::unique_ptr<tbb::global_control> limit;

}  // namespace

void set_thread_count(int threads) {
  const std::lock_guard lock(limit_mutex);
  limit.reset();
  if (threads > 0) {
    limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                  static_cast<std::size_t>(threads));
  }
}

int thread_count() {
  return static_cast<int>(
      std::min<std::size_t>(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism),
                            static_cast<std::size_t>(tbb::info::default_concurrency())));
}

void parallel_for(std::int64_t count, std::int64_t grain, ChunkBody body) {
  if (count <= 0) return;
  const std::int64_t chunks = (count + grain - 1) / grain;
  const auto chunk = [&](std::int64_t c) { body(c * grain, std::min((c + 1) * grain, count)); };
  if (chunks == 1) return chunk(0);
  // Every thread computes under the caller's rounding, denormal and trap settings.
  using Context = tbb::task_group_context;
  Context context(Context::bound, Context::concurrent_wait | Context::fp_settings);
  Order order;
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::int64_t>(0, chunks, 1),
        [&](const tbb::blocked_range<std::int64_t>& range) {
          order.begin_chunk();
          for (std::int64_t c = range.begin(); c != range.end(); ++c) chunk(c);
          order.end_chunk();
        },
        tbb::auto_partitioner{}, context);
  });
}

}  // namespace costate

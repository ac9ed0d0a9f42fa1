#include "costate/core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>

namespace costate {
namespace {

TEST(Parallel, VisitsEveryElementOnce) {
  std::vector<std::atomic<int>> seen(1003);
  parallel_for(1003, 17, [&](std::int64_t b, std::int64_t e) {
    for (auto i = b; i < e; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  for (auto& s : seen) EXPECT_EQ(s, 1);
}

TEST(Parallel, SumHasTheSameBitsForAnyThreadCount) {
  const auto sum = [] {
    return parallel_sum(100000, 137, 0.0, [](std::int64_t b, std::int64_t e) {
      double s = 0;
      for (auto i = b; i < e; ++i) s += std::sin(double(i));
      return s;
    });
  };
  const double reference = sum();
  for (int threads : {1, 2, 3, 7}) {
    set_thread_count(threads);
    EXPECT_EQ(sum(), reference);
  }
  set_thread_count(0);
}

TEST(Parallel, AnExceptionLeavesTheLoop) {
  EXPECT_THROW(parallel_for(100, 1,
                            [](std::int64_t b, std::int64_t) {
                              if (b == 57) throw std::runtime_error("x");
                            }),
               std::runtime_error);
}

}  // namespace
}  // namespace costate

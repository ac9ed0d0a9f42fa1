#include "costate/core/progress.h"

#include <gtest/gtest.h>

#include <thread>

namespace costate {
namespace {

TEST(Progress, ThreadsThatHelpAddUp) {
  EXPECT_EQ(Progress::current(), nullptr);
  Progress::advance(5);  // of nobody
  {
    Progress progress(10);
    EXPECT_EQ(Progress::current(), &progress);
    Progress::advance(2);
    std::thread other([&] {
      Progress::advance(100);  // does not help
      const Progress::Helper helper(&progress);
      Progress::advance(3);
    });
    other.join();
    EXPECT_EQ(progress.part(), 0.5);
    {
      const Progress inner(4);
      Progress::advance(1);
      EXPECT_EQ(inner.part(), 0.25);
    }
    EXPECT_EQ(progress.part(), 0.5);
    Progress::advance(50);
    EXPECT_EQ(progress.part(), 1.0);
  }
  EXPECT_EQ(Progress::current(), nullptr);
}

TEST(Progress, WhoeverWatchesHearsOfTheEnd) {
  static int ended = 0;
  Progress::set_ended([] { ++ended; });
  { const Progress progress(1); }
  EXPECT_EQ(ended, 1);
  Progress::set_ended(nullptr);
  { const Progress progress(1); }
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace costate

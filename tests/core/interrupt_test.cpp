#include "costate/core/interrupt.h"

#include <gtest/gtest.h>

namespace costate {
namespace {

struct Stopped {};

TEST(Interrupt, WithoutATestNothingStops) { EXPECT_NO_THROW(stop_if_interrupted()); }

TEST(Interrupt, TheTestStopsByThrowing) {
  set_interrupt_test([] { throw Stopped{}; });
  EXPECT_THROW(stop_if_interrupted(), Stopped);
  set_interrupt_test(nullptr);
  EXPECT_NO_THROW(stop_if_interrupted());
}

}  // namespace
}  // namespace costate

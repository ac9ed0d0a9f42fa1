#include "costate/system/checkpoints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "costate/core/error.h"
#include "tests/expect_error.h"

namespace costate {
namespace {

using costate::test::expect_error;

struct Count {
  std::int64_t advances = 0, recorded = 0, most_slots = 0, longest_tape = 0;
};

// Executes a schedule on the integers: the "state" is the step number. Fails if a step is reversed from a
// wrong state, out of order, twice, or from a slot that was overwritten.
Count execute(const Checkpoints& checkpoints, std::int64_t steps) {
  Schedule schedule(checkpoints, steps);
  Count count;
  std::int64_t state = 0, to_reverse = steps, tape_begin = -1, tape_end = -1;
  std::map<std::int64_t, std::int64_t> slots;
  while (const auto action = schedule.next()) {
    switch (action->kind) {
      case Action::Kind::advance:
        EXPECT_EQ(state, action->begin);
        EXPECT_LT(action->begin, action->end);
        count.advances += action->end - action->begin;
        state = action->end;
        break;
      case Action::Kind::store:
        slots[action->slot] = state;
        count.most_slots = std::max<std::int64_t>(count.most_slots, action->slot + 1);
        break;
      case Action::Kind::restore:
        EXPECT_TRUE(slots.count(action->slot));
        state = slots[action->slot];
        break;
      case Action::Kind::record:
        EXPECT_EQ(state, action->begin);
        tape_begin = action->begin;
        tape_end = action->end;
        count.recorded += tape_end - tape_begin;
        count.longest_tape = std::max(count.longest_tape, tape_end - tape_begin);
        state = action->end;
        break;
      case Action::Kind::reverse:
        EXPECT_EQ(tape_begin, action->begin);
        EXPECT_EQ(tape_end, action->end);
        EXPECT_EQ(to_reverse, action->end);
        to_reverse = action->begin;
        break;
    }
  }
  EXPECT_EQ(to_reverse, 0);
  EXPECT_LE(count.most_slots, schedule.slots());
  EXPECT_LE(count.longest_tape, schedule.tape_length());
  EXPECT_EQ(count.recorded, steps);
  return count;
}

TEST(Checkpoints, BinomialCountsAreThePublishedOnes) {
  const struct {
    std::int64_t steps, slots, advances;
  } published[] = {{10, 3, 15},      {100, 10, 222},   {1000, 5, 6284},
                   {1000, 10, 3636}, {1000, 31, 2439}, {10000, 100, 24747}};
  for (const auto& row : published) {
    EXPECT_EQ(binomial_advances(row.steps, row.slots), row.advances);
    const Count count = execute(binomial(row.slots), row.steps);
    EXPECT_EQ(count.advances, row.advances) << row.steps << " steps, " << row.slots << " slots";
    EXPECT_LE(count.most_slots, row.slots);
  }
}

TEST(Checkpoints, BinomialIsOptimalForEverySmallCase) {
  // t(l, c) = min over m of m + t(l - m, c - 1) + t(m, c), t(1, c) = 0, t(l, 1) = l (l - 1) / 2.
  constexpr int kSteps = 60, kSlots = 8;
  std::vector<std::vector<std::int64_t>> t(kSteps + 1, std::vector<std::int64_t>(kSlots + 1, 0));
  for (int c = 1; c <= kSlots; ++c) {
    for (int l = 2; l <= kSteps; ++l) {
      t[l][c] = l * (l - 1) / 2;
      for (int m = 1; c > 1 && m < l; ++m) t[l][c] = std::min(t[l][c], m + t[l - m][c - 1] + t[m][c]);
    }
  }
  for (int c = 1; c <= kSlots; ++c) {
    for (int l = 1; l <= kSteps; ++l) {
      EXPECT_EQ(execute(binomial(c), l).advances, t[l][c]) << l << " steps, " << c << " slots";
      EXPECT_EQ(binomial_advances(l, c), t[l][c]);
    }
  }
}

TEST(Checkpoints, SegmentsTakeOneExtraSweep) {
  for (std::int64_t steps : {1, 2, 3, 10, 99, 100, 101, 1000}) {
    for (std::int64_t length : {0, 1, 2, 7, 32, 5000}) {
      const Count count = execute(segments(length), steps);
      EXPECT_LT(count.advances, steps);
    }
  }
  EXPECT_EQ(execute(segments(10), 100).most_slots, 9);
  EXPECT_EQ(execute(segments(10), 100).longest_tape, 10);
}

TEST(Checkpoints, StoreAllNeverStepsTwice) { EXPECT_EQ(execute(store_all(), 1000).advances, 0); }

TEST(Checkpoints, AMillionStepsWithThirtySlotsNeedThirtySlots) {
  const Count count = execute(binomial(30), 1000000);
  EXPECT_EQ(count.advances, binomial_advances(1000000, 30));
  EXPECT_LE(count.most_slots, 30);
}

TEST(Checkpoints, NonsenseIsRefused) {
  expect_error([&] { return Schedule(binomial(0), 10); }, "binomial(slots) needs at least one slot");
  expect_error([&] { return Schedule(segments(-1), 10); },
               "segments(length) needs a length of at least one step");
  expect_error([&] { return truncated(0); }, "truncated(steps) needs at least one step");
  EXPECT_FALSE(Schedule(binomial(3), 0).next().has_value());
}

}  // namespace
}  // namespace costate

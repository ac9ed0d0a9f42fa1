// Checkpoint schedules: how a rollout of l steps is reversed in bounded memory.
//
// Reversing needs the states in the opposite order of their making. A schedule says which states are kept
// (snapshots), and when steps are taken again. It is a list of five actions on one working state; anything
// that can execute them can be reversed:
//
//   advance(a, b)   step from a to b, keeping nothing
//   store(slot)     snapshot of the working state
//   restore(slot)   the working state becomes that snapshot
//   record(a, b)    step from a to b, keeping every state on the tape
//   reverse(a, b)   transposes of steps b-1 .. a, from the tape
//
// store_all      one record of everything: no step is taken twice; memory l
// segments       a snapshot every L steps, each segment recorded again: one extra sweep; memory l/L + L,
//                least at L = sqrt(l)
// binomial(c)    c snapshots (the initial state is one), tape of one step: with beta(c, r) = C(c + r, c) and
//                beta(c, r-1) < l <= beta(c, r), exactly r l - beta(c+1, r-1) advances, which is the least
//                possible (Griewank & Walther, Algorithm 799: Revolve, ACM TOMS 26 (2000), Theorem 1)
// reversible     nothing is kept: states are reconstructed by the inverse step (exact up to rounding)
// truncated(h)   the cotangent is dropped every h steps, counted from the end: biased, and labelled so
//
// In every exact schedule each reversed step sees the same bits: all steps are taken by the same code from
// bitwise equal states. Snapshots in single precision halve the memory of a double state and cost that
// equality: also labelled.
// Tests: tests/system/checkpoints_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace costate {

struct Checkpoints {
  enum class Kind { store_all, segments, binomial, reversible };
  Kind kind = Kind::store_all;
  std::int64_t slots = 0;   // binomial: snapshots; segments: length of a segment (0: sqrt of the steps)
  std::int64_t window = 0;  // > 0: drop the cotangent every `window` steps
  bool single_precision = false;

  Checkpoints in_single_precision() const;
  Checkpoints truncated(std::int64_t steps) const;
  std::string name() const;
  bool exact() const { return window == 0 && !single_precision && kind != Kind::reversible; }
};

Checkpoints store_all();
Checkpoints segments(std::int64_t length = 0);
Checkpoints binomial(std::int64_t slots);
Checkpoints reversible();
Checkpoints truncated(std::int64_t steps);

struct Action {
  enum class Kind { advance, store, restore, record, reverse };
  Kind kind;
  std::int64_t begin = 0, end = 0;  // steps
  std::int64_t slot = 0;
  friend bool operator==(const Action&, const Action&) = default;
};

// Yields the actions of a schedule one by one; memory proportional to the slots, whatever the number of
// steps.
class Schedule {
 public:
  Schedule(const Checkpoints& checkpoints, std::int64_t steps);

  std::optional<Action> next();

  std::int64_t slots() const { return slots_; }              // snapshots alive at once
  std::int64_t tape_length() const { return tape_length_; }  // longest record

 private:
  struct Range {  // steps [begin, end) still to be reversed; the state at `begin` is in `slot`
    std::int64_t begin, end, slot;
  };
  void refill();
  void refill_segments();
  void refill_binomial();

  Checkpoints::Kind kind_;
  std::int64_t steps_, slots_, tape_length_, segment_ = 0;
  std::vector<Range> open_;      // innermost last
  std::vector<Action> pending_;  // to be yielded, last first
  std::int64_t position_ = 0;    // step of the working state
  bool started_ = false;
};

// C(c + r, c), saturating.
std::int64_t binomial_reach(std::int64_t c, std::int64_t r);

// Steps taken more than once, plus those before the tape: r l - C(c + r, c + 1). For the report and the
// tests.
std::int64_t binomial_advances(std::int64_t steps, std::int64_t slots);

}  // namespace costate

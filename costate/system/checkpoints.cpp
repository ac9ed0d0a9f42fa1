#include "costate/system/checkpoints.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/core/error.h"

namespace costate {

Checkpoints store_all() { return {}; }
Checkpoints segments(std::int64_t length) { return {.kind = Checkpoints::Kind::segments, .slots = length}; }
Checkpoints binomial(std::int64_t slots) { return {.kind = Checkpoints::Kind::binomial, .slots = slots}; }
Checkpoints reversible() { return {.kind = Checkpoints::Kind::reversible}; }
Checkpoints truncated(std::int64_t steps) { return store_all().truncated(steps); }

Checkpoints Checkpoints::in_single_precision() const {
  Checkpoints copy = *this;
  copy.single_precision = true;
  return copy;
}
Checkpoints Checkpoints::truncated(std::int64_t steps) const {
  if (steps < 1) throw Error("truncated(steps) needs at least one step");
  Checkpoints copy = *this;
  copy.window = steps;
  return copy;
}

std::string Checkpoints::name() const {
  std::string text;
  switch (kind) {
    case Kind::store_all:
      text = "store_all";
      break;
    case Kind::segments:
      text = "segments(" + (slots ? std::to_string(slots) : std::string("sqrt")) + ")";
      break;
    case Kind::binomial:
      text = "binomial(" + std::to_string(slots) + ")";
      break;
    case Kind::reversible:
      text = "reversible";
      break;
  }
  if (single_precision) text += ", single-precision snapshots";
  if (window) text += ", truncated(" + std::to_string(window) + ")";
  return text;
}

std::int64_t binomial_reach(std::int64_t c, std::int64_t r) {
  if (c < 0 || r < 0) return 0;
  // Multiply along the shorter side; a saturated value is larger than any number of steps.
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t n = c + r, m = std::min(c, r);
  std::int64_t value = 1;
  for (std::int64_t i = 1; i <= m; ++i) {
    if (value > kMost / (n - m + i)) return kMost;
    value = value * (n - m + i) / i;
  }
  return value;
}

namespace {

// Least r with l <= C(c + r, c).
std::int64_t repetitions(std::int64_t l, std::int64_t c) {
  std::int64_t r = 0;
  while (binomial_reach(c, r) < l) ++r;
  return r;
}

// Where to put the next snapshot: after m of the l steps, with c slots (that of the first state included).
// Every m with
//   beta(c, r-2) <= m <= beta(c, r-1)   and   beta(c-1, r-1) <= l - m <= beta(c-1, r)
// is optimal (Griewank & Walther, Lemma 1); the smallest leaves most of the work to the side with fewer slots
// to fill.
std::int64_t split(std::int64_t l, std::int64_t c) {
  const std::int64_t r = repetitions(l, c);
  const std::int64_t least = std::max(binomial_reach(c, r - 2), l - binomial_reach(c - 1, r));
  return std::clamp<std::int64_t>(least, 1, l - 1);
}

}  // namespace

std::int64_t binomial_advances(std::int64_t steps, std::int64_t slots) {
  if (steps <= 1) return 0;
  const std::int64_t r = repetitions(steps, slots);
  return r * steps - binomial_reach(slots + 1, r - 1);
}

Schedule::Schedule(const Checkpoints& checkpoints, std::int64_t steps)
    : kind_(checkpoints.kind), steps_(steps) {
  switch (kind_) {
    case Checkpoints::Kind::store_all:
      slots_ = 0;
      tape_length_ = steps;
      break;
    case Checkpoints::Kind::reversible:  // executed without this class; one step of tape
      slots_ = 0;
      tape_length_ = 1;
      break;
    case Checkpoints::Kind::segments:
      if (checkpoints.slots < 0) throw Error("segments(length) needs a length of at least one step");
      segment_ =
          checkpoints.slots
              ? checkpoints.slots
              : static_cast<std::int64_t>(std::ceil(std::sqrt(double(std::max<std::int64_t>(steps, 1)))));
      segment_ = std::max<std::int64_t>(1, std::min(segment_, steps));
      tape_length_ = segment_;
      slots_ = steps > 0 ? (steps - 1) / segment_ : 0;  // the last segment is recorded as it is reached
      break;
    case Checkpoints::Kind::binomial:
      if (checkpoints.slots < 1) throw Error("binomial(slots) needs at least one slot: the initial state");
      slots_ = std::min(checkpoints.slots, std::max<std::int64_t>(steps, 1));
      tape_length_ = 1;
      open_.reserve(static_cast<std::size_t>(slots_) + 1);
      break;
  }
}

std::optional<Action> Schedule::next() {
  if (pending_.empty()) refill();
  if (pending_.empty()) return std::nullopt;
  const Action action = pending_.back();
  pending_.pop_back();
  return action;
}

void Schedule::refill() {
  if (steps_ == 0) return;
  switch (kind_) {
    case Checkpoints::Kind::store_all:
      if (started_) return;
      started_ = true;
      pending_ = {{Action::Kind::reverse, 0, steps_}, {Action::Kind::record, 0, steps_}};
      return;
    case Checkpoints::Kind::segments:
      return refill_segments();
    case Checkpoints::Kind::binomial:
      return refill_binomial();
    case Checkpoints::Kind::reversible:
      return;
  }
}

// Up: store at 0, L, 2L, ... and record the last segment. Down: one segment per call.
void Schedule::refill_segments() {
  if (!started_) {
    started_ = true;
    for (std::int64_t s = 0; s < slots_; ++s) {
      pending_.push_back({Action::Kind::store, 0, 0, s});
      pending_.push_back({Action::Kind::advance, s * segment_, (s + 1) * segment_});
    }
    pending_.push_back({Action::Kind::record, slots_ * segment_, steps_});
    pending_.push_back({Action::Kind::reverse, slots_ * segment_, steps_});
    std::reverse(pending_.begin(), pending_.end());
    position_ = slots_;  // segments still to be reversed
    return;
  }
  if (position_ == 0) return;
  const std::int64_t s = --position_;
  pending_ = {{Action::Kind::reverse, s * segment_, (s + 1) * segment_},
              {Action::Kind::record, s * segment_, (s + 1) * segment_},
              {Action::Kind::restore, 0, 0, s}};
}

// The innermost open range is split until one step is left, which is recorded and reversed. The recursion of
// the theorem, unrolled onto a stack that is never deeper than the number of slots.
void Schedule::refill_binomial() {
  std::vector<Action> batch;
  if (!started_) {
    started_ = true;
    open_.push_back({0, steps_, 0});
    batch.push_back({Action::Kind::store, 0, 0, 0});
    position_ = 0;
  }
  while (!open_.empty() && open_.back().begin == open_.back().end) open_.pop_back();
  if (!open_.empty()) {
    if (position_ != open_.back().begin) {
      batch.push_back({Action::Kind::restore, 0, 0, open_.back().slot});
      position_ = open_.back().begin;
    }
    while (true) {
      Range& range = open_.back();
      const std::int64_t length = range.end - range.begin;
      const std::int64_t free = slots_ - static_cast<std::int64_t>(open_.size());
      if (length == 1) break;
      if (free == 0) {  // no slot left: step up to the last step of the range
        batch.push_back({Action::Kind::advance, position_, range.end - 1});
        position_ = range.end - 1;
        break;
      }
      const std::int64_t middle = range.begin + split(length, free + 1);
      batch.push_back({Action::Kind::advance, position_, middle});
      position_ = middle;
      const Range inner{middle, range.end, static_cast<std::int64_t>(open_.size())};
      range.end = middle;
      open_.push_back(inner);
      batch.push_back({Action::Kind::store, 0, 0, inner.slot});
    }
    batch.push_back({Action::Kind::record, position_, position_ + 1});
    batch.push_back({Action::Kind::reverse, position_, position_ + 1});
    open_.back().end = position_;
    position_ = -1;  // the working state has moved past what is left
  }
  std::reverse(batch.begin(), batch.end());
  pending_ = std::move(batch);
}

}  // namespace costate

// What a physics that cuts its steps at events noticed of them, for the GradientReport.
//
// The time of an event has the derivative -g_x / (dg/dt): none where the gap g and its rate vanish together. rate is |dg/dt| relative to the speed with which
// the gap could change, |g_q| (|v| + h |a|); below kGrazing an event grazes, and what is returned there is the derivative of nothing.
// Tests: tests/contact/split_test.cpp.
#pragma once

#include <cstdint>
#include <limits>

namespace costate {

inline constexpr double kGrazing = 1e-4;

struct EventNotice {
  double rate = std::numeric_limits<double>::infinity();  // the least of all events
  std::int64_t step = -1;                                 // where it was
  void take(double other_rate, std::int64_t other_step) {
    const bool earlier = other_rate == rate && other_step < step;
    if (!(other_rate < rate) && !earlier) return;
    rate = other_rate;
    step = other_step;
  }
};

// Beside Workspace, a base of the scratch of such a physics.
class NoticesEvents {
 public:
  virtual ~NoticesEvents() = default;
  EventNotice events;
};

}  // namespace costate

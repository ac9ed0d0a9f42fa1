// ZenoWatch: tells when events accumulate, as the bounces of a ball that comes to rest do.
//
// Intervals between events that shrink by a steady factor r have the limit t + d r / (1 - r). The watch
// speaks once the last intervals shrank and what is left is far below the time span, or when several events
// follow each other within rounding.
#pragma once

#include <cmath>

namespace costate::ode {

class ZenoWatch {
 public:
  explicit ZenoWatch(double span) : span_(span) {}

  bool accumulates(double t) {
    const double interval = std::abs(t - last_);
    const double ratio = any_ && interval_ > 0 ? interval / interval_ : 1.0;
    const double direction = t >= last_ ? 1.0 : -1.0;
    shrinking_ = any_ && ratio < 0.999 && interval > 0 ? shrinking_ + 1 : 0;
    // Two guards may well meet at one instant; many at no distance are one that cannot leave.
    crowded_ = any_ && interval < 1e-13 * span_ ? crowded_ + 1 : 0;
    limit_ = ratio < 0.999 ? t + direction * interval * ratio / (1 - ratio) : t;
    interval_ = any_ ? interval : 0;
    last_ = t;
    any_ = true;
    return (shrinking_ >= 10 && std::abs(limit_ - t) < 1e-9 * span_) || crowded_ >= 20;
  }
  double limit() const { return limit_; }

 private:
  double span_, last_ = 0, interval_ = 0, limit_ = 0;
  int shrinking_ = 0, crowded_ = 0;
  bool any_ = false;
};

}  // namespace costate::ode

#include "costate/ode/adjoints/trajectory.h"

#include <algorithm>
#include <cmath>

#include "costate/core/error.h"

namespace costate::ode {
std::vector<Segment> segments_of(const Trajectory& trajectory) {
  std::vector<Segment> segments;
  const long last = trajectory.size() - 1;
  long first = 0;
  double from = trajectory.t0;
  bool after_event = false;
  for (long k = 0; k <= last; ++k) {
    const StepRecord& step = trajectory.steps[k];
    const bool at_event = step.event >= 0, at_knot = k < last && trajectory.steps[k + 1].row != step.row;
    if (!at_event && !at_knot && k < last) continue;
    const double to = at_event  ? trajectory.events[step.event].t
                      : at_knot ? trajectory.parameters.end(step.row)
                                : trajectory.t1;
    segments.push_back({.first = first,
                        .last = k,
                        .from = from,
                        .to = to,
                        .starts_at_event = after_event,
                        .ends_in_event = at_event,
                        .row = step.row,
                        .fraction = trajectory.parameters.end_fraction(step.row)});
    first = k + 1;
    from = to;
    after_event = at_event;
  }
  return segments;
}

Replay::Replay(const Trajectory& trajectory)
    : trajectory_(trajectory),
      steps_(trajectory.steps),
      stepper_(make_stepper(trajectory.method, *trajectory.field, trajectory.tolerance)),
      motion_(*trajectory.field),
      n_(trajectory.width()) {
  states_.resize(trajectory.keep_every > 1 ? std::size_t(n_) * trajectory.keep_every : 0);
  end_.resize(n_);
  f_.assign(n_, 0.0);  // memory has no rate
}

void Replay::recompute_block(long block) {
  const long m = trajectory_.keep_every, first = block * m,
             last = std::min(first + m, trajectory_.size()) - 1;
  std::copy_n(trajectory_.kept.begin() + block * n_, n_, states_.begin());
  for (long k = first; k < last; ++k) {
    double* x = states_.data() + (k - first) * n_;
    const StepRecord& record = steps_[k];
    if (record.event >= 0) {
      std::copy_n(trajectory_.events[record.event].after.begin(), n_, x + n_);
    } else {
      step({record.t, record.h, x, trajectory_.p(k)}, x + n_);
    }
  }
  block_ = block;
}

const double* Replay::start(long k) {
  const long m = trajectory_.keep_every;
  if (m == 1) return trajectory_.kept.data() + k * n_;
  if (block_ != k / m) recompute_block(k / m);
  return states_.data() + (k % m) * n_;
}

StepInput Replay::input(long k) {
  const StepInput in{steps_[k].t, steps_[k].h, start(k), trajectory_.p(k)};
  const std::size_t size = trajectory_.stage_size, from = k * size;
  if (from < trajectory_.stages.size() && in.h != 0)
    stepper_->load_stages(in, trajectory_.stages.data() + from);
  return in;
}

const double* Replay::end(long k) {
  const StepRecord& record = steps_[k];
  if (record.event >= 0) return trajectory_.events[record.event].before.data();
  if (k + 1 == trajectory_.size()) return trajectory_.final.data();
  if (trajectory_.keep_every == 1) return start(k + 1);
  step(input(k), end_.data());
  return end_.data();
}

void Replay::step(const StepInput& in, double* y) {
  if (in.h != 0) {
    stepper_->step(in, y, nullptr);
  } else {
    std::copy_n(in.x, n_, y);
  }
}

void Replay::interpolate(const StepInput& in, double theta, double* x) {
  if (in.h == 0) {
    std::copy_n(in.x, trajectory_.states(), x);
    return;
  }
  if (!stepper_->holds(in)) stepper_->step(in, end_.data(), nullptr);
  stepper_->interpolate(theta, x);
}

void Replay::step_jvp(const StepInput& in, const StepTangent& in_dot, double* y_dot) {
  if (in.h != 0) return stepper_->step_jvp(in, in_dot, y_dot);
  motion_.rate(in.t, in.x, in.p, f_.data());
  for (int i = 0; i < n_; ++i) y_dot[i] = (in_dot.x ? in_dot.x[i] : 0.0) + in_dot.h * f_[i];
}

void Replay::step_vjp(const StepInput& in, const double* y_bar, const StepCotangent& in_bar) {
  if (in.h != 0) return stepper_->step_vjp(in, y_bar, in_bar);
  motion_.rate(in.t, in.x, in.p, f_.data());
  for (int i = 0; i < n_; ++i) {
    in_bar.x[i] += y_bar[i];
    *in_bar.h += f_[i] * y_bar[i];
  }
}

void Replay::step_vjp_jvp(const StepInput& in, const StepTangent& in_dot, const double* y_bar,
                          const double* y_bar_dot, const StepCotangent& in_bar_dot) {
  if (in.h == 0) {
    throw Error(
        {"second derivatives of a step of zero length (two events at one instant, or an empty span) are not "
         "available",
         "", "move the times apart, or take a difference of gradients"});
  }
  stepper_->step_vjp_jvp(in, in_dot, y_bar, y_bar_dot, in_bar_dot);
}

long Replay::step_at(double t) const {
  const double sign = trajectory_.t1 >= trajectory_.t0 ? 1 : -1;
  // First step whose end is not before t.
  long low = 0, high = trajectory_.size() - 1;
  while (low < high) {
    const long middle = (low + high) / 2;
    const double end = steps_[middle + 1].t;
    if (sign * end < sign * t)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace costate::ode

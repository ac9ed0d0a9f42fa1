#include "costate/ode/events.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "costate/core/error.h"

namespace costate::ode {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr int kSamples = 8;        // intervals of the interpolant at whose ends a guard is evaluated
constexpr double kGrazing = 1e-5;  // of the largest guard value per step length
constexpr double kNearMiss = 1e-8;
constexpr double kSameInstant = 1e-12;  // of the time

int sign(double v) { return v > 0 ? 1 : v < 0 ? -1 : 0; }

}  // namespace

EventMonitor::EventMonitor(const std::vector<Event>& events, const VectorField& field, int states,
                           const double* p)
    : events_(events),
      field_(field),
      motion_(field),
      p_(p),
      side_(events.size()),
      rates_(events.size()),
      fired_(events.size()) {
  std::size_t scratch = field.scratch_size();
  for (const Event& e : events) {
    const std::string where = "event \"" + e.name + "\"";
    if (!e.guard || e.guard->outputs() != 1)
      throw Error({"an event needs a guard with one output", where, ""});
    for (const Function* f : {e.guard.get(), e.jump.get()}) {
      if (!f) continue;
      scratch = std::max(scratch, f->scratch_size());
      if (f->states() != states || f->parameters() != field.parameters()) {
        throw Error(
            {"a guard or jump does not take the states and parameters of the vector field", where, ""});
      }
    }
    if (e.jump && e.jump->outputs() != states)
      throw Error({"a jump must give one value per state", where, ""});
  }
  scratch_.resize(scratch);
  f_.resize(field.states());
  x_.resize(field.states());
}

double EventMonitor::guard(int i, double t, const double* x) const {
  double g = 0;
  events_[i].guard->value(t, x, p_, &g, scratch_.data());
  return g;
}

double EventMonitor::guard_rate_at(int i, double t, const double* x) const {
  double rate = 0;
  if (field_.mass().empty()) {
    field_.value(t, x, p_, f_.data(), scratch_.data());
  } else {
    motion_.rate(t, x, p_, f_.data());
  }
  events_[i].guard->jvp(t, x, p_, 1.0, f_.data(), nullptr, &rate, scratch_.data());
  return rate;
}

void EventMonitor::start(double t, const double* x, bool forward) {
  forward_ = forward ? 1 : -1;
  for (int i = 0; i < int(events_.size()); ++i) {
    side_[i] = sign(guard(i, t, x));
    if (side_[i] == 0) side_[i] = forward_ * sign(guard_rate_at(i, t, x));
    fired_[i] = 0;
  }
}

void EventMonitor::change_parameters(const double* p, double t, const double* x) {
  for (int i = 0; i < int(events_.size()); ++i) {
    const double before = guard(i, t, x);
    const double* const old = std::exchange(p_, p);
    const double after = guard(i, t, x);
    p_ = old;
    if (after == before) continue;  // in particular, one that stands at zero is still to cross it
    side_[i] = sign(after);
  }
  p_ = p;
}

// From a side to a value on the other side. A guard that starts on no side (zero, at rest) has not crossed.
bool EventMonitor::crosses(int i, double from, double to) const {
  if (from == 0 || sign(from) == sign(to)) return false;
  const int direction = events_[i].direction;
  return direction == 0 || direction == (from < 0 ? 1 : -1);
}

bool EventMonitor::still_at_its_event(int i, const StepInput& in) const {
  constexpr double kRounding = 64 * kEps;
  return fired_[i] && std::abs(in.t + in.h - instant_) <= kRounding * std::abs(instant_);
}

// The first interval [low, high] of theta in which guard i changes side in its direction.
bool EventMonitor::scan(int i, const Stepper& stepper, const StepInput& in, const double* y, double* low,
                        double* high) {
  double theta[kSamples + 1], g[kSamples + 1];
  for (int s = 0; s <= kSamples; ++s) {
    theta[s] = double(s) / kSamples;
    if (s == 0) {
      g[s] = guard(i, in.t, in.x);
    } else if (s == kSamples) {
      g[s] = guard(i, in.t + in.h, y);
    } else {
      stepper.interpolate(theta[s], x_.data());
      g[s] = guard(i, in.t + theta[s] * in.h, x_.data());
    }
  }
  scale_ = 0;
  for (double value : g) scale_ = std::max(scale_, std::abs(value));
  // The start counts as on its side even where rounding at an event left it on the other.
  double side = side_[i];
  for (int s = 1; s <= kSamples; ++s) {
    if (side != 0 && s >= 2 && s <= kSamples && sign(g[s - 1]) == sign(g[s]) &&
        sign(g[s - 1]) == sign(side)) {
      // Two roots between samples: the parabola through three of them has its vertex on the other side.
      const double a = s == 2 ? std::abs(g[0]) * (sign(g[0]) == sign(side) ? 1 : -1) : std::abs(g[s - 2]);
      const double b = std::abs(g[s - 1]), c = std::abs(g[s]);
      if (b <= a && b <= c && a - 2 * b + c > 0) {
        const double shift = 0.5 * (a - c) / (a - 2 * b + c);
        const double vertex = theta[s - 1] + shift / kSamples;
        stepper.interpolate(vertex, x_.data());
        const double value = guard(i, in.t + vertex * in.h, x_.data());
        if (crosses(i, side, value)) {
          *low = theta[s - 2];
          *high = vertex;
          return true;
        }
        if (std::abs(value) < kNearMiss * scale_) near_miss_ = true;
        // Both crossings belong to directions: one that is looked for may be the second.
        if (sign(value) != 0 && sign(value) != sign(side) && crosses(i, value, side)) {
          *low = vertex;
          *high = theta[s];
          return true;
        }
      }
    }
    if (crosses(i, side, g[s])) {
      *low = theta[s - 1];
      *high = theta[s];
      return true;
    }
    if (g[s] != 0) side = g[s];
  }
  return false;
}

// Root on the interpolant by the Illinois variant of regula falsi.
double EventMonitor::refine(int i, const Stepper& stepper, const StepInput& in, double low, double high,
                            double low_side) {
  const auto at = [&](double theta) {
    stepper.interpolate(theta, x_.data());
    return guard(i, in.t + theta * in.h, x_.data());
  };
  double g_low = at(low), g_high = at(high);
  if (sign(g_low) != sign(low_side)) g_low = 0;  // the start stands at zero
  if (sign(g_high) == sign(low_side)) return high;
  int kept = 0;
  for (int iteration = 0; iteration < 60 && high - low > 1e-14; ++iteration) {
    const double width = high - low;
    double middle = g_low == 0 ? low + 0.5 * width : low - g_low * width / (g_high - g_low);
    middle = std::clamp(middle, low + 1e-3 * std::min(width, 1e-9), high - 1e-3 * std::min(width, 1e-9));
    const double g = at(middle);
    if (g == 0) return middle;
    if (sign(g) == sign(low_side)) {
      low = middle;
      g_low = g;
      if (kept == 1) g_high *= 0.5;
      kept = 1;
    } else {
      high = middle;
      g_high = g;
      if (kept == -1) g_low *= 0.5;
      kept = -1;
    }
    if (std::abs(g) < 1e-14 * scale_) return middle;
  }
  return 0.5 * (low + high);
}

// Root of G(h) = g(t + h, step(t, h, x)) by Newton inside a bracket; the slope is that along the flow.
void EventMonitor::locate(int i, Stepper& stepper, const StepInput& in, double guess, double* h, double* y) {
  double low = 0, high = in.h;
  const double low_side = rate_;  // sign of the guard before the crossing, set by find
  double best = std::numeric_limits<double>::infinity();
  double length = guess;
  for (int iteration = 0; iteration < 40; ++iteration) {
    stepper.step({in.t, length, in.x, in.p}, y, nullptr);
    const double t = in.t + length;
    const double g = guard(i, t, y);
    *h = length;
    if (g == 0) break;
    (sign(g) == sign(low_side) ? low : high) = length;
    const double slope = guard_rate_at(i, t, y);
    double next = slope != 0 ? length - g / slope : 0.5 * (low + high);
    const double inside = std::min(low, high), outside = std::max(low, high);
    if (!(next >= inside && next <= outside)) next = 0.5 * (low + high);
    const double change = std::abs(next - length);
    if (change <= 2 * kEps * std::max(std::abs(length), kEps * std::abs(in.t)) ||
        (change >= best && best < 1e-12 * std::abs(in.h)))
      break;
    best = std::min(best, change);
    length = next;
  }
}

int EventMonitor::find(Stepper& stepper, const StepInput& in, double* h, double* y) {
  near_miss_ = false;
  int first = -1;
  double first_theta = 2, first_side = 0, first_scale = 0;
  for (int i = 0; i < int(events_.size()); ++i) {
    double low, high;
    if (still_at_its_event(i, in) || !scan(i, stepper, in, y, &low, &high)) continue;
    double side = side_[i];
    if (low > 0) {
      stepper.interpolate(low, x_.data());
      side = guard(i, in.t + low * in.h, x_.data());
    }
    const double theta = refine(i, stepper, in, low, high, side);
    if (theta < first_theta) {
      first = i;
      first_theta = theta;
      first_side = side;
      first_scale = scale_;
    }
  }
  if (first < 0) {
    for (int i = 0; i < int(events_.size()); ++i) {
      if (still_at_its_event(i, in)) continue;
      const int now = sign(guard(i, in.t + in.h, y));
      if (now != 0) side_[i] = now;
      fired_[i] = 0;
    }
    return -1;
  }
  rate_ = first_side;
  locate(first, stepper, in, first_theta * in.h, h, y);
  const double t = in.t + *h;
  rate_ = guard_rate_at(first, t, y);
  residual_ = guard(first, t, y);
  grazing_ = std::abs(rate_ * in.h) < kGrazing * first_scale;
  // Sides of the other guards up to here; one that is itself at zero keeps its side until after the jump.
  for (int i = 0; i < int(events_.size()); ++i) {
    rates_[i] = guard_rate_at(i, t, y);
    if (i == first) continue;
    const double g = guard(i, t, y);
    const double tiny = 10 * kSameInstant * std::max(std::abs(t), std::abs(in.h)) * std::abs(rates_[i]);
    if (std::abs(g) > tiny) side_[i] = sign(g);
  }
  return first;
}

int EventMonitor::after_event(int fired, double t, const double* x) {
  if (t != instant_) std::fill(fired_.begin(), fired_.end(), 0);
  instant_ = t;
  fired_[fired] = 1;
  int another = -1;
  double next_residual = 0;
  for (int i = 0; i < int(events_.size()); ++i) {
    const double g = guard(i, t, x);
    const double rate = guard_rate_at(i, t, x);
    const double fastest = std::max(std::abs(rate), std::abs(rates_[i]));
    const double tiny = 10 * kSameInstant * std::max(std::abs(t), kEps) * fastest;
    // A guard that its own jump left alone stands at zero, whatever rounding says.
    const bool at_zero = std::abs(g) <= tiny || (i == fired && g == residual_);
    if (!at_zero) {
      side_[i] = sign(g);
      continue;
    }
    const int moving_to = forward_ * sign(rate);
    if (moving_to == 0) continue;
    const bool crosses_now = !fired_[i] && side_[i] != 0 && crosses(i, side_[i], moving_to);
    if (!crosses_now) {
      side_[i] = moving_to;
    } else if (another < 0) {
      another = i;
      next_residual = g;
      rate_ = rate;
      grazing_ = false;
    }
  }
  residual_ = next_residual;
  return another;
}

}  // namespace costate::ode

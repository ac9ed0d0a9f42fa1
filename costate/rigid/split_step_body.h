// Bodies of split_step.h, compiled once for each scalar in split_step_*.cpp.
#pragma once

#include "costate/ad/dual.h"
#include "costate/rigid/contact_adjoint.h"
#include "costate/rigid/split_step.h"

namespace costate::rigid {

template <class S>
SplitWork<S>::SplitWork(const Stepper& stepper)
    : parts(kMostEvents + 1),
      gap(static_cast<std::size_t>(stepper.constraints.points)),
      next_gap(gap.size()),
      gap_bar(gap.size()),
      settled(gap.size()),
      impact(stepper.tree, stepper.constraints),
      q_bar(static_cast<std::size_t>(stepper.tree.nv)),
      y(static_cast<std::size_t>(stepper.states())),
      lambda(y.size()),
      event_x_bar(y.size()),
      event_u_bar(static_cast<std::size_t>(stepper.controls())),
      event_p_bar(static_cast<std::size_t>(stepper.tree.p.prepared_size)) {
  for (Part& part : parts) {
    part.x.resize(y.size());
    part.modes.resize(gap.size());
    part.tape.resize(static_cast<std::size_t>(stepper.evaluations() * stepper.tape_per_evaluation()));
    part.live = mask_t<S>(false);
    part.v_before.resize(static_cast<std::size_t>(stepper.tree.nv));
  }
}

template <class S>
void gaps_at(const Stepper& stepper, const S* x, StepWork<S>& w, S* gap) {
  kinematics(stepper.tree, static_cast<const S*>(w.p.data()), x, w.d);
  contact_gaps(stepper.tree, stepper.constraints, static_cast<const S*>(w.p.data()), x,
               static_cast<const Data<S>&>(w.d), w.c.contact, gap);
}

// w.y = Phi(part.x; length).
template <class S>
void take_part(const Stepper& stepper, const typename SplitWork<S>::Part& part, const S& length,
               bool with_tape, StepWork<S>& w) {
  std::copy(part.x.begin(), part.x.end(), w.x.begin());
  std::copy(part.modes.begin(), part.modes.end(), w.c.contact.modes.begin());
  w.p[static_cast<std::size_t>(stepper.tree.p.dt)] = length;
  step(stepper, w, with_tape);
}

// The entry of an array that each lane's index names.
template <class S>
S pick(const std::vector<S>& values, const S& index) {
  S out(0);
  for (std::size_t k = 0; k < values.size(); ++k) out = select(index == S(value_t<S>(k)), values[k], out);
  return out;
}

// --- finding the event ---------------------------------------------------------------------------------------------------

// The contact point that changes first in the part from part.x to the end of the step, whose gaps are in split.gap and split.next_gap; -1: none does.
template <class S>
S first_event(const Stepper& stepper, const typename SplitWork<S>::Part& part, const S& left,
              const SplitWork<S>& split) {
  S event(-1), earliest = left;
  for (const TouchingPair& pair : stepper.constraints.pairs) {
    if (!pair.splittable) continue;
    for (int k = pair.point; k < pair.point + pair.geoms.slots; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const mask_t<S> changes =
          part.live & (split.settled[at] == S(0)) & (part.modes[at] * split.next_gap[at] > S(0));
      if (!any(changes)) continue;
      const S fall = split.gap[at] - split.next_gap[at];
      const S when = left * split.gap[at] / select(fall == S(0), S(1), fall);
      const mask_t<S> first = changes & ((event < S(0)) | (when < earliest));
      event = select(first, S(value_t<S>(k)), event);
      earliest = select(first, when, earliest);
    }
  }
  return event;
}

// Zero of the quadratic through three points, from the middle one; s where there is none.
template <class S>
S quadratic_zero(const S& lo, const S& f_lo, const S& t, const S& f, const S& hi, const S& f_hi) {
  const auto safe = [](const S& x) { return select(x == S(0), S(1), x); };
  const S d1 = (f - f_lo) / safe(t - lo), d2 = (f_hi - f) / safe(hi - t), A = (d2 - d1) / safe(hi - lo);
  const S B = d1 + A * (t - lo);
  const S square = B * B - S(4) * A * f;
  const S root = sqrt(select(square > S(0), square, S(0)));
  return t - S(2) * f / safe(select(B < S(0), B - root, B + root));
}

// When, after the start of the part, the gap of each lane's event is zero. Regula falsi on a parabola, which ballistic motion is.
template <class S>
S event_time(const Stepper& stepper, const typename SplitWork<S>::Part& part, const S& event, const S& left,
             StepWork<S>& w, SplitWork<S>& split) {
  using T = value_t<S>;
  const mask_t<S> happens = event >= S(0);
  const S half(T(0.5)), tolerance(T(sizeof(T) == 8 ? 1e-14 : 1e-7));
  const S sign = select(pick(part.modes, event) > S(0), S(-1), S(1));  // the function falls through zero
  S lo(0), hi = left, f_lo = sign * pick(split.gap, event), f_hi = sign * pick(split.next_gap, event);
  const auto inside = [&](const S& t) { return select((t > lo) & (t < hi), t, half * (lo + hi)); };
  const S drop = f_lo - f_hi;
  S t = inside(left * f_lo / select(drop == S(0), S(1), drop));
  // Two points at once: the other one has changed already.
  const mask_t<S> over = happens & (f_lo <= S(0));
  t = select(over, S(0), t);
  mask_t<S> searching = happens & !over;
  for (int i = 0; i < 60; ++i) {
    take_part<S>(stepper, part, select(happens, t, left), false, w);
    gaps_at(stepper, static_cast<const S*>(w.y.data()), w, split.gap_bar.data());
    const S f = sign * pick(split.gap_bar, event);
    searching = searching & (abs(f) > tolerance) & (hi - lo > tolerance * left);
    if (!any(searching)) break;
    const S guess = quadratic_zero(lo, f_lo, t, f, hi, f_hi);
    const mask_t<S> before = f > S(0);
    lo = select(searching & before, t, lo);
    f_lo = select(searching & before, f, f_lo);
    hi = select(searching & !before, t, hi);
    f_hi = select(searching & !before, f, f_hi);
    // Every third time the middle: where the parabola fits badly the bracket shrinks all the same.
    t = select(searching, i % 3 == 2 ? half * (lo + hi) : inside(guess), t);
  }
  return t;
}

// --- the derivative of an event's gap --------------------------------------------------------------------------------------

// Transpose of g(Phi(part.x; part.length)) in the lanes that have an event: cotangents of x, u and p in split.event_*; returns Gdot. Needs the part's tape.
template <class S>
S event_vjp(const Stepper& stepper, const typename SplitWork<S>::Part& part, const S* y, const Wanted& wanted,
            StepWork<S>& w, SplitWork<S>& split) {
  const Tree& t = stepper.tree;
  const auto dt = static_cast<std::size_t>(t.p.dt);
  for (std::size_t k = 0; k < split.gap.size(); ++k)
    split.gap_bar[k] = select(part.event == S(value_t<S>(k)), S(1), S(0));
  std::fill(split.event_p_bar.begin(), split.event_p_bar.end(), S(0));
  std::fill(split.event_u_bar.begin(), split.event_u_bar.end(), S(0));
  std::fill(split.q_bar.begin(), split.q_bar.end(), S(0));
  std::swap(w.p_bar, split.event_p_bar);
  std::swap(w.u_bar, split.event_u_bar);
  gaps_at(stepper, y, w, split.next_gap.data());
  body_inertias(t, static_cast<const S*>(w.p.data()), w.d);
  contact_gaps_vjp(t, stepper.constraints, static_cast<const S*>(w.p.data()), y,
                   static_cast<const S*>(split.gap_bar.data()), wanted, split.q_bar.data(), w.p_bar.data(),
                   w.d, w.c.contact);
  std::fill(w.y_bar.begin(), w.y_bar.end(), S(0));
  ambient_cotangent(t, y, split.q_bar.data(), w.y_bar.data());
  std::copy(part.x.begin(), part.x.end(), w.x.begin());
  std::copy(part.modes.begin(), part.modes.end(), w.c.contact.modes.begin());
  std::copy(part.tape.begin(), part.tape.end(), w.tape.begin());
  w.p[dt] = part.length;
  step_vjp(stepper, w, wanted);
  std::copy(w.x_bar.begin(), w.x_bar.end(), split.event_x_bar.begin());
  std::swap(w.p_bar, split.event_p_bar);
  std::swap(w.u_bar, split.event_u_bar);
  const S rate = split.event_p_bar[dt];
  split.event_p_bar[dt] = S(0);
  return rate;
}

// The caller's wishes, and dt.
template <class S>
Wanted with_length(const Stepper& stepper, const Wanted& wanted, SplitWork<S>& split) {
  const std::vector<int>& field_of = stepper.tree.p.field_of;
  if (wanted.active)
    split.activity = *wanted.active;
  else
    split.activity.parameters.assign(static_cast<std::size_t>(field_of.back()) + 1, false);
  split.activity.parameters[static_cast<std::size_t>(field_of[static_cast<std::size_t>(stepper.tree.p.dt)])] =
      true;
  return {&split.activity, &field_of, wanted.active && wanted.frames};
}

// --- rigid impacts ---------------------------------------------------------------------------------------------------------

// The velocities of next.x after the impact of the part's event, where one begins to touch. Returns the worlds in which it bounces off.
template <class S>
mask_t<S> meet_at_end(const Stepper& stepper, typename SplitWork<S>::Part& part,
                      typename SplitWork<S>::Part& next, StepWork<S>& w, SplitWork<S>& split) {
  part.met = select(pick(part.modes, part.event) < S(0), part.event, S(-1));
  S* v = next.x.data() + stepper.tree.nq;
  std::copy(v, v + stepper.tree.nv, part.v_before.begin());
  if (!any(part.met >= S(0))) return mask_t<S>(false);
  const mask_t<S> rests = impact<S>(stepper.tree, stepper.constraints, w.p.data(), next.x.data(), part.met, v,
                                    w.d, w.c, split.impact);
  return (part.met >= S(0)) & !rests;
}

// For the report: a point that meets in this step is in a zone of its own, whatever it does before and after.
template <class S>
void note_impacts(const Stepper& stepper, int parts, StepWork<S>& w, const SplitWork<S>& split) {
  const S meets(value_t<S>(16));
  for (const TouchingPair& pair : stepper.constraints.pairs) {
    if (!pair.splittable) continue;
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      const ConstraintGroup& g = stepper.constraints.groups[static_cast<std::size_t>(pair.group + slot)];
      S& zone = w.c.zone[static_cast<std::size_t>(g.row)];
      for (int n = 0; n + 1 < parts; ++n) {
        const auto& part = split.parts[static_cast<std::size_t>(n)];
        zone = select(part.live & (part.met == S(value_t<S>(pair.point + slot))), meets, zone);
      }
    }
  }
}

// --- the step ----------------------------------------------------------------------------------------------------------------

// Parts 0, 1, ... of the step: fills split.parts from w.x and returns how many there are; the end in split.y. With `events` (length and point of
// each part but the last) it follows them instead of searching.
template <class S>
int take_parts(const Stepper& stepper, const S* events, bool with_tapes, StepWork<S>& w,
               SplitWork<S>& split) {
  using Part = typename SplitWork<S>::Part;
  const auto dt = static_cast<std::size_t>(stepper.tree.p.dt);
  const S whole = w.p[dt];
  S left = whole;
  std::fill(split.settled.begin(), split.settled.end(), S(0));
  Part& first = split.parts[0];
  std::copy(w.x.begin(), w.x.end(), first.x.begin());
  first.live = mask_t<S>(true);
  gaps_at(stepper, static_cast<const S*>(w.x.data()), w, split.gap.data());
  std::fill(first.modes.begin(), first.modes.end(), S(0));
  // Who has just bounced off lies within rounding of the surface.
  using T = value_t<S>;
  const bool rigid = stepper.constraints.contact == ContactModel::event;
  const S touches(rigid ? T(sizeof(T) == 8 ? -1e-10 : -1e-5) : T(0));
  for (const TouchingPair& pair : stepper.constraints.pairs) {
    if (!pair.splittable) continue;
    for (int k = pair.point; k < pair.point + pair.geoms.slots; ++k) {
      const auto at = static_cast<std::size_t>(k);
      first.modes[at] = select(split.gap[at] < touches, S(1), S(-1));
    }
  }
  int n = 0;
  for (;; ++n) {
    Part& part = split.parts[static_cast<std::size_t>(n)];
    const bool may_split = n < kMostEvents;
    part.event = S(-1);
    part.length = left;
    if (events && may_split) {
      part.event = select(part.live, events[2 * n + 1], S(-1));
      part.length = select(part.event >= S(0), events[2 * n], left);
      take_part(stepper, part, part.length, with_tapes, w);
    } else {
      take_part(stepper, part, left, with_tapes, w);
      if (may_split) {
        std::copy(w.tape.begin(), w.tape.begin() + std::ptrdiff_t(part.tape.size()), part.tape.begin());
        std::copy(w.y.begin(), w.y.end(), split.lambda.begin());
        gaps_at(stepper, static_cast<const S*>(w.y.data()), w, split.next_gap.data());
        part.event = first_event(stepper, part, left, split);
        if (any(part.event >= S(0))) {
          const S t = event_time(stepper, part, part.event, left, w, split);
          part.length = select(part.event >= S(0), t, left);
          take_part(stepper, part, part.length, with_tapes || is_dual<S>, w);
          if constexpr (is_dual<S>) {  // the tangent of tau by the implicit function theorem
            std::copy(w.tape.begin(), w.tape.begin() + std::ptrdiff_t(part.tape.size()), part.tape.begin());
            std::copy(w.y.begin(), w.y.end(), split.lambda.begin());
            const S rate = event_vjp(stepper, part, static_cast<const S*>(split.lambda.data()),
                                     with_length(stepper, Wanted{nullptr, nullptr, false}, split), w, split);
            gaps_at(stepper, static_cast<const S*>(split.lambda.data()), w, split.next_gap.data());
            const S g = pick(split.next_gap, part.event);
            const S slope(rate.v);
            part.length =
                select(part.event >= S(0), part.length - g / select(slope == S(0), S(1), slope), left);
            take_part(stepper, part, part.length, with_tapes, w);
          }
        } else {
          std::copy(split.lambda.begin(), split.lambda.end(), w.y.begin());
          if (with_tapes) std::copy(part.tape.begin(), part.tape.end(), w.tape.begin());
        }
      }
    }
    if (with_tapes)
      std::copy(w.tape.begin(), w.tape.begin() + std::ptrdiff_t(part.tape.size()), part.tape.begin());
    const mask_t<S> goes_on = part.event >= S(0);
    for (std::size_t i = 0; i < split.y.size(); ++i) split.y[i] = select(part.live, w.y[i], split.y[i]);
    if (!any(goes_on)) break;
    Part& next = split.parts[static_cast<std::size_t>(n) + 1];
    std::copy(split.y.begin(), split.y.end(), next.x.begin());
    next.live = goes_on;
    left = select(goes_on, left - part.length, S(0));
    const mask_t<S> bounces = rigid ? meet_at_end(stepper, part, next, w, split) : mask_t<S>(false);
    for (std::size_t k = 0; k < next.modes.size(); ++k) {
      const mask_t<S> changes = part.event == S(value_t<S>(k));
      next.modes[k] = select(changes & !bounces, -part.modes[k], part.modes[k]);
      split.settled[k] = select(changes, S(1), select(bounces, S(0), split.settled[k]));
    }
    if (n + 1 < kMostEvents && !events)
      gaps_at(stepper, static_cast<const S*>(next.x.data()), w, split.gap.data());
  }
  w.p[dt] = whole;
  return n + 1;
}

template <class S>
void split_step(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split, bool with_tape) {
  const int parts = take_parts<S>(stepper, nullptr, with_tape, w, split);
  std::copy(split.y.begin(), split.y.end(), w.y.begin());
  std::copy(split.parts[0].x.begin(), split.parts[0].x.end(), w.x.begin());
  if (!with_tape) return;
  std::copy(split.parts[0].tape.begin(), split.parts[0].tape.end(), w.tape.begin());
  S* events = w.tape.data() + stepper.evaluations() * stepper.tape_per_evaluation();
  for (int n = 0; n < kMostEvents; ++n) {
    const bool there = n < parts;
    const auto& part = split.parts[static_cast<std::size_t>(n)];
    events[2 * n] = there ? part.length : S(0);
    events[2 * n + 1] = there ? select(part.live, part.event, S(-1)) : S(-1);
  }
}

template <class S>
void split_step_vjp(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split, const Wanted& caller) {
  using Part = typename SplitWork<S>::Part;
  const auto dt = static_cast<std::size_t>(stepper.tree.p.dt);
  const S* recorded = w.tape.data() + stepper.evaluations() * stepper.tape_per_evaluation();
  S events[2 * kMostEvents];
  std::copy(recorded, recorded + 2 * kMostEvents, events);
  std::copy(w.y_bar.begin(), w.y_bar.end(), split.lambda.begin());
  const S whole = w.p[dt];
  const int parts = take_parts(stepper, static_cast<const S*>(events), true, w, split);

  const Wanted wanted = with_length(stepper, caller, split);
  const S dt_bar = w.p_bar[dt];
  const bool rigid = stepper.constraints.contact == ContactModel::event;
  S left_bar(0);
  for (int n = parts - 1; n >= 0; --n) {
    Part& part = split.parts[static_cast<std::size_t>(n)];
    if (rigid && n + 1 < parts && any(part.met >= S(0)))
      impact_vjp<S>(stepper.tree, stepper.constraints, w.p.data(),
                    split.parts[static_cast<std::size_t>(n) + 1].x.data(), part.v_before.data(), part.met,
                    wanted, split.lambda.data(), w.p_bar.data(), w.d, w.c, split.impact);
    // The transpose of the part itself, in the worlds that have it.
    for (std::size_t i = 0; i < w.y_bar.size(); ++i) w.y_bar[i] = select(part.live, split.lambda[i], S(0));
    std::copy(part.x.begin(), part.x.end(), w.x.begin());
    std::copy(part.modes.begin(), part.modes.end(), w.c.contact.modes.begin());
    std::copy(part.tape.begin(), part.tape.end(), w.tape.begin());
    w.p[dt] = part.length;
    w.p_bar[dt] = S(0);
    step_vjp(stepper, w, wanted);
    const S length_bar = w.p_bar[dt];
    for (std::size_t i = 0; i < split.lambda.size(); ++i)
      split.lambda[i] = select(part.live, w.x_bar[i], split.lambda[i]);
    const mask_t<S> event = part.event >= S(0);
    if (!any(event)) {
      left_bar = select(part.live, length_bar, left_bar);
      continue;
    }
    // tau: longer here, shorter in what is left.
    const S* y = split.parts[static_cast<std::size_t>(n) + 1].x.data();
    const S rate = event_vjp(stepper, part, y, wanted, w, split);
    const mask_t<S> grazes = rate == S(0);  // tau is held, as it is where it is 0
    const S scale = select(event & !grazes & (part.length > S(0)),
                           (left_bar - length_bar) / select(grazes, S(1), rate), S(0));
    for (std::size_t i = 0; i < split.lambda.size(); ++i) split.lambda[i] += scale * split.event_x_bar[i];
    for (std::size_t i = 0; i < w.u_bar.size(); ++i) w.u_bar[i] += scale * split.event_u_bar[i];
    for (std::size_t i = 0; i < w.p_bar.size(); ++i) w.p_bar[i] += scale * split.event_p_bar[i];
    // Worlds without an event ended here.
    left_bar = select(event, left_bar, select(part.live, length_bar, left_bar));
  }
  if (rigid) note_impacts(stepper, parts, w, split);
  w.p[dt] = whole;
  w.p_bar[dt] = dt_bar + left_bar;
  std::copy(split.lambda.begin(), split.lambda.end(), w.x_bar.begin());
}

}  // namespace costate::rigid

// Bodies of split_step.h, compiled once for each scalar in split_step_*.cpp.
#pragma once

#include "costate/ad/dual.h"
#include "costate/rigid/contact_adjoint.h"
#include "costate/rigid/split_step_worlds.h"

namespace costate::rigid {

template <class S>
SplitWork<S>::SplitWork(const Stepper& stepper)
    : gap(static_cast<std::size_t>(stepper.constraints.points)),
      next_gap(gap.size()),
      settled(gap.size()),
      record(static_cast<std::size_t>(kMostEvents * stepper.record_per_event())),
      tape(static_cast<std::size_t>(stepper.tape_size()) - record.size()),
      end(static_cast<std::size_t>(stepper.states())),
      parts(kMostEvents + 1),
      part_tape(tape.size()),
      lambda(static_cast<std::size_t>(stepper.states())),
      gap_bar(gap.size()),
      q_bar(static_cast<std::size_t>(stepper.tree.nv)),
      part_u_bar(static_cast<std::size_t>(stepper.controls())),
      part_p_bar(static_cast<std::size_t>(stepper.tree.p.prepared_size)),
      probe(lambda.size()),
      y(lambda.size()),
      impact(stepper.tree, stepper.constraints),
      zones(static_cast<std::size_t>(stepper.constraints.rows)) {
  const auto make = [&](Part& part) {
    part.x.resize(lambda.size());
    part.modes.resize(gap.size());
    part.v_before.resize(static_cast<std::size_t>(stepper.tree.nv));
  };
  make(now);
  for (Part& part : parts) make(part);
  for (S* s : {&number, &left, &lo, &f_lo, &hi, &f_hi, &slope, &turns, &f_before, &sure, &task, &left_bar,
               &length_bar})
    *s = S(0);
}

// --- gaps ------------------------------------------------------------------------------------------------------------------

template <class S>
void gaps_at(const Stepper& stepper, const S* x, StepWork<S>& w, S* gap) {
  kinematics(stepper.tree, static_cast<const S*>(w.p.data()), x, w.d);
  contact_gaps(stepper.tree, stepper.constraints, static_cast<const S*>(w.p.data()), x,
               static_cast<const Data<S>&>(w.d), w.c.contact, gap);
}

// Which points touch where a step begins.
template <class S>
void modes_of(const Stepper& stepper, const mask_t<S>& worlds, const std::vector<S>& gap,
              std::vector<S>& modes) {
  using T = value_t<S>;
  // Who has just bounced off lies within rounding of the surface.
  const bool rigid = stepper.constraints.contact == ContactModel::event;
  const S touches(rigid ? T(sizeof(T) == 8 ? -1e-10 : -1e-5) : T(0));
  for (std::size_t k = 0; k < modes.size(); ++k) set_where(worlds, S(0), modes[k]);
  for (const TouchingPair& pair : stepper.constraints.pairs) {
    if (!pair.splittable) continue;
    for (int k = pair.point; k < pair.point + pair.geoms.slots; ++k) {
      const auto at = static_cast<std::size_t>(k);
      set_where(worlds, select(gap[at] < touches, S(1), S(-1)), modes[at]);
    }
  }
}

// The contact point that changes first in what was tried, whose gaps are in split.gap and split.next_gap; -1: none does.
template <class S>
S first_event(const Stepper& stepper, const mask_t<S>& worlds, const SplitWork<S>& split) {
  S event(-1), earliest = split.left;
  for (const TouchingPair& pair : stepper.constraints.pairs) {
    if (!pair.splittable) continue;
    for (int k = pair.point; k < pair.point + pair.geoms.slots; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const mask_t<S> changes =
          worlds & (split.settled[at] == S(0)) & (split.now.modes[at] * split.next_gap[at] > S(0));
      if (!any(changes)) continue;
      const S fall = split.gap[at] - split.next_gap[at];
      const S when = split.left * split.gap[at] / select(fall == S(0), S(1), fall);
      const mask_t<S> first = changes & ((event < S(0)) | (when < earliest));
      event = select(first, S(value_t<S>(k)), event);
      earliest = select(first, when, earliest);
    }
  }
  return event;
}

// --- when a gap closes -------------------------------------------------------------------------------------------------------
//
// f(t) = +-gap of the event's point after a part of length t: it falls through zero. [lo, hi] is a bracket.

template <class S>
S nonzero(const S& x) {
  return select(x == S(0), S(1), x);
}
template <class S>
S inside(const SplitWork<S>& split, const S& t) {
  const S half(value_t<S>(0.5));
  return select((t > split.lo) & (t < split.hi), t, half * (split.lo + split.hi));
}

// The rate of the event's gap at a state, by a short move along its velocity.
template <class S>
S gap_rate(const Stepper& stepper, const S* x, const S& gap, StepWork<S>& w, SplitWork<S>& split) {
  const S h = split.left * S(value_t<S>(sizeof(value_t<S>) == 8 ? 1e-3 : 1e-1));
  integrate_position(stepper.tree, x, x + stepper.tree.nq, h, split.probe.data());
  gaps_at(stepper, static_cast<const S*>(split.probe.data()), w, split.gap_bar.data());
  return (pick(split.gap_bar, split.now.event) - gap) / nonzero(h);
}

// A first guess for worlds that have just found an event: the zero of the cubic through values and rates at both ends.
template <class S>
void begin_search(const Stepper& stepper, const mask_t<S>& found, StepWork<S>& w, SplitWork<S>& split) {
  const S sign = select(pick(split.now.modes, split.now.event) > S(0), S(-1), S(1));
  const S g0 = pick(split.gap, split.now.event), g1 = pick(split.next_gap, split.now.event);
  std::copy(w.y.begin(), w.y.end(), split.y.begin());
  const S r0 = sign * split.left * gap_rate(stepper, static_cast<const S*>(split.now.x.data()), g0, w, split),
          r1 = sign * split.left * gap_rate(stepper, static_cast<const S*>(split.y.data()), g1, w, split);
  set_where(found, S(0), split.lo);
  set_where(found, split.left, split.hi);
  set_where(found, sign * g0, split.f_lo);
  set_where(found, sign * g1, split.f_hi);
  set_where(found, S(0), split.turns);
  set_where(found, S(0), split.f_before);
  const S f0 = sign * g0, f1 = sign * g1, d = f1 - f0;
  const S c2 = S(3) * d - S(2) * r0 - r1, c3 = r0 + r1 - S(2) * d;
  S s = f0 / nonzero(-d), slope(0);
  for (int i = 0; i < 6; ++i) {
    const S f = f0 + s * (r0 + s * (c2 + s * c3));
    slope = r0 + s * (S(2) * c2 + S(3) * s * c3);
    const S next = s - f / nonzero(slope);
    s = select((next > S(0)) & (next < S(1)), next, s);
  }
  // Two points at once: the other one has changed already.
  const mask_t<S> over = f0 <= S(0);
  set_where(found, select(over, S(1), S(0)), split.sure);
  set_where(found, select(over, S(0), inside(split, s * split.left)), split.now.length);
  set_where(found, slope / nonzero(split.left), split.slope);
}

// Zero of the quadratic through three points, from the middle one; t where there is none.
template <class S>
S quadratic_zero(const S& lo, const S& f_lo, const S& t, const S& f, const S& hi, const S& f_hi) {
  const S d1 = (f - f_lo) / nonzero(t - lo), d2 = (f_hi - f) / nonzero(hi - t),
          A = (d2 - d1) / nonzero(hi - lo);
  const S B = d1 + A * (t - lo);
  const S square = B * B - S(4) * A * f;
  const S root = sqrt(select(square > S(0), square, S(0)));
  return t - S(2) * f / nonzero(select(B < S(0), B - root, B + root));
}

// After now.length was tried: the worlds that are there. The others get a new length: Newton's with the slope of the cubic, then the zero of a parabola, and the middle
// of the bracket where that did not bring f down.
template <class S>
mask_t<S> search(const mask_t<S>& searching, SplitWork<S>& split) {
  using T = value_t<S>;
  const S tolerance(T(sizeof(T) == 8 ? 1e-14 : 1e-7));
  const S sign = select(pick(split.now.modes, split.now.event) > S(0), S(-1), S(1));
  const S f = sign * pick(split.next_gap, split.now.event), t = split.now.length;
  const mask_t<S> there = searching & ((split.sure > S(0)) | (abs(f) <= tolerance) | (split.turns >= S(60)) |
                                       (split.hi - split.lo <= tolerance * split.left));
  const mask_t<S> on = searching & !there;
  if (!any(on)) return there;
  const S parabola = quadratic_zero(split.lo, split.f_lo, t, f, split.hi, split.f_hi);
  const mask_t<S> before = f > S(0);
  set_where(on & before, t, split.lo);
  set_where(on & before, f, split.f_lo);
  set_where(on & !before, t, split.hi);
  set_where(on & !before, f, split.f_hi);
  const S newton = t - f / nonzero(split.slope), half(T(0.5));
  const mask_t<S> halve = (split.turns > S(1)) & (abs(f) > S(T(0.25)) * split.f_before);
  const S guess = select(split.turns == S(0), newton, parabola);
  set_where(on, select(halve, half * (split.lo + split.hi), inside(split, guess)), split.now.length);
  set_where(on, abs(f), split.f_before);
  set_where(on, split.turns + S(1), split.turns);
  return there;
}

// --- the derivative of an event's gap --------------------------------------------------------------------------------------

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

// w.y_bar = dg/dy of the points in `events` (-1: zero); adds dg/dp to w.p_bar.
template <class S>
void gap_cotangent(const Stepper& stepper, const S* y, const S& events, const Wanted& wanted, StepWork<S>& w,
                   SplitWork<S>& split) {
  const Tree& t = stepper.tree;
  gaps_at(stepper, y, w, split.gap_bar.data());
  for (std::size_t k = 0; k < split.gap_bar.size(); ++k)
    split.gap_bar[k] = select(events == S(value_t<S>(k)), S(1), S(0));
  std::fill(split.q_bar.begin(), split.q_bar.end(), S(0));
  body_inertias(t, static_cast<const S*>(w.p.data()), w.d);
  contact_gaps_vjp(t, stepper.constraints, static_cast<const S*>(w.p.data()), y,
                   static_cast<const S*>(split.gap_bar.data()), wanted, split.q_bar.data(), w.p_bar.data(),
                   w.d, w.c.contact);
  std::fill(w.y_bar.begin(), w.y_bar.end(), S(0));
  ambient_cotangent(t, y, split.q_bar.data(), w.y_bar.data());
}

// The tangent of tau by the implicit function theorem, for the worlds whose search has ended: their length with it.
template <class S>
void tangent_of_length(const Stepper& stepper, const mask_t<S>& worlds, StepWork<S>& w, SplitWork<S>& split) {
  const auto dt = static_cast<std::size_t>(stepper.tree.p.dt);
  const S gap = pick(split.next_gap, split.now.event);
  std::copy(w.y.begin(), w.y.end(), split.y.begin());
  const Wanted wanted = with_length(stepper, Wanted{nullptr, nullptr, false}, split);
  std::fill(split.part_u_bar.begin(), split.part_u_bar.end(), S(0));
  std::fill(split.part_p_bar.begin(), split.part_p_bar.end(), S(0));
  std::swap(w.u_bar, split.part_u_bar);
  std::swap(w.p_bar, split.part_p_bar);
  gap_cotangent(stepper, static_cast<const S*>(split.y.data()), split.now.event, wanted, w, split);
  std::copy(split.now.modes.begin(), split.now.modes.end(), w.c.contact.modes.begin());
  step_vjp(stepper, w, wanted);
  std::swap(w.u_bar, split.part_u_bar);
  std::swap(w.p_bar, split.part_p_bar);
  S rate = split.part_p_bar[dt];
  if constexpr (is_dual<S>) rate = S(rate.v);
  set_where(worlds, split.now.length - gap / nonzero(rate), split.now.length);
  set_where(worlds, S(1), split.sure);
}

// --- forward -------------------------------------------------------------------------------------------------------------------

// The velocities `v` after the impact of a part's event, where one begins to touch. Returns the worlds in which it bounces off.
template <class S>
mask_t<S> meet(const Stepper& stepper, const mask_t<S>& worlds, const S& mode,
               typename SplitWork<S>::Part& part, S* x, StepWork<S>& w, SplitWork<S>& split) {
  S* v = x + stepper.tree.nq;
  const S met = select(worlds & (mode < S(0)), part.event, S(-1));
  set_where(worlds, met, part.met);
  copy_where(worlds, static_cast<const S*>(v), part.v_before.size(), part.v_before.data());
  if (!any(met >= S(0))) return mask_t<S>(false);
  const mask_t<S> rests =
      impact<S>(stepper.tree, stepper.constraints, w.p.data(), x, met, v, w.d, w.c, split.impact);
  return (met >= S(0)) & !rests;
}

// Contact points after the event of `part`: the one that met or left, unless it bounced.
template <class S>
void change_modes(const mask_t<S>& worlds, const S& event, const mask_t<S>& bounces,
                  const std::vector<S>& from, std::vector<S>& to, std::vector<S>* settled) {
  for (std::size_t k = 0; k < to.size(); ++k) {
    const mask_t<S> changes = worlds & (event == S(value_t<S>(k)));
    set_where(worlds, select(changes & !bounces, -from[k], from[k]), to[k]);
    if (settled) (*settled)[k] = select(changes, S(1), select(worlds & bounces, S(0), (*settled)[k]));
  }
}

template <class S>
void begin_steps(const Stepper& stepper, const mask_t<S>& worlds, const S& whole, SplitWork<S>& split) {
  set_where(worlds, S(0), split.number);
  set_where(worlds, whole, split.left);
  set_where(worlds, whole, split.now.length);
  set_where(worlds, S(-1), split.now.event);
  set_where(worlds, S(0), split.sure);
  for (S& s : split.settled) set_where(worlds, S(0), s);
  for (S& r : split.record) set_where(worlds, S(-1), r);
  modes_of(stepper, worlds, split.gap, split.now.modes);
}

// `worlds` have come to the event at the end of a part: w.y.
template <class S>
void end_parts(const Stepper& stepper, const mask_t<S>& worlds, StepWork<S>& w, SplitWork<S>& split) {
  typename SplitWork<S>::Part& now = split.now;
  for (int n = 0; n < kMostEvents; ++n) {
    const mask_t<S> here = worlds & (split.number == S(value_t<S>(n)));
    if (!any(here)) continue;
    S* record = split.record.data() + n * stepper.record_per_event();
    set_where(here, now.length, record[0]);
    set_where(here, now.event, record[1]);
    copy_where(here, static_cast<const S*>(w.y.data()), w.y.size(), record + 2);
  }
  copy_where(worlds, static_cast<const S*>(w.y.data()), w.y.size(), now.x.data());
  mask_t<S> bounces(false);
  if (stepper.constraints.contact == ContactModel::event)
    bounces = meet(stepper, worlds, pick(now.modes, now.event), now, now.x.data(), w, split);
  change_modes(worlds, now.event, bounces, now.modes, now.modes, &split.settled);
  copy_where(worlds, static_cast<const S*>(split.next_gap.data()), split.gap.size(), split.gap.data());
  set_where(worlds, split.left - now.length, split.left);
  set_where(worlds, split.left, now.length);
  set_where(worlds, S(-1), now.event);
  set_where(worlds, S(0), split.sure);
  set_where(worlds, split.number + S(1), split.number);
}

template <class S, class Steps>
void take_steps(const Stepper& stepper, bool with_tape, Steps& steps, StepWork<S>& w, SplitWork<S>& split) {
  typename SplitWork<S>::Part& now = split.now;
  const auto dt = static_cast<std::size_t>(stepper.tree.p.dt);
  const S whole = w.p[dt];
  now.length = split.left = whole;
  mask_t<S> active = steps.begin(mask_t<S>(true));
  gaps_at(stepper, static_cast<const S*>(now.x.data()), w, split.gap.data());
  begin_steps(stepper, active, whole, split);
  while (any(active)) {
    std::copy(now.x.begin(), now.x.end(), w.x.begin());
    std::copy(now.modes.begin(), now.modes.end(), w.c.contact.modes.begin());
    w.p[dt] = now.length;
    step(stepper, w, with_tape || is_dual<S>);
    gaps_at(stepper, static_cast<const S*>(w.y.data()), w, split.next_gap.data());

    const mask_t<S> trying = active & (now.event < S(0)), searching = active & !trying;
    const S event = first_event(stepper, trying & (split.number < S(value_t<S>(kMostEvents))), split);
    const mask_t<S> found = event >= S(0), over = trying & !found;
    mask_t<S> there = any(searching) ? search(searching, split) : mask_t<S>(false);
    if constexpr (is_dual<S>) {
      const mask_t<S> unsure = there & (split.sure == S(0));
      if (any(unsure)) tangent_of_length(stepper, unsure, w, split);
      there = there & !unsure;
      if (any(unsure)) std::copy(split.y.begin(), split.y.end(), w.y.begin());
    }
    const mask_t<S> first = (over | there) & (split.number == S(0));
    if (with_tape && any(first))
      copy_where(first, static_cast<const S*>(w.tape.data()), split.tape.size(), split.tape.data());
    if (any(there)) end_parts(stepper, there, w, split);
    if (any(over)) {
      steps.end(over, with_tape);
      const mask_t<S> next = steps.begin(over);
      active = active & ((!over) | next);
      copy_where(next, static_cast<const S*>(split.next_gap.data()), split.gap.size(), split.gap.data());
      begin_steps(stepper, next, whole, split);
    }
    if (any(found)) {
      set_where(found, event, now.event);
      begin_search(stepper, found, w, split);
    }
  }
  w.p[dt] = whole;
}

template <class S>
void split_step(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split, bool with_tape) {
  OneStep<S> steps{stepper, w, split};
  std::copy(w.x.begin(), w.x.end(), split.lambda.begin());
  take_steps(stepper, with_tape, steps, w, split);
  std::copy(split.lambda.begin(), split.lambda.end(), w.x.begin());
  std::copy(split.end.begin(), split.end.end(), w.y.begin());
  if (!with_tape) return;
  std::copy(split.tape.begin(), split.tape.end(), w.tape.begin());
  std::copy(split.record.begin(), split.record.end(), w.tape.begin() + std::ptrdiff_t(split.tape.size()));
}

template <class S>
void split_advance(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split,
                   const SplitRun<value_t<S>>& run) {
  Columns<S> steps{stepper, w, split, run};
  take_steps(stepper, run.tape != nullptr, steps, w, split);
}

}  // namespace costate::rigid

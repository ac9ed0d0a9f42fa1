// Bodies of split_step.h, compiled once for each scalar in split_step_*.cpp.
#pragma once

#include "costate/ad/dual.h"
#include "costate/rigid/constraints/impedance.h"
#include "costate/rigid/contact/contact_adjoint.h"
#include "costate/rigid/contact/contact_mixing.h"
#include "costate/rigid/step/split_step_worlds.h"

namespace costate::rigid {

template <class S>
SplitWork<S>::SplitWork(const Stepper& stepper)
    : gap(stepper.constraints.points),
      next_gap(gap.size()),
      cut_gap(gap.size()),
      settled(gap.size()),
      record(stepper.record_size()),
      tapes(kTapesKept * stepper.tape_of_step()),
      end(stepper.states()),
      parts(kMostEvents + 1),
      part_tape(stepper.tape_of_step()),
      lambda(end.size()),
      gap_x(end.size()),
      gap_bar(gap.size()),
      q_bar(stepper.tree.nv),
      gap_p(stepper.tree.p.prepared_size),
      y(end.size()),
      impact(stepper.tree, stepper.constraints),
      zones(stepper.constraints.rows),
      counts(is_dual<S> ? 0 : lanes_of<S>),
      watch(stepper) {
  const auto make = [&](Part& part) {
    part.x.resize(end.size());
    part.modes.resize(gap.size());
    part.v_before.resize(stepper.tree.nv);
  };
  make(now);
  for (Part& part : parts) make(part);
  number = left_bar = slowest = ties = exhausted = S(0);
}

// What is left after a part, relative to what was.
template <class S>
S rest(const typename SplitWork<S>::Part& part) {
  return max(S(0), S(1) - part.part * part.length);
}

// The record of the event at the end of part n: the length of the step, how much of it, the point, the state.
template <class S>
S* record_of(const Stepper& stepper, SplitWork<S>& split, int n) {
  return split.record.data() + stepper.constraints.points + n * stepper.record_per_event();
}

// --- gaps --------------------------------------------------------------------------------------------------

template <class S>
void gaps_at(const Stepper& stepper, const S* x, StepWork<S>& w, S* gap) {
  kinematics(stepper.tree, static_cast<const S*>(w.p.data()), x, w.d);
  contact_gaps(stepper.tree, stepper.constraints, static_cast<const S*>(w.p.data()), x,
               static_cast<const Data<S>&>(w.d), w.c.contact, gap);
}

// Corners of boxes are seen however high they are: their distance is that of the corner, whether it touches
// or not.
template <class S>
void see_corners(const Stepper& stepper, StepWork<S>& w) {
  for (std::size_t i = 0; i < stepper.constraints.pairs.size(); ++i) {
    const TouchingPair& pair = stepper.constraints.pairs[i];
    const bool box = stepper.tree.geoms[pair.geoms.second].type == GeomType::box;
    if (pair.splittable && box) w.c.contact.slack[i] = S(value_t<S>(1e-3 * geometry::kFar));
  }
}

// Which points touch where a step begins.
template <class S>
void modes_of(const Stepper& stepper, const mask_t<S>& worlds, const std::vector<S>& gap,
              std::vector<S>& modes) {
  using T = value_t<S>;
  // Who has just bounced off lies within rounding of the surface.
  const bool rigid = parts_of(stepper.constraints.contact).impacts;
  const S touches(rigid ? T(sizeof(T) == 8 ? -1e-10 : -1e-5) : T(0));
  for (std::size_t k = 0; k < modes.size(); ++k) set_where(worlds, S(0), modes[k]);
  for (const TouchingPair& pair : stepper.constraints.pairs) {
    if (!pair.splittable) continue;
    for (int k = pair.point; k < pair.point + pair.geoms.slots; ++k) {
      set_where(worlds, select(gap[k] < touches, S(1), S(-1)), modes[k]);
    }
  }
}

// The contact point that changes first in the step that was taken, whose gaps are in split.gap and
// split.next_gap; -1: none does.
template <class S>
S first_event(const Stepper& stepper, const mask_t<S>& worlds, const SplitWork<S>& split) {
  S event(-1), earliest(2);
  for (const TouchingPair& pair : stepper.constraints.pairs) {
    if (!pair.splittable) continue;
    for (int k = pair.point; k < pair.point + pair.geoms.slots; ++k) {
      const mask_t<S> changes =
          worlds & (split.settled[k] == S(0)) & (split.now.modes[k] * split.next_gap[k] > S(0));
      if (!any(changes)) continue;
      const S fall = split.gap[k] - split.next_gap[k];
      const S when = split.gap[k] / select(fall == S(0), S(1), fall);
      const mask_t<S> first = changes & (when < earliest);
      event = select(first, S(value_t<S>(k)), event);
      earliest = select(first, when, earliest);
    }
  }
  return event;
}

// --- when a gap closes -------------------------------------------------------------------------------------

template <class S>
S nonzero(const S& x) {
  return select(x == S(0), S(1), x);
}

// Zero of the quadratic through three points, from the middle one; t where there is none.
template <class S>
S quadratic_zero(const S& lo, const S& f_lo, const S& t, const S& f, const S& hi, const S& f_hi) {
  const S d1 = (f - f_lo) / nonzero(t - lo), d2 = (f_hi - f) / nonzero(hi - t),
          A = (d2 - d1) / nonzero(hi - lo);
  const S B = d1 + A * (t - lo);
  const S square = B * B - S(4) * A * f;
  const mask_t<S> real = square > S(0);  // the root of a Dual has no tangent at zero
  const S root = select(real, sqrt(select(real, square, S(1))), S(0));
  return t - S(2) * f / nonzero(select(B < S(0), B - root, B + root));
}

// How far along the dense output of a step an event may lie: to the end of what is left, and not much beyond
// a step that was shortened.
template <class S>
S furthest(const typename SplitWork<S>::Part& now) {
  return min(S(value_t<S>(1.6)), S(1) / now.length);
}
// Worlds whose event is the end of a contact that can only push, and does so until then: they go back to a
// shorter step. The force of a damped contact, which is K d |r| - B r', has ended B / (K d) before, in an
// earlier step as a rule.
template <class S>
mask_t<S> to_shorten(const Stepper& stepper, const mask_t<S>& found, const StepWork<S>& w,
                     const SplitWork<S>& split) {
  using T = value_t<S>;
  const Constraints& cons = stepper.constraints;
  const Tree& tree = stepper.tree;
  if (!soft_contacts(cons) || stepper.evaluations == 1) return mask_t<S>(false);
  const mask_t<S> ends = found & (split.now.length == S(1)) & (pick(split.now.modes, split.now.event) > S(0));
  mask_t<S> pushes(false);
  for (const TouchingPair& pair : cons.pairs) {
    if (!pair.splittable) continue;
    const mask_t<S> here = ends & (split.now.event >= S(T(pair.point))) &
                           (split.now.event < S(T(pair.point + pair.geoms.slots)));
    if (!any(here)) continue;
    ContactParameters<S> par;
    contact_parameters(tree, pair.geoms, static_cast<const S*>(w.p.data()), par);
    const Impedance<S> d = impedance<S>(par.soft + 2, S(0));
    const Stiffness<S> k = stiffness<S>(par.soft, d.dmax, w.p[tree.p.whole_dt], cons.refsafe, false);
    pushes = pushes | (here & (k.B < k.K * d.dmin * split.now.left));
  }
  return pushes;
}

// now.part of the worlds that `found` an event in the step that was taken: the zero of f(s) = +-gap of its
// point along the dense output, which falls from s = 0 on. By parabolas through the ends of a bracket and the
// point in it, and its middle where one does not bring f down. split.y and split.cut_gap are the state there
// and its gaps, and w.d its kinematics.
template <class S>
void find_cut(const Stepper& stepper, const mask_t<S>& found, const mask_t<S>& roughly, StepWork<S>& w,
              SplitWork<S>& split) {
  using T = value_t<S>;
  const S tolerance(T(sizeof(T) == 8 ? 1e-14 : 1e-7)), half(T(0.5));
  const S sign = select(pick(split.now.modes, split.now.event) > S(0), S(-1), S(1));
  // Tangents have no part in the search.
  const auto f_of = [&](const std::vector<S>& gap) { return held(sign * pick(gap, split.now.event)); };
  const auto try_at = [&](const S& t) {
    state_within(stepper, w, t, split.y.data());
    gaps_at(stepper, static_cast<const S*>(split.y.data()), w, split.cut_gap.data());
    return f_of(split.cut_gap);
  };
  S lo(0), hi = furthest<S>(split.now), f_lo = f_of(split.gap), f_hi = f_of(split.next_gap);
  const mask_t<S> beyond = found & (hi > S(1));
  if (any(beyond)) f_hi = select(beyond, try_at(hi), f_hi);
  const mask_t<S> far = f_lo > S(T(0.5 * geometry::kFar));  // a leap: no distance to speak of
  f_lo = select(far, abs(f_hi), f_lo);
  const S whole = f_lo - f_hi;
  const S near_enough = select(roughly, S(T(1e-2)) * whole, tolerance);
  // Where the other one of two points at once has changed already, s = 0; a gap that has just closed there is
  // a zero all the same, and moves.
  mask_t<S> on = found & (f_lo > S(0)) & (f_hi < S(0));
  const S at_start = select(f_lo < -tolerance, S(0), S(T(1e-30)));
  S t = select(on, hi * f_lo / nonzero(whole), select(f_lo > S(0), hi, at_start)), f_before = f_lo;
  for (int turn = 0;; ++turn) {
    const S f = try_at(t);
    on = on & (abs(f) > near_enough);
    if (!any(on) || turn == 60) break;
    const S parabola = quadratic_zero(lo, f_lo, t, f, hi, f_hi);
    const mask_t<S> before = on & (f > S(0)), after = on & !(f > S(0));
    set_where(before, t, lo);
    set_where(before, f, f_lo);
    set_where(after, t, hi);
    set_where(after, f, f_hi);
    const mask_t<S> slow = abs(f) > half * abs(f_before);
    const S next = select((parabola > lo) & (parabola < hi) & !slow, parabola, half * (lo + hi));
    f_before = f;
    // Done where rounding is all that is left.
    const mask_t<S> same = (abs(next - t) <= tolerance) & (abs(f) <= S(T(1e-6)) * whole);
    on = on & !same & (hi - lo > tolerance);
    if (!any(on)) break;
    set_where(on, next, t);
  }
  set_where(found, t, split.now.part);
}

// now.length of worlds that go back to take a step that does not go beyond the end of a contact, now.part.
// Returns those that need not.
template <class S>
mask_t<S> shorten(const mask_t<S>& worlds, SplitWork<S>& split) {
  using T = value_t<S>;
  const S shortest(T(1e-6));
  const mask_t<S> ends = worlds & (split.now.part > shortest);
  const S most = S(T(0.9)) * split.now.part;
  S length(1);
  for (mask_t<S> longer = ends; any(longer); longer = longer & (length > most))
    set_where(longer, S(T(0.8)) * length, length);
  set_where(ends, length, split.now.length);
  return worlds & !ends;
}

// --- the derivative of an event's gap ----------------------------------------------------------------------

// The caller's wishes, and dt.
template <class S>
Wanted with_length(const Stepper& stepper, const Wanted& wanted, SplitWork<S>& split) {
  const std::vector<int>& field_of = stepper.tree.p.field_of;
  if (wanted.active)
    split.activity = *wanted.active;
  else
    split.activity.parameters.assign(static_cast<std::size_t>(field_of.back()) + 1, false);
  split.activity.parameters[field_of[stepper.tree.p.dt]] = true;
  return {&split.activity, &field_of, wanted.active && wanted.frames};
}

// split.gap_x = dg/dx of the points in `events` (-1: zero) at split.y, split.gap_p = dg/dp where wanted.
template <class S>
void gap_cotangent(const Stepper& stepper, const S& events, const Wanted& wanted, StepWork<S>& w,
                   SplitWork<S>& split) {
  const Tree& t = stepper.tree;
  const S *p = w.p.data(), *y = split.y.data();
  gaps_at(stepper, y, w, split.cut_gap.data());
  for (std::size_t k = 0; k < split.gap_bar.size(); ++k)
    split.gap_bar[k] = select(events == S(value_t<S>(k)), S(1), S(0));
  std::fill(split.q_bar.begin(), split.q_bar.end(), S(0));
  if (wanted.active) std::fill(split.gap_p.begin(), split.gap_p.end(), S(0));
  body_inertias(t, p, w.d);
  contact_gaps_vjp(t, stepper.constraints, p, y, static_cast<const S*>(split.gap_bar.data()), wanted,
                   split.q_bar.data(), split.gap_p.data(), w.d, w.c.contact);
  std::fill(split.gap_x.begin(), split.gap_x.end(), S(0));
  ambient_cotangent(t, y, split.q_bar.data(), split.gap_x.data());
}

// Where the time of a cut moves with the state, given the rate of its gap. Else grazing, two events at once,
// or no zero in what is left.
template <class S>
mask_t<S> cut_moves(const typename SplitWork<S>::Part& now, const S& rate) {
  return (rate != S(0)) & (now.part > S(0)) & (now.part < furthest<S>(now));
}

// The tangent of now.part, by the implicit function theorem; split.y moves with it.
template <class S>
void tangent_of_cut(const Stepper& stepper, const mask_t<S>& found, StepWork<S>& w, SplitWork<S>& split) {
  if constexpr (is_dual<S>) {
    const S gap = pick(split.cut_gap, split.now.event);
    gap_cotangent(stepper, select(found, split.now.event, S(-1)), {nullptr, nullptr, false}, w, split);
    w.part = split.now.part;
    const S rate = S(rate_within(stepper, w, static_cast<const S*>(split.gap_x.data())).v);
    w.part = S(1);
    const mask_t<S> moves = found & cut_moves(split.now, rate);
    set_where(moves, split.now.part - (gap - held(gap)) / nonzero(rate), split.now.part);
    state_within(stepper, w, split.now.part, split.y.data());
    gaps_at(stepper, static_cast<const S*>(split.y.data()), w, split.cut_gap.data());
  }
}

// --- forward -----------------------------------------------------------------------------------------------

// The velocities `v` after the impact of a part's event, where one begins to touch. Returns the worlds in
// which it bounces off.
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
  set_where(worlds, whole, split.now.left);
  set_where(worlds, S(1), split.now.length);
  for (S& s : split.settled) set_where(worlds, S(0), s);
  for (int n = 0; n < kMostEvents; ++n) set_where(worlds, S(-1), record_of(stepper, split, n)[2]);
  modes_of(stepper, worlds, split.gap, split.now.modes);
  copy_where(worlds, static_cast<const S*>(split.now.modes.data()), split.now.modes.size(),
             split.record.data());
}

// `worlds` have come to the event at the end of a part: split.y.
template <class S>
void end_parts(const Stepper& stepper, const mask_t<S>& worlds, StepWork<S>& w, SplitWork<S>& split) {
  typename SplitWork<S>::Part& now = split.now;
  for (int n = 0; n < kMostEvents; ++n) {
    const mask_t<S> here = worlds & (split.number == S(value_t<S>(n)));
    if (!any(here)) continue;
    S* record = record_of(stepper, split, n);
    set_where(here, now.length, record[0]);
    set_where(here, now.part, record[1]);
    set_where(here, now.event, record[2]);
    copy_where(here, static_cast<const S*>(split.y.data()), split.y.size(), record + 3);
  }
  copy_where(worlds, static_cast<const S*>(split.y.data()), split.y.size(), now.x.data());
  mask_t<S> bounces(false);
  if (parts_of(stepper.constraints.contact).impacts)
    bounces = meet(stepper, worlds, pick(now.modes, now.event), now, now.x.data(), w, split);
  change_modes(worlds, now.event, bounces, now.modes, now.modes, &split.settled);
  copy_where(worlds, static_cast<const S*>(split.cut_gap.data()), split.gap.size(), split.gap.data());
  set_where(worlds, rest<S>(now) * now.left, now.left);
  set_where(worlds, S(1), now.length);
  set_where(worlds, split.number + S(1), split.number);
}

template <class S, class Steps>
void take_steps(const Stepper& stepper, bool with_tape, Steps& steps, StepWork<S>& w, SplitWork<S>& split) {
  typename SplitWork<S>::Part& now = split.now;
  const std::size_t dt = stepper.tree.p.dt;
  const S whole = w.p[dt];
  now.left = whole;
  now.length = S(1);
  see_corners(stepper, w);
  mask_t<S> active = steps.begin(mask_t<S>(true));
  std::fill(w.c.contact.modes.begin(), w.c.contact.modes.end(), S(0));
  gaps_at(stepper, static_cast<const S*>(now.x.data()), w, split.gap.data());
  begin_steps(stepper, active, whole, split);
  while (any(active)) {
    std::copy(now.x.begin(), now.x.end(), w.x.begin());
    std::copy(now.modes.begin(), now.modes.end(), w.c.contact.modes.begin());
    w.p[dt] = now.length * now.left;
    step(stepper, w, with_tape || is_dual<S>);
    gaps_at(stepper, static_cast<const S*>(w.y.data()), w, split.next_gap.data());
    const mask_t<S> trying = active & (now.length == S(1));
    const S event = first_event(stepper, trying & (split.number < S(value_t<S>(kMostEvents))), split);
    set_where(trying, event, now.event);
    const mask_t<S> over = trying & (event < S(0)), found = active & !over;
    const mask_t<S> ends = any(found) ? to_shorten(stepper, found, w, split) : mask_t<S>(false);
    if (any(found)) find_cut(stepper, found, ends, w, split);
    const mask_t<S> cut = (found & !ends) | shorten(ends, split);
    if (with_tape) steps.keep_tape(over | cut);
    if (any(cut)) {
      tangent_of_cut(stepper, cut, w, split);
      end_parts(stepper, cut, w, split);
    }
    if (any(over)) {
      steps.end(over, with_tape);
      const mask_t<S> next = steps.begin(over);
      active = active & ((!over) | next);
      copy_where(next, static_cast<const S*>(split.next_gap.data()), split.gap.size(), split.gap.data());
      begin_steps(stepper, next, whole, split);
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
  std::copy(split.tapes.begin(), split.tapes.end(), w.tape.begin());
  std::copy(split.record.begin(), split.record.end(), w.tape.begin() + std::ptrdiff_t(split.tapes.size()));
}

template <class S>
void split_advance(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split,
                   const SplitRun<value_t<S>>& run) {
  Columns<S> steps{stepper, w, split, run};
  take_steps(stepper, run.tape != nullptr, steps, w, split);
}

}  // namespace costate::rigid

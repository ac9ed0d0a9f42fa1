// What a split step reads and writes: its scratch, its record, gaps and which contact changes first
// (split_step.h).
#pragma once

#include "costate/ad/dual.h"
#include "costate/rigid/contact/contact_adjoint.h"
#include "costate/rigid/contact/contact_mixing.h"
#include "costate/rigid/step/limit_events.h"
#include "costate/rigid/step/split_step_worlds.h"

namespace costate::rigid {

// What takes the parts in which a contact pushes.
inline const Stepper& pushing(const Stepper& stepper) { return stepper.by_rk4 ? *stepper.by_rk4 : stepper; }

template <class S>
SplitWork<S>::SplitWork(const Stepper& stepper)
    : gap(std::size_t(stepper.constraints.events())),
      next_gap(gap.size()),
      cut_gap(gap.size()),
      settled(gap.size()),
      rates(gap.size()),
      next_rates(gap.size()),
      cut_rates(gap.size()),
      edges(2 * std::size_t(stepper.constraints.rows)),
      edges_of(gap.size()),
      record(stepper.record_size()),
      tapes(kTapesKept * stepper.tape_of_step()),
      scratch_tape(pushing(stepper).tape_of_step()),
      end(stepper.states()),
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
      watch(stepper),
      sweeps(stepper),
      errors(stepper) {
  const auto make = [&](Part& part) {
    part.x.resize(end.size());
    part.modes.resize(gap.size());
    part.v_before.resize(stepper.tree.nv);
  };
  make(now);
  for (Part& part : parts) make(part);
  activity.parameters.resize(std::size_t(stepper.tree.p.field_of.back()) + 1);
  number = events = slow = leaps = shortened = before = suggested = again = left_bar = slowest = ties =
      exhausted = cuts = coarse = S(0);
}

// What is left after a part, relative to what was.
template <class S>
S rest(const typename SplitWork<S>::Part& part) {
  return max(S(0), S(1) - part.part * part.length);
}

// The record of part n: the numbers of SplitWork::Part that are listed here, and the state at its end; of the
// last part, number recorded_parts, the numbers alone.
template <class S>
S* record_of(const Stepper& stepper, SplitWork<S>& split, int n) {
  return split.record.data() + stepper.record_head() + n * stepper.record_per_part();
}
template <class Part, class F>
void each_number(Part& part, const F& f) {
  f(0, part.length);
  f(1, part.part);
  f(2, part.event);
  f(3, part.most);
  f(4, part.moved);
}
template <class S>
S& recorded_parts(const Stepper& stepper, SplitWork<S>& split) {
  return split.record[std::size_t(stepper.constraints.events())];
}
template <class S>
S& recorded_events(const Stepper& stepper, SplitWork<S>& split) {
  return split.record[std::size_t(stepper.constraints.events()) + 1];
}
template <class S>
S& recorded_slow(const Stepper& stepper, SplitWork<S>& split) {
  return split.record[std::size_t(stepper.constraints.events()) + 2];
}
template <class S>
S& recorded_leaps(const Stepper& stepper, SplitWork<S>& split) {
  return split.record[std::size_t(stepper.constraints.events()) + 3];
}

// --- gaps --------------------------------------------------------------------------------------------------

template <class S>
void gaps_at(const Stepper& stepper, const S* x, StepWork<S>& w, S* gap) {
  kinematics(stepper.tree, static_cast<const S*>(w.p.data()), x, w.d);
  contact_gaps(stepper.tree, stepper.constraints, static_cast<const S*>(w.p.data()), x,
               static_cast<const Data<S>&>(w.d), w.c.contact, gap);
  limit_gaps(stepper.tree, stepper.constraints, static_cast<const S*>(w.p.data()), x, w.d, gap);
}

// Shapes that rattle on corners or rims.
inline bool rattles(const TouchingPair& pair) { return pair.geoms.slots > 2; }

// Points are seen however far they are: their distance is known whether they touch or not.
template <class S>
void see_far(const Stepper& stepper, StepWork<S>& w) {
  for (std::size_t i = 0; i < stepper.constraints.pairs.size(); ++i) {
    if (stepper.constraints.pairs[i].splittable) w.c.contact.slack[i] = S(value_t<S>(1e-3 * geometry::kFar));
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
  for (std::size_t k = std::size_t(stepper.constraints.points); k < modes.size(); ++k)
    set_where(worlds, select(gap[k] < S(0), S(1), S(-1)), modes[k]);
}

// The contact point or limit that changes first in the step that was taken, whose gaps are in split.gap and
// split.next_gap; -1: none does. A box that slides or settles rattles on its corners, and a gradient through
// every rattle carries no signal: corners that change more slowly than kSlowImpact are left to the time grid
// and counted.
template <class S>
S first_event(const Stepper& stepper, const mask_t<S>& worlds, SplitWork<S>& split) {
  using T = value_t<S>;
  S event(-1), earliest(2);
  const auto look = [&](int k, bool corner) {
    mask_t<S> changes = worlds & (split.settled[k] == S(0)) & (split.now.modes[k] * split.next_gap[k] > S(0));
    if (!any(changes)) return;
    const S fall = split.gap[k] - split.next_gap[k];
    if (corner) {
      const mask_t<S> slow = changes & (abs(fall) < S(T(kSlowImpact)) * split.now.length * split.now.left);
      set_where(slow, S(1), split.settled[k]);
      set_where(slow & (split.now.modes[k] < S(0)), split.slow + S(1), split.slow);
      changes = changes & !slow;
    }
    const S when = split.gap[k] / select(fall == S(0), S(1), fall);
    const mask_t<S> first = changes & (when < earliest);
    event = select(first, S(T(k)), event);
    earliest = select(first, when, earliest);
  };
  for (const TouchingPair& pair : stepper.constraints.pairs) {
    if (!pair.splittable) continue;
    for (int k = pair.point; k < pair.point + pair.geoms.slots; ++k) look(k, rattles(pair));
  }
  for (int k = stepper.constraints.points; k < stepper.constraints.events(); ++k) look(k, false);
  return event;
}

}  // namespace costate::rigid

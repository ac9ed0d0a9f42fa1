// Bodies of split_step.h, compiled once for each scalar in split_step_*.cpp.
#pragma once

#include "costate/rigid/step/part_errors.h"
#include "costate/rigid/step/part_method.h"
#include "costate/rigid/step/split_step_cut.h"

namespace costate::rigid {

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

// Which points touch, and in what way the worlds that begin a part take it.
template <class S>
void begin_parts(const Stepper& stepper, const mask_t<S>& worlds, StepWork<S>& w, SplitWork<S>& split) {
  set_where(worlds, S(1), split.now.length);
  set_where(worlds, S(1), split.now.part);
  set_where(worlds, S(1), split.now.most);
  set_where(worlds, S(0), split.shortened);
  set_where(worlds, S(0), split.again);
  if (!stepper.by_rk4) return;
  const mask_t<S> moves = something_moves(stepper, worlds & rk4_follows(stepper, w), w, split);
  set_where(worlds, select(moves, S(1), S(0)), split.now.moved);
}

template <class S>
void begin_steps(const Stepper& stepper, const mask_t<S>& worlds, const S& whole, StepWork<S>& w,
                 SplitWork<S>& split) {
  for (S* count : {&split.number, &split.events, &split.slow, &split.leaps, &split.before})
    set_where(worlds, S(0), *count);
  set_where(worlds, whole, split.now.left);
  set_where(worlds, S(value_t<S>(1e30)), split.suggested);
  for (S& s : split.settled) set_where(worlds, S(0), s);
  for (S& part : split.edges_of) set_where(worlds, S(0), part);
  modes_of(stepper, worlds, split.gap, split.now.modes);
  copy_where(worlds, static_cast<const S*>(split.now.modes.data()), split.now.modes.size(),
             split.record.data());
  begin_parts(stepper, worlds, w, split);
}

// `worlds` have come to the end of a part; x: the state there, null where it is the last.
template <class S>
void record_parts(const Stepper& stepper, const mask_t<S>& worlds, const std::vector<S>* x,
                  SplitWork<S>& split) {
  for (int n = 0; n <= kMostParts; ++n) {
    const mask_t<S> here = worlds & (split.number == S(value_t<S>(n)));
    if (!any(here)) continue;
    S* record = record_of(stepper, split, n);
    each_number(split.now, [&](int i, const S& value) { set_where(here, value, record[i]); });
    if (x) copy_where(here, x->data(), x->size(), record + Stepper::kPartNumbers);
  }
  if (!x) return;
  copy_where(worlds, x->data(), x->size(), split.now.x.data());
  set_where(worlds, split.number + S(1), split.number);
}

// With the event at the end of a part: split.y.
template <class S>
void end_cut_parts(const Stepper& stepper, const mask_t<S>& worlds, StepWork<S>& w, SplitWork<S>& split) {
  typename SplitWork<S>::Part& now = split.now;
  record_parts(stepper, worlds, &split.y, split);
  mask_t<S> bounces(false);
  if (parts_of(stepper.constraints.contact).impacts)
    bounces = meet(stepper, worlds, pick(now.modes, now.event), now, now.x.data(), w, split);
  change_modes(worlds, now.event, bounces, now.modes, now.modes, &split.settled);
  copy_where(worlds, static_cast<const S*>(split.cut_gap.data()), split.gap.size(), split.gap.data());
  if (stepper.by_rk4) {
    point_rates(stepper, static_cast<const S*>(split.y.data()), split.cut_gap, w, split.cut_rates);
    copy_where(worlds, static_cast<const S*>(split.cut_rates.data()), split.rates.size(), split.rates.data());
  }
  set_where(worlds, rest<S>(now) * now.left, now.left);
  set_where(worlds, split.events + S(1), split.events);
  set_where(worlds, S(0), split.before);
  begin_parts(stepper, worlds, w, split);
}

// Without one: w.y, whose gaps are split.next_gap. A point that has changed and has gone on to the other side
// may change again.
template <class S>
void end_plain_parts(const Stepper& stepper, const mask_t<S>& worlds, StepWork<S>& w, SplitWork<S>& split) {
  typename SplitWork<S>::Part& now = split.now;
  for (std::size_t k = 0; k < split.settled.size(); ++k)
    set_where(worlds & (now.modes[k] * split.next_gap[k] < S(0)), S(0), split.settled[k]);
  record_parts(stepper, worlds, &w.y, split);
  copy_where(worlds, static_cast<const S*>(split.next_gap.data()), split.gap.size(), split.gap.data());
  copy_where(worlds, static_cast<const S*>(split.next_rates.data()), split.rates.size(), split.rates.data());
  set_where(worlds, now.length * now.left, split.before);
  set_where(worlds, rest<S>(now) * now.left, now.left);
  begin_parts(stepper, worlds, w, split);
}

// w.y from now.x, by `method`: the stepper itself or the one for parts in which a contact pushes.
template <class S>
void take_part(const Stepper& stepper, const Stepper& method, const mask_t<S>& worlds, bool with_tape,
               StepWork<S>& w, SplitWork<S>& split) {
  typename SplitWork<S>::Part& now = split.now;
  const std::size_t dt = stepper.tree.p.dt;
  std::copy(now.x.begin(), now.x.end(), w.x.begin());
  std::copy(now.modes.begin(), now.modes.end(), w.c.contact.modes.begin());
  w.p[dt] = now.length * now.left;
  if (!(stepper.graded() || stepper.adaptive) || method.integrator != Integrator::rk4)
    return step(method, w, with_tape);
  first_stage(method, w);
  const mask_t<S> first_try =
      worlds & (split.shortened == S(0)) & (split.again == S(0)) & (split.number < S(value_t<S>(kMostParts)));
  if (any(first_try) && stepper.graded()) choose_length(stepper, first_try, w, split);
  if (any(first_try) && stepper.adaptive) heed_suggestion(first_try, split);
  w.p[dt] = now.length * now.left;
  other_stages(method, w);
}

// The worlds whose part ends with an event, now.event at now.part; of these `ends` go back to a shorter step.
// Those not `trying` already know it. A distance that leaps from one side to the other has no zero: its point
// is left to the time grid and counted, and another one may be the event.
template <class S>
mask_t<S> find_events(const Stepper& stepper, const Stepper& method, const mask_t<S>& worlds,
                      const mask_t<S>& trying, StepWork<S>& w, SplitWork<S>& split, mask_t<S>& ends) {
  using T = value_t<S>;
  const mask_t<S> may_cut = trying & (split.events < S(T(kMostEvents))) & (split.number < S(T(kMostParts)));
  for (;;) {
    set_where(trying, first_event(stepper, may_cut, split), split.now.event);
    const mask_t<S> found = worlds & (split.now.event >= S(0));
    ends = mask_t<S>(false);
    if (!any(found)) return found;
    ends = to_shorten(method, found, w, split);
    find_cut(method, found, ends, w, split);
    // Who begins the part on the other side already is an event at once, and no leap.
    const S off = abs(pick(split.cut_gap, split.now.event)),
            side = pick(split.now.modes, split.now.event) * pick(split.gap, split.now.event);
    const mask_t<S> leaps =
        found & trying & !ends & (side < S(0)) & (off > S(T(sizeof(T) == 8 ? kLeap : 100 * kLeap)));
    if (!any(leaps)) return found;
    set_where(leaps, S(1), split.now.part);
    for (std::size_t k = 0; k < split.settled.size(); ++k)
      set_where(leaps & (split.now.event == S(T(k))), S(1), split.settled[k]);
    set_where(leaps, split.leaps + S(1), split.leaps);
  }
}

// Points that have just let go and touch again within the same part of `worlds`: their slot has passed to
// another corner, which lands while it counts as settled. Counted as leaps, unless they are slow.
template <class S>
void count_returns(const mask_t<S>& worlds, SplitWork<S>& split) {
  const S slow = S(value_t<S>(kSlowImpact)) * split.now.length * split.now.left;
  for (std::size_t k = 0; k < split.settled.size(); ++k) {
    const mask_t<S> returns =
        worlds & (split.settled[k] > S(0)) & (split.now.modes[k] < S(0)) & (split.next_gap[k] < -slow);
    set_where(returns, split.leaps + S(1), split.leaps);
  }
}

// One part of each of `worlds`. Takes those off `active` whose last step is over.
template <class S, class Steps>
void advance_parts(const Stepper& stepper, const Stepper& method, const mask_t<S>& worlds, const S& whole,
                   bool with_tape, Steps& steps, mask_t<S>& active, StepWork<S>& w, SplitWork<S>& split) {
  typename SplitWork<S>::Part& now = split.now;
  const bool own = &method == &stepper;
  if (!own) w.tape.lie_at(split.scratch_tape.data());
  take_part(stepper, method, worlds, with_tape && own, w, split);
  mask_t<S> trying = worlds & (split.shortened == S(0));
  if (stepper.adaptive)
    trying = trying & !too_long(method, trying & (split.number < S(value_t<S>(kMostParts))), w, split);
  gaps_at(stepper, static_cast<const S*>(w.y.data()), w, split.next_gap.data());
  if (stepper.by_rk4)
    point_rates(stepper, static_cast<const S*>(w.y.data()), split.next_gap, w, split.next_rates);
  mask_t<S> ends(false);
  const mask_t<S> ready = worlds & (split.again == S(0)),
                  found = find_events(stepper, method, ready, trying, w, split, ends);
  const mask_t<S> plain = trying & !found, over = plain & (now.length == S(1));
  const mask_t<S> cut = (found & !ends) | shorten(ends, split);
  if (with_tape && own) steps.keep_tape(plain | cut);
  count_returns(plain, split);
  if (any(cut)) end_cut_parts(stepper, cut, w, split);
  const mask_t<S> goes_on = plain & !over;
  if (any(goes_on)) end_plain_parts(stepper, goes_on, w, split);
  if (any(over)) {
    record_parts<S>(stepper, over, nullptr, split);
    set_where(over, split.number, recorded_parts(stepper, split));
    set_where(over, split.events, recorded_events(stepper, split));
    set_where(over, split.slow, recorded_slow(stepper, split));
    set_where(over, split.leaps, recorded_leaps(stepper, split));
    steps.end(over, with_tape);
    const mask_t<S> next = steps.begin(over);
    active = active & ((!over) | next);
    copy_where(next, static_cast<const S*>(split.next_gap.data()), split.gap.size(), split.gap.data());
    copy_where(next, static_cast<const S*>(split.next_rates.data()), split.rates.size(), split.rates.data());
    begin_steps(stepper, next, whole, w, split);
  }
  w.tape.lie_here();
}

template <class S, class Steps>
void take_steps(const Stepper& stepper, bool with_tape, Steps& steps, StepWork<S>& w, SplitWork<S>& split) {
  typename SplitWork<S>::Part& now = split.now;
  const std::size_t dt = stepper.tree.p.dt;
  const S whole = w.p[dt];
  now.left = whole;
  now.length = now.most = S(1);
  now.moved = split.shortened = S(0);
  see_far(stepper, w);
  mask_t<S> active = steps.begin(mask_t<S>(true));
  std::fill(w.c.contact.modes.begin(), w.c.contact.modes.end(), S(0));
  gaps_at(stepper, static_cast<const S*>(now.x.data()), w, split.gap.data());
  if (stepper.by_rk4) point_rates(stepper, static_cast<const S*>(now.x.data()), split.gap, w, split.rates);
  begin_steps(stepper, active, whole, w, split);
  while (any(active)) {
    const mask_t<S> own = active & (now.moved == S(0));
    if (any(own)) advance_parts(stepper, stepper, own, whole, with_tape, steps, active, w, split);
    const mask_t<S> moved = active & (now.moved != S(0));
    if (any(moved)) advance_parts(stepper, *stepper.by_rk4, moved, whole, with_tape, steps, active, w, split);
  }
  w.p[dt] = whole;
}

template <class S>
void split_advance(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split,
                   const SplitRun<value_t<S>>& run) {
  Columns<S> steps{stepper, w, split, run};
  take_steps(stepper, run.tape != nullptr, steps, w, split);
}

}  // namespace costate::rigid

// Bodies of the transposes of split_step.h, compiled once for each scalar in split_step_*.cpp.
#pragma once

#include "costate/rigid/step/split_step_tangent.h"

namespace costate::rigid {

// Worlds whose part `number` has left a tape: one of the first, by the integrator's own step.
template <class S>
mask_t<S> kept_tape(const SplitWork<S>& split) {
  mask_t<S> out(false);
  for (std::size_t n = 0; n < kTapesKept; ++n)
    out = out | ((split.number == S(value_t<S>(n))) & (split.parts[n].moved == S(0)));
  return out;
}

// All parts of the steps that `worlds` begin, from the record; they start with the last.
template <class S, class Steps>
void unfold(const Stepper& stepper, const mask_t<S>& worlds, const S& whole, Steps& steps, StepWork<S>& w,
            SplitWork<S>& split) {
  using T = value_t<S>;
  copy_where(worlds, static_cast<const S*>(split.record.data()), split.gap.size(),
             split.parts[0].modes.data());
  set_where(worlds, S(T(1e30)), split.slowest);
  set_where(worlds, S(0), split.ties);
  const S count = recorded_parts(stepper, split), events = recorded_events(stepper, split);
  const mask_t<S> all = (count >= S(T(kMostParts))) | (events >= S(T(kMostEvents)));
  set_where(worlds, select(all, S(1), S(0)), split.exhausted);
  set_where(worlds, events, split.cuts);
  set_where(worlds, recorded_slow(stepper, split), split.slow);
  set_where(worlds, recorded_leaps(stepper, split), split.leaps);
  S left = whole;
  mask_t<S> here = worlds;
  for (int n = 0; n <= kMostParts; ++n) {
    typename SplitWork<S>::Part& part = split.parts[n];
    set_where(here, S(T(n)), split.number);
    set_where(here, left, part.left);
    set_where(here, S(-1), part.met);
    const S* record = record_of(stepper, split, n);
    each_number(part, [&](int i, S& number) { set_where(here, record[i], number); });
    const mask_t<S> cut = here & (S(T(n)) < count);
    if (n == kMostParts || !any(cut)) break;
    const mask_t<S> at_once = cut & (part.event >= S(0)) & (part.part < S(T(sizeof(T) == 8 ? 1e-12 : 1e-6)));
    if (n > 0) set_where(at_once, split.ties + S(1), split.ties);
    typename SplitWork<S>::Part& next = split.parts[n + 1];
    copy_where(cut, record + Stepper::kPartNumbers, next.x.size(), next.x.data());
    mask_t<S> bounces(false);
    if (parts_of(stepper.constraints.contact).impacts)
      bounces = meet(stepper, cut, pick(part.modes, part.event), part, next.x.data(), w, split);
    change_modes<S>(cut, part.event, bounces, part.modes, next.modes, nullptr);
    left = select(cut, rest<S>(part) * left, left);
    here = cut;
  }
  steps.recall_tape(worlds & kept_tape(split));
}

// w.x, modes and length of part `number` of each world.
template <class S>
void load_parts(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split) {
  const std::size_t dt = stepper.tree.p.dt;
  for (std::size_t n = 0; n < split.parts.size(); ++n) {
    const mask_t<S> here = split.number == S(value_t<S>(n));
    if (!any(here)) continue;
    const auto& part = split.parts[n];
    copy_where(here, static_cast<const S*>(part.x.data()), part.x.size(), w.x.data());
    copy_where(here, static_cast<const S*>(part.modes.data()), part.modes.size(), w.c.contact.modes.data());
    set_where(here, part.length * part.left, w.p[dt]);
    for (auto [number, to] : {std::pair{&part.length, &split.now.length},
                              {&part.part, &split.now.part},
                              {&part.event, &split.now.event},
                              {&part.most, &split.now.most},
                              {&part.moved, &split.now.moved}})
      set_where(here, *number, *to);
  }
}

// Notes how fast the gaps of events close, given dg/ds and split.q_bar, the gap's cotangent.
template <class S>
void notice_rate(const Stepper& stepper, const mask_t<S>& cut, const S& rate, const StepWork<S>& w,
                 SplitWork<S>& split) {
  S g(value_t<S>(1e-30)), v = g, a = g;
  for (int i = 0; i < stepper.tree.nv; ++i) {
    const S gap_q = split.q_bar[i], speed = w.x[stepper.tree.nq + i], acceleration = w.tape[i];
    g += gap_q * gap_q;
    v += speed * speed;
    a += acceleration * acceleration;
  }
  const S h = w.p[stepper.tree.p.dt], way = h * sqrt(g) * (sqrt(v) + h * sqrt(a));
  const mask_t<S> known = cut & (split.now.part > S(0)) & (way > S(0));
  set_where(known, min(split.slowest, abs(rate) / select(known, way, S(1))), split.slowest);
}

// Adds to split.lambda, the cotangent of the state at the cut, what comes with the cut's time; w.tape is that
// of the part. split.left_bar: of what is left after it.
template <class S>
void saltation(const Stepper& stepper, const Stepper& method, const mask_t<S>& cut, const Wanted& caller,
               const Wanted& wanted, StepWork<S>& w, SplitWork<S>& split) {
  std::copy(w.x.begin(), w.x.end(), split.y.begin());
  for (std::size_t n = 0; n + 1 < split.parts.size(); ++n)
    copy_where(cut & (split.number == S(value_t<S>(n))), static_cast<const S*>(split.parts[n + 1].x.data()),
               split.y.size(), split.y.data());
  gap_cotangent(stepper, select(cut, split.now.event, S(-1)),
                caller.active ? wanted : Wanted{nullptr, nullptr, false}, w, split);
  const S length = w.p[stepper.tree.p.dt];
  const S rate = rate_within(method, w, static_cast<const S*>(split.gap_x.data())),
          part_bar =
              rate_within(method, w, static_cast<const S*>(split.lambda.data())) - length * split.left_bar;
  notice_rate(stepper, cut, rate, w, split);
  const mask_t<S> moves = cut & cut_moves(split.now, rate);
  const S k = select(moves, -(part_bar / select(moves, rate, S(1))), S(0));
  for (std::size_t i = 0; i < split.lambda.size(); ++i) split.lambda[i] += k * split.gap_x[i];
  if (caller.active)
    for (std::size_t i = 0; i < w.p_bar.size(); ++i) w.p_bar[i] += k * split.gap_p[i];
}

// The tape of part `number` of `worlds`, by `method`: w.tape. Those that were not kept are made again.
template <class S>
void find_tape(const Stepper& stepper, const Stepper& method, const mask_t<S>& worlds, StepWork<S>& w,
               SplitWork<S>& split) {
  const bool own = &method == &stepper;
  const mask_t<S> again = worlds & (mask_t<S>(!own) | (split.number >= S(value_t<S>(kTapesKept))));
  w.tape.lie_at(split.scratch_tape.data());
  if (any(again)) {
    w.part = S(1);
    step(method, w, true);
  }
  if (!own) return;
  w.tape.lie_at(split.part_tape.data());
  if (any(again))
    copy_where(again, static_cast<const S*>(split.scratch_tape.data()), split.part_tape.size(),
               split.part_tape.data());
}

// Notes the error of a part in which something moves, for the report.
template <class S>
void notice_error(const Stepper& stepper, const Stepper& method, const mask_t<S>& worlds,
                  const StepWork<S>& w, SplitWork<S>& split) {
  if (!stepper.graded()) return;
  const typename SplitWork<S>::Part& now = split.now;
  const mask_t<S> cut = now.event >= S(0), meet = cut & (pick(w.c.contact.modes, now.event) < S(0)),
                  same_control = (now.length < S(1)) | mask_t<S>(stepper.controls() == 0);
  split.errors.see(method, worlds, cut, meet, same_control, now.part, w);
}

// One transpose, of part `number` of `worlds`, which `method` has taken. split.lambda: from the cotangent of
// its end to that of its beginning; split.left_bar: from that of what is left after it to that of what was
// left before.
template <class S>
void transpose_parts(const Stepper& stepper, const Stepper& method, const mask_t<S>& worlds,
                     const Wanted& caller, const Wanted& wanted, StepWork<S>& w, SplitWork<S>& split) {
  const std::size_t dt = stepper.tree.p.dt;
  find_tape(stepper, method, worlds, w, split);
  w.part = split.now.part;
  const mask_t<S> cut = worlds & (split.now.event >= S(0));
  if constexpr (!is_dual<S>) notice_error(stepper, method, worlds, w, split);
  if (any(cut)) saltation(stepper, method, cut, caller, wanted, w, split);
  for (std::size_t i = 0; i < w.y_bar.size(); ++i) w.y_bar[i] = select(worlds, split.lambda[i], S(0));
  const S dt_bar = w.p_bar[dt];
  w.p_bar[dt] = S(0);
  step_vjp(method, w, wanted);
  const S length_bar = w.p_bar[dt];
  w.p_bar[dt] = dt_bar;
  w.part = S(1);
  w.tape.lie_here();
  copy_where(worlds, static_cast<const S*>(w.x_bar.data()), split.lambda.size(), split.lambda.data());
  set_where(worlds, split.now.length * length_bar + rest<S>(split.now) * split.left_bar, split.left_bar);
}

// Worlds that are done with part `number` go to the one before: through the impact that lies between. Returns
// those that have none.
template <class S, class Steps>
mask_t<S> part_before(const Stepper& stepper, const mask_t<S>& worlds, const Wanted& wanted, Steps& steps,
                      StepWork<S>& w, SplitWork<S>& split) {
  const mask_t<S> on = worlds & (split.number > S(0));
  if (!any(on)) return worlds;
  if (parts_of(stepper.constraints.contact).impacts) {
    S met(-1);
    std::copy(split.now.x.begin(), split.now.x.end(), split.y.begin());
    for (std::size_t n = 0; n + 1 < split.parts.size(); ++n) {
      const auto& before = split.parts[n];
      const mask_t<S> here = on & (split.number == S(value_t<S>(n + 1)));
      if (!any(here)) continue;
      set_where(here, before.met, met);
      copy_where(here, static_cast<const S*>(split.parts[n + 1].x.data()), split.y.size(), split.y.data());
      copy_where(here, static_cast<const S*>(before.v_before.data()), before.v_before.size(),
                 split.now.v_before.data());
    }
    if (any(met >= S(0)))
      impact_vjp<S>(stepper.tree, stepper.constraints, w.p.data(), split.y.data(), split.now.v_before.data(),
                    met, wanted, split.lambda.data(), w.p_bar.data(), w.d, w.c, split.impact);
  }
  set_where(on, split.number - S(1), split.number);
  steps.recall_tape(on & kept_tape(split));
  return worlds & !on;
}

template <class S, class Steps>
void transpose_steps(const Stepper& stepper, const Wanted& caller, Steps& steps, StepWork<S>& w,
                     SplitWork<S>& split) {
  const std::size_t dt = stepper.tree.p.dt;
  const S whole = w.p[dt];
  const Wanted wanted = with_length(stepper, caller, split);
  split.left_bar = split.number = S(0);
  split.now.moved = S(0);
  see_far(stepper, w);
  split.coarse = select(flies_by_rk4(stepper, w), S(0), S(1));
  mask_t<S> active = steps.begin_transpose(mask_t<S>(true));
  // Worlds that lack a part need some state there all the same.
  for (std::size_t n = 1; n < split.parts.size(); ++n)
    std::copy(split.parts[0].x.begin(), split.parts[0].x.end(), split.parts[n].x.begin());
  std::copy(split.parts[0].x.begin(), split.parts[0].x.end(), split.now.x.begin());
  unfold(stepper, active, whole, steps, w, split);
  while (any(active)) {
    load_parts(stepper, w, split);
    const mask_t<S> moved = active & (split.now.moved != S(0)), own = active & !moved;
    if (any(own)) transpose_parts(stepper, stepper, own, caller, wanted, w, split);
    if (any(moved)) transpose_parts(stepper, *stepper.by_rk4, moved, caller, wanted, w, split);
    const mask_t<S> ended = part_before(stepper, active, wanted, steps, w, split);
    if (!any(ended)) continue;
    w.p_bar[dt] += select(ended, split.left_bar, S(0));
    steps.end_transpose(ended, split.cuts > S(0));
    const mask_t<S> next = steps.begin_transpose(ended);
    active = active & ((!ended) | next);
    if (any(next)) unfold(stepper, next, whole, steps, w, split);
  }
  w.p[dt] = whole;
}

// What was noticed for the report.
template <class S>
void forget_run(SplitWork<S>& split) {
  split.switches.clear();
  split.residual = 0;
  split.slowest_event = {};
}

template <class S>
void split_step_vjp(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split, const Wanted& wanted) {
  forget_run(split);
  OneStep<S> steps{stepper, w, split};
  transpose_steps(stepper, wanted, steps, w, split);
  std::copy(split.lambda.begin(), split.lambda.end(), w.x_bar.begin());
}

template <class S>
void split_reverse(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split,
                   const SplitRun<value_t<S>>& run, const Wanted& wanted) {
  forget_run(split);
  std::fill(w.u_bar.begin(), w.u_bar.end(), S(0));
  Columns<S> steps{stepper, w, split, run};
  transpose_steps(stepper, wanted, steps, w, split);
}

}  // namespace costate::rigid

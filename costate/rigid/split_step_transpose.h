// Bodies of the transposes of split_step.h, compiled once for each scalar in split_step_*.cpp.
#pragma once

#include "costate/rigid/split_step_body.h"

namespace costate::rigid {

// What a world wants done with part `number`.
enum Task { kNothing = 0, kTape = 1, kPart = 2, kEvent = 3 };

// Part `number` is next. Of the first one the tape was kept.
template <class S>
void want_part(const mask_t<S>& worlds, SplitWork<S>& split) {
  const mask_t<S> first = worlds & (split.number == S(0));
  set_where(worlds, select(first, S(kPart), S(kTape)), split.task);
  if (any(first))
    copy_where(first, static_cast<const S*>(split.tape.data()), split.tape.size(), split.part_tape.data());
}

// All parts of the steps that `worlds` begin, from the record; they start with the last.
template <class S>
void unfold(const Stepper& stepper, const mask_t<S>& worlds, const S& whole, StepWork<S>& w,
            SplitWork<S>& split) {
  using T = value_t<S>;
  gaps_at(stepper, static_cast<const S*>(split.parts[0].x.data()), w, split.gap.data());
  modes_of(stepper, worlds, split.gap, split.parts[0].modes);
  S left = whole;
  set_where(worlds, S(0), split.number);
  mask_t<S> here = worlds;
  for (int n = 0; n <= kMostEvents; ++n) {
    typename SplitWork<S>::Part& part = split.parts[static_cast<std::size_t>(n)];
    const S* record = split.record.data() + n * stepper.record_per_event();
    const bool last = n == kMostEvents;
    const mask_t<S> cut = last ? mask_t<S>(false) : here & (record[1] >= S(0));
    set_where(here, S(T(n)), split.number);
    set_where(here, select(cut, last ? S(-1) : record[1], S(-1)), part.event);
    set_where(here, select(cut, last ? left : record[0], left), part.length);
    set_where(here, S(-1), part.met);
    if (!any(cut)) break;
    typename SplitWork<S>::Part& next = split.parts[static_cast<std::size_t>(n) + 1];
    copy_where(cut, record + 2, next.x.size(), next.x.data());
    mask_t<S> bounces(false);
    if (stepper.constraints.contact == ContactModel::event)
      bounces = meet(stepper, cut, pick(part.modes, part.event), part, next.x.data(), w, split);
    change_modes<S>(cut, part.event, bounces, part.modes, next.modes, nullptr);
    left = select(cut, left - part.length, left);
    here = cut;
  }
  want_part(worlds, split);
}

// w.x, modes and length of part `number` of each world.
template <class S>
void load_parts(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split) {
  const auto dt = static_cast<std::size_t>(stepper.tree.p.dt);
  for (std::size_t n = 0; n < split.parts.size(); ++n) {
    const mask_t<S> here = split.number == S(value_t<S>(n));
    if (!any(here)) continue;
    const auto& part = split.parts[n];
    copy_where(here, static_cast<const S*>(part.x.data()), part.x.size(), w.x.data());
    copy_where(here, static_cast<const S*>(part.modes.data()), part.modes.size(), w.c.contact.modes.data());
    set_where(here, part.length, w.p[dt]);
    set_where(here, part.event, split.now.event);
  }
}

// The tape of a part that is not the first.
template <class S>
void tapes_again(const Stepper& stepper, const mask_t<S>& worlds, StepWork<S>& w, SplitWork<S>& split) {
  step(stepper, w, true);
  copy_where(worlds, static_cast<const S*>(w.tape.data()), split.part_tape.size(), split.part_tape.data());
  set_where(worlds, S(kPart), split.task);
}

// One transpose of the step: in some worlds of the part (cotangent lambda), in the others of the gap at its end.
template <class S>
void transpose_parts(const Stepper& stepper, const mask_t<S>& of_part, const mask_t<S>& of_event,
                     const Wanted& caller, const Wanted& wanted, StepWork<S>& w, SplitWork<S>& split) {
  const auto dt = static_cast<std::size_t>(stepper.tree.p.dt);
  std::fill(split.part_u_bar.begin(), split.part_u_bar.end(), S(0));
  if (caller.active)
    std::fill(split.part_p_bar.begin(), split.part_p_bar.end(), S(0));
  else
    split.part_p_bar[dt] = S(0);
  std::swap(w.u_bar, split.part_u_bar);
  std::swap(w.p_bar, split.part_p_bar);
  if (any(of_event)) {
    std::copy(w.x.begin(), w.x.end(), split.y.begin());
    for (std::size_t n = 0; n + 1 < split.parts.size(); ++n)
      copy_where(of_event & (split.number == S(value_t<S>(n))),
                 static_cast<const S*>(split.parts[n + 1].x.data()), split.y.size(), split.y.data());
    gap_cotangent(stepper, static_cast<const S*>(split.y.data()), select(of_event, split.now.event, S(-1)),
                  wanted, w, split);
    for (std::size_t i = 0; i < w.y_bar.size(); ++i)
      w.y_bar[i] = select(of_event, w.y_bar[i], select(of_part, split.lambda[i], S(0)));
  } else {
    for (std::size_t i = 0; i < w.y_bar.size(); ++i) w.y_bar[i] = select(of_part, split.lambda[i], S(0));
  }
  w.tape.lie_at(split.part_tape.data());
  step_vjp(stepper, w, wanted);
  w.tape.lie_here();
  std::swap(w.u_bar, split.part_u_bar);
  std::swap(w.p_bar, split.part_p_bar);

  // With lambda' the gradient of the gap, the loss moves by (left_bar - length_bar) / rate of it.
  const S by_length = split.part_p_bar[dt];
  split.part_p_bar[dt] = S(0);
  S length(0);
  for (std::size_t n = 0; n < split.parts.size(); ++n)
    length = select(split.number == S(value_t<S>(n)), split.parts[n].length, length);
  const mask_t<S> held = (by_length == S(0)) | (length <= S(0));  // grazing, or two events at once
  const S scale = select(
      of_event, select(held, S(0), (split.left_bar - split.length_bar) / select(held, S(1), by_length)),
      select(of_part, S(1), S(0)));
  for (std::size_t i = 0; i < split.lambda.size(); ++i)
    split.lambda[i] =
        select(of_event, split.lambda[i] + scale * w.x_bar[i], select(of_part, w.x_bar[i], split.lambda[i]));
  for (std::size_t i = 0; i < w.u_bar.size(); ++i) w.u_bar[i] += scale * split.part_u_bar[i];
  if (caller.active)
    for (std::size_t i = 0; i < w.p_bar.size(); ++i) w.p_bar[i] += scale * split.part_p_bar[i];

  const mask_t<S> goes_on = of_part & (split.now.event >= S(0));
  set_where(of_part, by_length, split.length_bar);
  set_where(of_part & !goes_on, by_length, split.left_bar);
  set_where(goes_on, S(kEvent), split.task);
}

// Worlds that are done with part `number` go to the one before: through the impact that lies between. Returns those that have none.
template <class S>
mask_t<S> part_before(const Stepper& stepper, const mask_t<S>& worlds, const Wanted& wanted, StepWork<S>& w,
                      SplitWork<S>& split) {
  const mask_t<S> on = worlds & (split.number > S(0));
  if (any(on) && stepper.constraints.contact == ContactModel::event) {
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
  want_part(on, split);
  return worlds & !on;
}

template <class S, class Steps>
void transpose_steps(const Stepper& stepper, const Wanted& caller, Steps& steps, StepWork<S>& w,
                     SplitWork<S>& split) {
  const auto dt = static_cast<std::size_t>(stepper.tree.p.dt);
  const S whole = w.p[dt];
  const Wanted wanted = with_length(stepper, caller, split);
  split.left_bar = split.length_bar = split.number = S(0);
  split.task = S(kNothing);
  const auto begin = [&](const mask_t<S>& idle) {
    const mask_t<S> got = steps.begin_transpose(idle);
    set_where(idle & !got, S(kNothing), split.task);
    if (any(got)) unfold(stepper, got, whole, w, split);
  };
  const mask_t<S> all = steps.begin_transpose(mask_t<S>(true));
  // Worlds that lack a part need some state there all the same.
  for (std::size_t n = 1; n < split.parts.size(); ++n) split.parts[n].x = split.parts[0].x;
  std::copy(split.parts[0].x.begin(), split.parts[0].x.end(), split.now.x.begin());
  unfold(stepper, all, whole, w, split);
  for (;;) {
    const mask_t<S> for_tape = split.task == S(kTape), of_part = split.task == S(kPart),
                    of_event = split.task == S(kEvent);
    if (!any(for_tape | of_part | of_event)) break;
    load_parts(stepper, w, split);
    // At once, for few worlds too: whoever waits for a tape leaves a lane of the transposes empty.
    if (any(for_tape)) {
      tapes_again(stepper, for_tape, w, split);
      continue;
    }
    transpose_parts(stepper, of_part, of_event, caller, wanted, w, split);
    const mask_t<S> done = (of_part & (split.now.event < S(0))) | of_event;
    if (!any(done)) continue;
    const mask_t<S> ended = part_before(stepper, done, wanted, w, split);
    if (!any(ended)) continue;
    w.p_bar[dt] += select(ended, split.left_bar, S(0));
    steps.end_transpose(ended, split.record[1] >= S(0));
    begin(ended);
  }
  w.p[dt] = whole;
}

template <class S>
void split_step_vjp(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split, const Wanted& wanted) {
  OneStep<S> steps{stepper, w, split};
  transpose_steps(stepper, wanted, steps, w, split);
  std::copy(split.lambda.begin(), split.lambda.end(), w.x_bar.begin());
}

template <class S>
void split_reverse(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split,
                   const SplitRun<value_t<S>>& run, const Wanted& wanted) {
  split.switches.clear();
  split.residual = 0;
  std::fill(w.u_bar.begin(), w.u_bar.end(), S(0));
  Columns<S> steps{stepper, w, split, run};
  transpose_steps(stepper, wanted, steps, w, split);
}

}  // namespace costate::rigid

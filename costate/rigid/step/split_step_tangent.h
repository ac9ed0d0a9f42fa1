// Tangents of a split step: the parts of the plain step, taken again on duals.
//
// Which contact changes, when, and how long parts are was found with plain numbers (split_step_body.h) and
// lies in their record. Duals that looked for themselves would round otherwise, because products and sums are
// contracted otherwise in them. Where a decision lies within rounding they would take other parts, and their
// tangents would be those of another step: in float 1e-2 off in one of a hundred tumbling bodies. So forward
// mode and the transpose take the same parts,
//
//   x1 = Phi(x; h, s),    s_dot = -<g_x, dPhi(x; h, s)> / Gdot    (split_step.h; the length f is a constant)
//
// and each part begins with the numbers of the plain state and the tangents of the duals.
// Tests: tests/rigid/contact/split_test.cpp, the contract.
#pragma once

#include "costate/rigid/step/split_step_body.h"

namespace costate::rigid {

// The tangent of now.part, by the implicit function theorem: split.y, the state at the cut, moves with it.
template <class S>
void move_cut(const Stepper& method, const mask_t<S>& cut, StepWork<S>& w, SplitWork<S>& split) {
  state_within(method, w, split.now.part, split.y.data());
  gap_cotangent(method, select(cut, split.now.event, S(-1)), {nullptr, nullptr, false}, w, split);
  const S gap = pick(split.cut_gap, split.now.event);
  w.part = split.now.part;
  const S rate = held(rate_within(method, w, static_cast<const S*>(split.gap_x.data())));
  w.part = S(1);
  const mask_t<S> moves = cut & cut_moves(split.now, rate);
  set_where(moves, split.now.part - (gap - held(gap)) / nonzero(rate), split.now.part);
  state_within(method, w, split.now.part, split.y.data());
}

// The contact that changes where part n of `worlds` ends, and what is left of the step.
template <class S>
void go_on(const Stepper& stepper, const mask_t<S>& worlds, int n, StepWork<S>& w, SplitWork<S>& split) {
  typename SplitWork<S>::Part& now = split.now;
  const auto* plain =
      split.plain + stepper.record_head() + n * stepper.record_per_part() + stepper.kPartNumbers;
  for (std::size_t i = 0; i < split.y.size(); ++i) split.y[i].v = plain[i];
  record_parts(stepper, worlds, &split.y, split);
  const mask_t<S> cut = worlds & (now.event >= S(0));
  mask_t<S> bounces(false);
  if (parts_of(stepper.constraints.contact).impacts && any(cut))
    bounces = meet(stepper, cut, pick(now.modes, now.event), now, now.x.data(), w, split);
  change_modes<S>(cut, now.event, bounces, now.modes, now.modes, nullptr);
  set_where(worlds, rest<S>(now) * now.left, now.left);
}

// Part n of `worlds`, by `method`; `last`: those whose step ends with it.
template <class S>
void retake_part(const Stepper& stepper, const Stepper& method, const mask_t<S>& worlds,
                 const mask_t<S>& last, int n, bool with_tape, OneStep<S>& steps, StepWork<S>& w,
                 SplitWork<S>& split) {
  typename SplitWork<S>::Part& now = split.now;
  const bool own = &method == &stepper;
  if (!own) w.tape.lie_at(split.scratch_tape.data());
  std::copy(now.x.begin(), now.x.end(), w.x.begin());
  std::copy(now.modes.begin(), now.modes.end(), w.c.contact.modes.begin());
  w.p[stepper.tree.p.dt] = now.length * now.left;
  step(method, w, true);
  if (with_tape && own) steps.keep_tape(worlds);
  const mask_t<S> over = worlds & last, on = worlds & !last, cut = on & (now.event >= S(0));
  if (any(cut)) move_cut(method, cut, w, split);
  copy_where(!cut, static_cast<const S*>(w.y.data()), w.y.size(), split.y.data());
  if (any(over)) {
    record_parts<S>(stepper, over, nullptr, split);
    steps.end(over, with_tape);
  }
  if (any(on)) go_on(stepper, on, n, w, split);
  w.tape.lie_here();
}

// As take_steps, along split.plain.
template <class S>
void retake_step(const Stepper& stepper, bool with_tape, OneStep<S>& steps, StepWork<S>& w,
                 SplitWork<S>& split) {
  typename SplitWork<S>::Part& now = split.now;
  const S whole = w.p[stepper.tree.p.dt];
  see_far(stepper, w);
  mask_t<S> here = steps.begin(mask_t<S>(true));
  for (int i = 0; i < stepper.record_head(); ++i) split.record[std::size_t(i)] = S(split.plain[i]);
  std::copy(split.record.begin(), split.record.begin() + std::ptrdiff_t(now.modes.size()), now.modes.begin());
  now.left = whole;
  split.number = S(0);
  const S count = recorded_parts(stepper, split);
  for (int n = 0; any(here); ++n) {
    const auto* plain = split.plain + stepper.record_head() + n * stepper.record_per_part();
    each_number(now, [&](int i, S& number) { set_where(here, S(plain[i]), number); });
    const mask_t<S> last = here & (count == S(value_t<S>(n)));
    const mask_t<S> moved = here & (now.moved != S(0)), own = here & !moved;
    if (any(own)) retake_part(stepper, stepper, own, last, n, with_tape, steps, w, split);
    if (any(moved)) retake_part(stepper, *stepper.by_rk4, moved, last, n, with_tape, steps, w, split);
    here = here & !last;
  }
  w.p[stepper.tree.p.dt] = whole;
}

template <class S>
void split_step(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split, bool with_tape) {
  OneStep<S> steps{stepper, w, split};
  std::copy(w.x.begin(), w.x.end(), split.lambda.begin());
  if constexpr (is_dual<S>)
    retake_step(stepper, with_tape, steps, w, split);
  else
    take_steps(stepper, with_tape, steps, w, split);
  std::copy(split.lambda.begin(), split.lambda.end(), w.x.begin());
  std::copy(split.end.begin(), split.end.end(), w.y.begin());
  if (!with_tape) return;
  std::copy(split.tapes.begin(), split.tapes.end(), w.tape.begin());
  std::copy(split.record.begin(), split.record.end(), w.tape.begin() + std::ptrdiff_t(split.tapes.size()));
}

}  // namespace costate::rigid

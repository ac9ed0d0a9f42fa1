// Parts of a split step whose error is held below a tolerance: integrator = adaptive.
//
// All parts are rk4's, in flight and in contact. Of each the error e is estimated relative to rtol and atol,
// from the rates where it ends (rk4.h). A part with e > 1 is taken again, as 1/n of what is left of the step,
// and the next one is no longer than its e lets hope for:
//
//   again   n >= max(e^(1/4) / kSafety, kLeastShorter) left / h
//   next    h1 <= h min(kMostLonger, kSafety e^(-1/4))
//
// n is a number of part_lengths.h, so it is constant between switches of the state and the transpose of the
// parts that were taken, with their lengths held, is the derivative of the map. A step begins without a
// suggestion: it depends on nothing before it. Modes of contacts are held in a part, so that a part that goes
// on past an impact is as smooth as one that does not, and its cut is found afterwards. Limits of kMostParts
// hold here too: the rest of the step is then taken as it is, and counted for the report.
// Tests: tests/rigid/contact/adaptive_test.cpp.
#pragma once

#include "costate/rigid/step/part_lengths.h"

namespace costate::rigid {

inline constexpr double kSafety = 0.9, kLeastShorter = 1.25, kMostShorter = 16, kMostLonger = 4,
                        kShortestPart = 1e-4;

template <class S>
S fourth_root(const S& x) {
  return sqrt(sqrt(x));
}

// now.length of the part that `worlds` begin, at most, given the one before.
template <class S>
void heed_suggestion(const mask_t<S>& worlds, SplitWork<S>& split) {
  const S n = whole_parts(split.now.left / split.suggested);
  set_where(worlds, min(split.now.length, S(1) / n), split.now.length);
}

// Those of `worlds` whose part, which was just taken, is too long: now.length is shorter then. Else what it
// suggests for the next one.
template <class S>
mask_t<S> too_long(const Stepper& method, const mask_t<S>& worlds, StepWork<S>& w, SplitWork<S>& split) {
  using T = value_t<S>;
  if (!any(worlds)) return worlds;
  typename SplitWork<S>::Part& now = split.now;
  const S error = step_error(method, w), h = now.length * now.left,
          shorter = min(fourth_root(max(error, S(1))) * S(T(1 / kSafety)), S(T(kMostShorter)));
  const mask_t<S> fails = worlds & (error > S(1)) & (now.length > S(T(kShortestPart)));
  set_where(fails, S(1) / whole_parts(max(shorter, S(T(kLeastShorter))) / now.length), now.length);
  const S longer = S(T(kSafety)) / fourth_root(max(error, S(T(1e-4))));
  set_where(worlds & !fails, h * min(longer, S(T(kMostLonger))), split.suggested);
  set_where(worlds, select(fails, S(1), S(0)), split.again);
  return fails;
}

}  // namespace costate::rigid

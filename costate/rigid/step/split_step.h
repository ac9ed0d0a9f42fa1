// A step that is cut where a contact begins or ends, and its transpose.
//
// Soft contact sampled at fixed dt moves the moment of impact to the time grid. The state hardly minds; its
// derivative does: over the phase of the impact inside the step it oscillates about the right value with an
// amplitude that does not fall with dt (docs/contact.md shows it). So a step from x whose gap g
// (contact_gaps) changes sign is taken in parts: it is cut where the gap closes along the step's own dense
// output (step.h),
//
//   x1 = Phi(x; h, s, contact as it was),   g(x1) = 0,   y = Phi(x1; (1 - s) h, 1, contact changed)
//
// where Phi(.; h, s) is the state after the part s of a step of length h, and a few positions of the bodies
// find s. In a part every contact point keeps its mode: all stages of rk4 see the same forces. While a
// contact pushes, what is left of the step is taken in short parts that end by themselves, by rk4
// (part_lengths.h).
//
// A contact of the convex problem can only push: where it does so until it ends, stages of rk4 beyond its end
// see other forces than those before. So where one is found to end in a step of length h, another step of
// about nine tenths of the time until then, f h, is taken, and followed to where the gap opens, s a little
// above 1. f is a power of 0.8, so that it does not vary with the state.
//
// Transpose. s follows from G(x, u, p, h, s) = g(Phi(x; h, s)) = 0. The transpose of the second part gives
// x1_bar and the cotangent of its length, h2_bar. With them
//
//   s_bar = <x1_bar, dPhi/ds> - f h h2_bar,   k = -s_bar / Gdot,   Gdot = <g_x, dPhi/ds>
//
// and one transpose of the first part, with x1_bar + k g_x for the cotangent of its end, is all: the
// saltation term of events [1] for the discrete map. p_bar gets k g_p, h_bar (1 - f s) h2_bar.
//
// With rigid contact (ContactModel::event) a point that begins to touch changes the velocities at x1 instead
// (impact.h), and is switched on only where it comes to rest. x1_bar passes through the transpose of that map
// before s_bar is taken: the same formula then has the full saltation term. The point has done its part in
// this step; the others, whose velocities it changed, may meet again.
//
// Several events in a step are taken one after the other, at most kMostEvents and kMostParts parts; then it
// goes on as distances say. Limits are events too (limit_events.h). Of two shapes with several
// points the distance of each slot is continuous where `splittable` says so; where it leaps all the same,
// because two other features are nearest now, there is no zero: that is left to the time grid and counted.
//
// Worlds of a pack do not wait for each other: each takes the part of the step that it has come to, of its
// own length, in the same evaluation, and in a run they may be at different steps. So a run costs as many
// evaluations as an average world has parts.
//
// [1] Kong, Payne, Zhu, Johnson: Saltation matrices: the essential tool for linearizing hybrid dynamical
//     systems, Proc. IEEE 2024.
// Tests: tests/rigid/contact/split_test.cpp, resolved_test.cpp.
#pragma once

#include <array>
#include <limits>

#include "costate/rigid/contact/impact.h"
#include "costate/rigid/step/onset_watch.h"
#include "costate/rigid/step/part_watch.h"
#include "costate/rigid/step/step.h"
#include "costate/rigid/step/sweep_watch.h"

namespace costate::rigid {

// Steps of a run, of the worlds of one pack: arrays as in system.h.
template <class Real>
struct SplitRun {
  std::int64_t first = 0, count = 0;
  const Real* u = nullptr;  // knots of the whole rollout
  std::int64_t hold = 1;
  // Forward: state number j lies in slot (start + j) % slots of `states`, and is written there. Reverse: of
  // `lambda`; `states` are `count` in a row.
  Real* states = nullptr;
  std::int64_t slots = 2, start = 0;
  Real* tape = nullptr;  // of each step; forward: may be null
  Real *lambda = nullptr, *u_bar = nullptr;
};

// The time of an event has the derivative -g_x / (dg/dt): none where the gap g and its rate vanish together.
// rate is |dg/dt| relative to the speed with which the gap could change, |g_q| (|v| + h |a|); below kGrazing
// an event grazes, and what is returned there is the derivative of nothing.
inline constexpr double kGrazing = 1e-4;
struct SlowestEvent {
  double rate = std::numeric_limits<double>::infinity();
  std::int64_t step = -1;
  void take(double other_rate, std::int64_t other_step) {
    const bool earlier = other_rate == rate && other_step < step;
    if (!(other_rate < rate) && !earlier) return;
    rate = other_rate;
    step = other_step;
  }
};

// What a world's steps were like, for the report.
struct CutCounts {
  std::int64_t ties = 0;       // contacts that change within rounding of another one
  std::int64_t exhausted = 0;  // steps with kMostEvents events or kMostParts parts: the rest is left to the
                               // time grid
  std::int64_t slow = 0;       // impacts of corners slower than kSlowImpact, which are not cut
  std::int64_t leaps = 0;      // points of two boxes, or of a capsule and a box, that come or go by a leap
  std::int64_t coarse = 0;     // steps with events between steps of first order
};

template <class S>
struct SplitWork {
  explicit SplitWork(const Stepper& stepper);

  struct Part {
    std::vector<S> x, modes;
    S left = S(0);            // of dt, where it begins
    S length = S(1);          // of the step that it is a part of, relative to what is left
    S part = S(1);            // how much of that step; 1 unless it ends with an event
    S event = S(-1);          // the contact point that changes at its end, or -1
    S most = S(1);            // how far along that step an event may lie
    S moved = S(0);           // 1: by Stepper::by_rk4
    std::vector<S> v_before;  // before the impact at its end
    S met = S(-1);            // the point of that impact, or -1
  };

  // Where each world is: in which part of its step (number), after how many events.
  Part now;
  S number, events;
  S slow, leaps;  // how many so far in this step that are not cut
  S shortened;    // 1: the part goes back for a shorter step, to the event that is known
  std::vector<S> gap, next_gap,
      cut_gap;             // of the contact points: where a part begins, where its step ends, and in between
  std::vector<S> settled;  // points that have just changed (1)
  // part_lengths.h: rates of the gaps, as the three of these; edges of cones where the part before began, and
  // the length of that part, 0: none; of each point, which part of the step its edges are of, counted from 1.
  std::vector<S> rates, next_rates, cut_rates, edges, edges_of;
  S before;
  S suggested, again;  // part_errors.h: the longest next part, s; 1: this part has been too long before
  std::vector<S> record, tapes;  // of the step (step.h)
  // Of duals only, set before every step: the record of the plain step (split_step_tangent.h).
  const plain_t<S>* plain = nullptr;
  std::vector<S> scratch_tape;  // of a part that is taken again, or by Stepper::by_rk4
  std::vector<S> end;           // of one step

  // The transpose: all parts of each world's step, of which `number` is next, and cotangents.
  std::array<Part, kMostParts + 1> parts;
  S left_bar;
  std::vector<S> part_tape, lambda, gap_x, gap_bar, q_bar, gap_p;
  std::vector<S> y;
  ImpactWork<S> impact;
  Activity activity;  // the caller's, and dt

  // For the report: steps in which a law's zone or a contact changed, the adjoint's residual, and how fast
  // gaps close; `slowest` in this step.
  std::vector<S> zones;
  bool follows = false;  // `zones` are those of the step after the run that is transposed
  std::vector<std::int64_t> switches;
  double residual = 0;
  S slowest;
  SlowestEvent slowest_event;
  S ties, exhausted, cuts;        // in this step
  S coarse;                       // 1: steps that are not cut are of first order
  std::vector<CutCounts> counts;  // of each world, since the caller has set them to zero
  OnsetWatch<S> watch;
  SweepWatch<S> sweeps;
  PartWatch<S> errors;
};

// As step and step_vjp of step.h. The tape: those of the first parts, and the record. split.switches holds a
// 0 for each world whose step was cut, besides split.residual and split.slowest_event; duals notice nothing,
// and need split.plain.
template <class S>
void split_step(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split, bool with_tape);
template <class S>
void split_step_vjp(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split, const Wanted& wanted);

// Many steps. Not for duals.
template <class S>
void split_advance(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split,
                   const SplitRun<value_t<S>>& run);
// Adds to w.p_bar; split.switches, split.residual and split.slowest_event are those of this run.
template <class S>
void split_reverse(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split,
                   const SplitRun<value_t<S>>& run, const Wanted& wanted);

}  // namespace costate::rigid

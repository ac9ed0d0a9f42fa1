// A step that is cut where a contact begins or ends, and its transpose.
//
// Soft contact sampled at fixed dt moves the moment of impact to the time grid. The state hardly minds; its derivative does: over the phase of
// the impact inside the step it oscillates about the right value with an amplitude that does not fall with dt (docs/contact.md shows it). So a step
// from x whose gap g (contact_gaps) changes sign is taken in parts,
//
//   x1 = Phi(x; tau, contact as it was),   g(x1) = 0,   y = Phi(x1; dt - tau, contact changed)
//
// where Phi(.; h) is the model's own step of length h. In a part every contact point keeps its mode: all stages of rk4 see the same forces.
//
// Transpose. tau follows from G(x, u, p, tau) = g(Phi(x; tau)) = 0. With lambda the cotangent of y, a first transpose of the second part gives those of x1
// and of its length, h2_bar; one of the first part h1_bar, and the loss depends on tau through s = h1_bar - h2_bar. Then
//
//   (x, u, p)_bar += -(s / Gdot) (Phi' g_x + g_p),      Gdot = dG/dtau = <g_x, dPhi/dh>
//
// which is the saltation term of events [1] for the discrete map: both rates are those of the steps themselves.
//
// With rigid contact (ContactModel::event) a point that begins to touch changes the velocities at x1 instead (impact.h), and is switched on only where
// it comes to rest. x1_bar passes through the transpose of that map before h1_bar is taken: the same formula then has the full saltation
// term. The point has done its part in this step; the others, whose velocities it changed, may meet again.
//
// Worlds of a pack have their own parts; one whose step is over stands still. Several events in a step are taken one after the other, at
// most kMostEvents; then, and for a contact shorter than the rest of the step, it goes on as distances say. Points of shapes with corners have no
// identity from step to step, and are left to the time grid (`splittable`).
//
// Semi-implicit Euler has a phase error of its own in stiff contact, with slope 1/dt: use rk4 (docs/contact.md).
// [1] Kong, Payne, Zhu, Johnson: Saltation matrices: the essential tool for linearizing hybrid dynamical systems, Proc. IEEE 2024.
// Tests: tests/contact/split_test.cpp.
#pragma once

#include "costate/rigid/impact.h"
#include "costate/rigid/step.h"

namespace costate::rigid {

template <class S>
struct SplitWork {
  explicit SplitWork(const Stepper& stepper);

  struct Part {
    std::vector<S> x, modes, tape;
    S length = S(0);
    S event = S(-1);          // the contact point that changes at its end, or -1
    mask_t<S> live;           // worlds that have this part
    std::vector<S> v_before;  // before the impact at its end
    S met = S(-1);            // the point of that impact, or -1
  };
  std::vector<Part> parts;  // kMostEvents + 1
  std::vector<S> gap, next_gap, gap_bar;
  std::vector<S> settled;  // points that have changed in this step (1)
  ImpactWork<S> impact;
  std::vector<S> q_bar;
  std::vector<S> y, lambda, event_x_bar, event_u_bar, event_p_bar;  // event_*: one transpose of g
  Activity activity;                                                // the caller's, and dt
};

// As step and step_vjp of step.h. The tape ends with (length, event) of every part but the last.
template <class S>
void split_step(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split, bool with_tape);
template <class S>
void split_step_vjp(const Stepper& stepper, StepWork<S>& w, SplitWork<S>& split, const Wanted& wanted);

}  // namespace costate::rigid

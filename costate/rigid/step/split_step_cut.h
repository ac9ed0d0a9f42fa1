// When the gap of an event closes along the dense output of a step, and how that moment moves with the state
// (split_step.h).
#pragma once

#include "costate/rigid/step/split_step_record.h"

namespace costate::rigid {

// --- when a gap closes -------------------------------------------------------------------------------------

// A gap that is larger than that where it should be zero has leapt from one side to the other.
inline constexpr double kLeap = 1e-6;  // m

// Zero of the quadratic through three points, from the middle one; t where there is none.
template <class S>
S quadratic_zero(const S& lo, const S& f_lo, const S& t, const S& f, const S& hi, const S& f_hi) {
  const S d1 = (f - f_lo) / nonzero(t - lo), d2 = (f_hi - f) / nonzero(hi - t),
          A = (d2 - d1) / nonzero(hi - lo);
  const S B = d1 + A * (t - lo);
  const S square = B * B - S(4) * A * f;
  const S root = sqrt(max(square, S(0)));
  return t - S(2) * f / nonzero(select(B < S(0), B - root, B + root));
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
  if (!stepper.graded() || stepper.evaluations == 1) return mask_t<S>(false);
  const mask_t<S> ends = found & (split.shortened == S(0)) & (pick(split.now.modes, split.now.event) > S(0));
  mask_t<S> pushes(false);
  const auto look = [&](const mask_t<S>& here, const S* solref, const S* solimp) {
    const Impedance<S> d = impedance<S>(solimp, S(0));
    const Stiffness<S> k = stiffness<S>(solref, d.dmax, w.p[tree.p.whole_dt], cons.refsafe, false);
    pushes = pushes | (here & (k.B < k.K * d.dmin * split.now.left));
  };
  for (const TouchingPair& pair : cons.pairs) {
    if (!pair.splittable) continue;
    const mask_t<S> here = ends & (split.now.event >= S(T(pair.point))) &
                           (split.now.event < S(T(pair.point + pair.geoms.slots)));
    if (!any(here)) continue;
    ContactParameters<S> par;
    contact_parameters(tree, pair.geoms, static_cast<const S*>(w.p.data()), par);
    look(here, par.soft + kMixed.solref, par.soft + kMixed.solimp);
  }
  each_limit(cons, [&](std::size_t event, const ConstraintGroup& g, int) {
    const mask_t<S> here = ends & (split.now.event == S(T(event)));
    if (any(here)) look(here, w.p.data() + g.softness.solref, w.p.data() + g.softness.solimp);
  });
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
  const auto f_of = [&](const std::vector<S>& gap) { return sign * pick(gap, split.now.event); };
  const auto try_at = [&](const S& t) {
    state_within(stepper, w, t, split.y.data());
    gaps_at(stepper, static_cast<const S*>(split.y.data()), w, split.cut_gap.data());
    return f_of(split.cut_gap);
  };
  S lo(0), hi = split.now.most, f_lo = f_of(split.gap), f_hi = f_of(split.next_gap);
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

// now.length of worlds that go back to take a step that does not go beyond the end of a contact, now.part,
// and now.most: to the end of the step before, and not much beyond the new one. Returns those that need not.
template <class S>
mask_t<S> shorten(const mask_t<S>& worlds, SplitWork<S>& split) {
  using T = value_t<S>;
  const S shortest(T(1e-6));
  const mask_t<S> ends = worlds & (split.now.part > shortest);
  const S most = S(T(0.9)) * split.now.part;
  S length(1);
  for (mask_t<S> longer = ends; any(longer); longer = longer & (length > most))
    set_where(longer, S(T(0.8)) * length, length);
  set_where(ends, length * split.now.length, split.now.length);
  set_where(ends, min(S(T(1.6)), S(1) / length), split.now.most);
  set_where(ends, S(1), split.shortened);
  return worlds & !ends;
}

// --- the derivative of an event's gap ----------------------------------------------------------------------

// The caller's wishes, and dt.
template <class S>
Wanted with_length(const Stepper& stepper, const Wanted& wanted, SplitWork<S>& split) {
  const std::vector<int>& field_of = stepper.tree.p.field_of;
  std::vector<bool>& active = split.activity.parameters;
  if (wanted.active)
    std::copy(wanted.active->parameters.begin(), wanted.active->parameters.end(), active.begin());
  else
    std::fill(active.begin(), active.end(), false);
  active[field_of[stepper.tree.p.dt]] = true;
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
  clear_body_cotangents(w.d);
  contact_gaps_vjp(t, stepper.constraints, p, static_cast<const S*>(split.gap_bar.data()), wanted,
                   split.gap_p.data(), w.d, w.c.contact);
  limit_gaps_vjp(t, stepper.constraints, p, y, static_cast<const S*>(split.gap_bar.data()), wanted,
                 split.q_bar.data(), split.gap_p.data(), w.d);
  // Where bodies are, and nothing that moves.
  const S* zeros = w.d.zeros.data();
  rnea_forward<S>(t, Vec3<S>::zero(), zeros, zeros, w.d);
  virtual_velocities<S>(t, zeros, w.d);
  rnea_vjp<S>(t, p, y, zeros, zeros, zeros, true, wanted,
              {split.q_bar.data(), w.d.unused.data(), nullptr, split.gap_p.data(), nullptr}, w.d);
  std::fill(split.gap_x.begin(), split.gap_x.end(), S(0));
  ambient_cotangent(t, y, split.q_bar.data(), split.gap_x.data());
}

// Where the time of a cut moves with the state, given the rate of its gap. Else grazing, two events at once,
// or no zero in what is left.
template <class S>
mask_t<S> cut_moves(const typename SplitWork<S>::Part& now, const S& rate) {
  return (rate != S(0)) & (now.part > S(0)) & (now.part < now.most);
}

}  // namespace costate::rigid

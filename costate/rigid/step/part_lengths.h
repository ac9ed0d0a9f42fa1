// How long the parts of a split step are while a contact pushes.
//
// A cut finds the moment at which a contact begins (split_step.h). The force that follows has time scales of
// its own, often shorter than dt, and a step that samples it at other points wherever the motion starts has a
// slope of its own at every start. So while a contact point is not at rest, the step goes on in parts,
//
//   x1 = Phi(x; f left, 1),   left1 = (1 - f) left,   f = 1/n,   n >= left / h
//
// by rk4 whatever the model's integrator is. n is one of 1, 2, 3, 4, 6, 8, 12, ..., constant between switches
// of the state, so the transpose with f held is the derivative of the map. There is no error estimate,
// nothing is rejected, and h follows from the state where the part begins. h is the least of what follows,
// over the points in contact, with K and B the stiffness and damping of aref = -B r' - K d r (impedance.h), e
// = -r the depth, y = J a - aref:
//
//   kSpringShare / max(sqrt(K), B)      forces change little in a part
//   width / (kRampParts |r'|)           while the impedance rises: e < width; kRampShare / sqrt(K) where it
//                                       turns there, and kNear of the way to the ramp coming back
//   max(kCornerTime / K, kNear t)       t = y / y', until the force of an edge of the cone ends or begins:
//                                       the force of a damped contact ends before its gap opens, and edges
//                                       change while it slides and rolls. It is continuous there, so that its
//                                       moment needs no term of its own in the transpose; its slope is not,
//                                       which costs an error of the part's length times K. y' is taken
//                                       from the part before or, in the first part of a step in which the
//                                       point moves, from y' = (1 - d) (K d r' + B J a) of a single point.
//   kFirstShare / max(sqrt(K), B)       in that first part, where that y' knows nothing of sliding:
//                                       a tossed capsule was off by 13 % without it, and is by 0.4 % with it
//
// All constants are measured (docs/contact.md): slopes of bounces from 0.1 to 10 m/s, damping ratios from 0
// to 1, K from 1e3 to 2e5, to 1 %.
//
// A point is at rest, and the model's own step is taken, where |r'| <= kStillSpeed and its spring holds no
// more than ten times its body's weight, d^2 K e <= 10 (1 - d) |g|, or would not bring it to kStillSpeed
// within dt.
// Tests: tests/rigid/contact/resolved_test.cpp.
#pragma once

#include "costate/rigid/constraints/impedance.h"
#include "costate/rigid/contact/contact_mixing.h"
#include "costate/rigid/step/limit_events.h"
#include "costate/rigid/step/split_step_worlds.h"

namespace costate::rigid {

inline constexpr double kSpringShare = 0.3, kRampParts = 12, kRampShare = 0.1, kNear = 0.6,
                        kNearAtFirst = 0.3, kFirstShare = 0.06, kCornerTime = 0.03, kStillSpeed = 0.002,
                        kWeightsHeld = 10;
inline constexpr double kTouchesAbout = 1e-5;  // m: more than the rounding of a cut

// The law of a contact point's normal row, or of a limit.
template <class S>
struct ContactSpring {
  Impedance<S> d;
  Stiffness<S> k;
  S root;           // sqrt(K)
  mask_t<S> rises;  // the impedance
};
template <class S>
ContactSpring<S> spring_of(const Stepper& stepper, const S* solref, const S* solimp, const S& depth,
                           const S& dt) {
  using T = value_t<S>;
  ContactSpring<S> out;
  out.d = impedance<S>(solimp, depth);
  out.k = stiffness<S>(solref, out.d.dmax, dt, stepper.constraints.refsafe, false);
  out.root = sqrt(max(out.k.K, S(T(kTiny))));
  out.rises = (!out.d.flat) & (abs(out.d.dmax - out.d.dmin) > S(T(1e-6)));
  return out;
}
template <class S>
ContactSpring<S> spring_of(const Stepper& stepper, const ContactParameters<S>& par, const S& depth,
                           const S& dt) {
  return spring_of<S>(stepper, par.soft + kMixed.solref, par.soft + kMixed.solimp, depth, dt);
}
template <class S>
ContactSpring<S> spring_of(const Stepper& stepper, const ConstraintGroup& limit, const StepWork<S>& w,
                           const S& depth, const S& dt) {
  const S* p = w.p.data();
  return spring_of<S>(stepper, p + limit.softness.solref, p + limit.softness.solimp, depth, dt);
}

// Whether a point in contact is not at rest, given the rate of its gap.
template <class S>
mask_t<S> moves(const ContactSpring<S>& s, const S& rate, const S& depth, const S& g, const S& dt) {
  using T = value_t<S>;
  const S still = S(T(kStillSpeed)), push = s.d.value * s.d.value * s.k.K * depth;
  return (abs(rate) > still) | ((push > S(T(kWeightsHeld)) * (S(1) - s.d.value) * g) & (push * dt > still));
}

template <class S>
S gravity_of(const Stepper& stepper, const StepWork<S>& w) {
  S square(value_t<S>(1e-30));
  for (int i = 0; i < 3; ++i) {
    const S g = w.p[stepper.tree.p.gravity + i];
    square += g * g;
  }
  return sqrt(square);
}

// Without a corner of the force: as long as a part may be.
template <class S>
S smooth_length(const ContactSpring<S>& s, const S& rate, const S& depth) {
  using T = value_t<S>;
  const S speed = max(abs(rate), S(T(1e-9))), whole = S(T(kSpringShare)) / max(s.root, s.k.B);
  const S crossing = s.d.width / (S(T(kRampParts)) * speed);
  const S within = min(crossing, S(T(kRampShare)) / s.root);
  const S back = max(crossing, S(T(kNear)) * (depth - s.d.width) / speed);
  const mask_t<S> inside = s.rises & (depth < s.d.width), returns = s.rises & !inside & (rate > S(0));
  return select(inside, min(whole, within), select(returns, min(whole, back), whole));
}

// Calls f(index, -y, J a) for every edge of the cone of a point with these rows: those of a pyramid, or the
// border at which an ellipse lets go. A limit has one row.
template <class S, class F>
void each_edge(const Constraints& cons, std::size_t row, int rows, const ConstraintData<S>& c, const F& f) {
  const S *y = c.y.data() + row, *aref = c.aref.data() + row;
  if (rows == 1) return f(2 * row, -y[0], y[0] + aref[0]);
  if (cons.elliptic) {
    S square(value_t<S>(1e-30));
    for (int k = 1; k < rows; ++k) square += c.loss[row + k] * y[k] * c.loss[row + k] * y[k];
    return f(2 * row, sqrt(square) - y[0], y[0] + aref[0]);
  }
  for (int k = 1; k < rows; ++k) {
    const S side = c.loss[row + k] * y[k], moved = c.loss[row + k] * (y[k] + aref[k]);
    f(2 * (row + k), -(y[0] + side), y[0] + aref[0] + moved);
    f(2 * (row + k) + 1, side - y[0], y[0] + aref[0] - moved);
  }
}

// h of one point, given the first stage of the part; infinite where it rests or its force has ended. A point
// that rested in the part before has no edges of it.
template <class S>
S point_length(const Stepper& stepper, std::size_t row, int rows, const ContactSpring<S>& s,
               const mask_t<S>& worlds, const S& rate, const S& depth, const StepWork<S>& w,
               SplitWork<S>& split, S& edges_of) {
  using T = value_t<S>;
  const mask_t<S> damped = s.k.B > S(T(1e-3)) * s.root,
                  later = (split.before > S(0)) & (edges_of == split.number);
  const S shortest = max(S(T(kCornerTime)) / max(s.k.K, S(T(kTiny))), S(T(1e-5)) * split.now.left);
  S h = smooth_length(s, rate, depth);
  h = select(damped & !later, min(h, S(T(kFirstShare)) / max(s.root, s.k.B)), h);
  mask_t<S> pushes(false);
  each_edge<S>(stepper.constraints, row, rows, w.c, [&](std::size_t at, const S& phi, const S& a) {
    const S fall = split.edges[at] - phi;
    const S guess = (S(1) - s.d.value) * (s.k.K * s.d.value * rate + s.k.B * a);
    const S slope = select(later, fall / nonzero(split.before), guess);
    const mask_t<S> on = worlds & (phi > S(0));
    const mask_t<S> changes =
        worlds & damped & (phi * slope > S(0)) & (abs(slope) > S(T(1e-12)));  // it comes to its corner
    const S near = select(later, S(T(kNear)), S(T(kNearAtFirst)));
    h = select(changes, min(h, max(shortest, near * phi / select(changes, slope, S(1)))), h);
    pushes = pushes | on;
    set_where(worlds, phi, split.edges[at]);
  });
  set_where(worlds, split.number + S(1), edges_of);
  return select(pushes | (rate < S(0)), h, S(T(1e30)));
}

// The least of 1, 2, 3, 4, 6, 8, 12, ... that is no less than x: few numbers, so that few changes of the
// state change it.
template <class S>
S whole_parts(const S& x) {
  using T = value_t<S>;
  const S enough = x - S(T(1e-6));
  S n(1);
  for (T p(1); p < T(1e6) && any(n < enough); p *= T(2)) {
    n = select(n < enough, S(T(2) * p), n);
    n = select(n < enough, S(T(3) * p), n);
  }
  return n;
}

// The rate of a gap, given its row of a group's Jacobian.
template <class S>
S rate_of(const ConstraintGroup& g, const S* J, const S* v) {
  S rate(0);
  for (std::size_t a = 0; a < g.dofs.size(); ++a) rate += J[a] * v[g.dofs[a]];
  return rate;
}

// now.length of the part that `worlds` begin, whose first stage has been taken.
template <class S>
void choose_length(const Stepper& stepper, const mask_t<S>& worlds, StepWork<S>& w, SplitWork<S>& split) {
  using T = value_t<S>;
  const Constraints& cons = stepper.constraints;
  const S dt = w.p[stepper.tree.p.whole_dt];
  const S *v = w.x.data() + stepper.tree.nq, *J = w.c.J.data();
  S h = S(T(1e30));
  // Of the event k, whose normal row is `row` of a group; `rows` push with it.
  const auto look = [&](int k, const ConstraintGroup& g, int row, int rows, const auto& spring_at) {
    const mask_t<S> touches = worlds & (split.now.modes[std::size_t(k)] > S(0));
    if (!any(touches)) return;
    const S rate = rate_of(g, J + g.jacobian + row * int(g.dofs.size()), v);
    const S depth = max(S(0), -split.gap[std::size_t(k)]);
    const ContactSpring<S> spring = spring_at(depth);
    const mask_t<S> on = touches & moves(spring, rate, depth, gravity_of(stepper, w), dt);
    if (!any(on)) return;
    const S length = point_length(stepper, std::size_t(g.row + row), rows, spring, on, rate, depth, w, split,
                                  split.edges_of[std::size_t(k)]);
    h = select(on, min(h, length), h);
  };
  for (const int index : w.c.contact.touching) {
    const TouchingPair& pair = cons.pairs[index];
    if (!pair.splittable) continue;
    for (int k = 0; k < pair.geoms.slots; ++k) {
      const ConstraintGroup& g = cons.groups[pair.group + k];
      look(pair.point + k, g, 0, g.rows, [&](const S& depth) {
        ContactParameters<S> par;
        contact_parameters<S>(stepper.tree, pair.geoms, w.p.data(), par);
        return spring_of(stepper, par, depth, dt);
      });
    }
  }
  each_limit(cons, [&](std::size_t event, const ConstraintGroup& g, int row) {
    look(int(event), g, row, 1, [&](const S& depth) { return spring_of(stepper, g, w, depth, dt); });
  });
  set_where(worlds, S(1) / whole_parts(split.now.left / h), split.now.length);
}

// For models whose integrator is not rk4: where some point or limit that begins a part in contact is not at
// rest. Needs the gaps and their rates there.
template <class S>
mask_t<S> some_point_moves(const Stepper& stepper, const mask_t<S>& worlds, const StepWork<S>& w,
                           const SplitWork<S>& split) {
  mask_t<S> out(false);
  const S dt = w.p[stepper.tree.p.whole_dt];
  const auto look = [&](std::size_t k, const auto& spring_at) {
    const mask_t<S> touches = worlds & (split.now.modes[k] > S(0));
    if (!any(touches)) return;
    const S depth = max(S(0), -split.gap[k]), rate = split.rates[k];
    out = out | (touches & moves(spring_at(depth), rate, depth, gravity_of(stepper, w), dt));
  };
  for (const TouchingPair& pair : stepper.constraints.pairs) {
    if (!pair.splittable) continue;
    for (int k = pair.point; k < pair.point + pair.geoms.slots; ++k)
      look(std::size_t(k), [&](const S& depth) {
        ContactParameters<S> par;
        contact_parameters<S>(stepper.tree, pair.geoms, w.p.data(), par);
        return spring_of(stepper, par, depth, dt);
      });
  }
  each_limit(stepper.constraints, [&](std::size_t event, const ConstraintGroup& g, int) {
    look(event, [&](const S& depth) { return spring_of(stepper, g, w, depth, dt); });
  });
  return out;
}

// How fast the gaps of limits and of the points that may touch change, at the state x whose gaps were found
// last; 0 of the others, whatever they were before, and whatever they are in the pack's other worlds.
template <class S>
void point_rates(const Stepper& stepper, const S* x, const std::vector<S>& gap, StepWork<S>& w,
                 std::vector<S>& rates) {
  const Tree& tree = stepper.tree;
  bool moved = false;
  for (const TouchingPair& pair : stepper.constraints.pairs) {
    if (!pair.splittable) continue;
    for (int k = pair.point; k < pair.point + pair.geoms.slots; ++k) {
      const mask_t<S> near = gap[k] < S(value_t<S>(kTouchesAbout));
      rates[k] = S(0);
      if (!any(near)) continue;
      if (!moved) body_motions(tree, x + tree.nq, static_cast<const Data<S>&>(w.d), w.c.contact.motion);
      moved = true;
      const geometry::ContactPoint<S>& point = w.c.contact.points[k];
      const auto speed = [&](int body) {
        const Motion<S>& m = w.c.contact.motion[body];
        const Vec3<S> at =
            point.point - root_origin<S>(tree, w.p.data(), x, tree.bodies[std::size_t(body)].root);
        return dot(point.normal, m.v + cross(m.w, at));
      };
      rates[k] = select(near, speed(pair.second_body) - speed(pair.first_body), S(0));
    }
  }
  each_limit(stepper.constraints, [&](std::size_t event, const ConstraintGroup& g, int row) {
    const GroupInput<S> in{tree, g, static_cast<const S*>(w.p.data()), x};
    const S rate = limit_rate(in, row, x + tree.nq, static_cast<const Data<S>&>(w.d));
    rates[event] = select(gap[event] < S(value_t<S>(kTouchesAbout)), rate, S(0));
  });
}

}  // namespace costate::rigid

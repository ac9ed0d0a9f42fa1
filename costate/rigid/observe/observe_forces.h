// Forces of a state, as sensors measure them, and the accelerations that observe.h looks at.
//
//   accelerations     M a = tau + J' f,  as a step solves it, without what the integrator adds
//   force, torque     what a body's parent puts on it: G = sum_j I_j a_j + v_j x* I_j v_j - Phi_j  over the
//                     bodies j that it carries, Phi_j the wrench of all contacts on body j;
//                     F = G.f, T = G.n - X x G.f in the axes of a site at X                [1, "sensor"]
//   contact           Phi_j.f of a body, or of those of its contacts that a geom has; world axes
//   contact_torque    Phi_j.n - X x Phi_j.f: of the same, about the origin X of the body or geom
//   touch             sum of the normal forces on a body whose rays away from it meet the volume of a site
//   actuator          force, length and velocity (actuation.h)
//
// Transpose. All of them are z = <T, G> or <T, Phi> with a motion T of one body: (0, F_bar), (T_bar, X x
// T_bar). T moves with the body, so the part of inertia is the L of rnea_adjoint.h with the virtual velocity
// T for all bodies carried: it arrives at their joints, and not at the body's own. A contact with force f and
// rows E of the relative motion under T has z = <E, f>, f = -s'(y), y = J a - aref. Its partials at given a
// are those of contact_adjoint.h with nu = 0 and m = E; what T itself feels is the wrench T x* Phi. What is
// left is a_bar, from the sweep and -J' S E from the contacts: the transpose of the accelerations
// (step/acceleration.h) takes it on.
//
// [1] MuJoCo documentation, XML reference.
// Tests: tests/rigid/dynamics/observe_forces_test.cpp.
#pragma once

#include "costate/rigid/observe/observe_sums.h"
#include "costate/rigid/observe/touch_zone.h"
#include "costate/rigid/step/acceleration.h"

namespace costate::rigid {

// What forces need besides Data.
template <class S>
struct ForceScratch {
  ForceScratch(const Tree& tree, const Constraints& cons)
      : c(cons),
        phi(tree.bodies.size()),
        twist(tree.bodies.size()),
        arriving(tree.bodies.size()),
        qacc_bar(tree.dofs.size()) {}
  void begin_vjp() {
    std::fill(arriving.begin(), arriving.end(), Motion<S>::zero());
    std::fill(qacc_bar.begin(), qacc_bar.end(), S(0));
  }
  // The virtual velocities of the sweep.
  void recall_arriving(const Tree& tree, Data<S>& d) const {
    for (std::size_t i = 0; i < arriving.size(); ++i) {
      d.w[i] = arriving[i];
      for (int j = tree.bodies[i].joint_begin; j < tree.bodies[i].joint_end; ++j) d.w_before[j] = arriving[i];
    }
  }
  ConstraintData<S> c;
  std::vector<Force<S>> phi;        // wrenches of the contacts that are looked at, of each body
  std::vector<Motion<S>> twist;     // cotangents of these
  std::vector<Motion<S>> arriving;  // virtual velocity that arrives at the joints of each body
  std::vector<S> qacc_bar;
  std::vector<int> touching;  // those of c.contact, while only some of them are looked at
};

struct TouchZone {
  GeomType type = GeomType::sphere;
  Double3 size = {0, 0, 0};
};

// d.qacc, d.v, d.a and the rows at the solution.
template <class S>
void find_accelerations(const Tree& tree, const Constraints& cons, const S* p, const StateIn<S>& in,
                        Data<S>& d, ForceScratch<S>& s) {
  smooth_forces(tree, p, in, d);
  solve_acceleration(tree, cons, Implicit::none, p, in, d, s.c);
  if (cons.rows > 0 && s.c.in_play) evaluate_rows(cons, static_cast<const S*>(s.c.a.data()), s.c);
  rnea_forward<S>(tree, vec3_at(p + tree.p.gravity), in.v, d.qacc.data(), d);
}

inline bool about(const Observed& o, const TouchingPair& pair) {
  if (o.kind == Observed::Kind::force || o.kind == Observed::Kind::torque) return true;
  if (o.of_contact() && o.element >= 0)
    return pair.geoms.first == o.element || pair.geoms.second == o.element;
  return pair.first_body == o.body || pair.second_body == o.body;
}

// Calls visit(pair, group, point, frame) for the contacts in play that a quantity is about.
template <class S, class Visit>
void for_each_contact(const Constraints& cons, const Observed& o, const ConstraintData<S>& c,
                      const Visit& visit) {
  if (cons.rows == 0 || !c.in_play) return;
  for (const int index : c.active) {
    const ConstraintGroup& g = cons.groups[index];
    if (g.kind != GroupKind::contact) continue;
    const TouchingPair& pair = cons.pairs[g.index];
    if (!about(o, pair)) continue;
    const std::size_t at = pair.point + (index - pair.group);
    visit(pair, g, c.contact.points[at].point, c.contact.frames[at]);
  }
}

// s.phi
template <class S>
void contact_wrenches(const Tree& tree, const Constraints& cons, const Observed& o, const S* p, const S* q,
                      ForceScratch<S>& s) {
  std::fill(s.phi.begin(), s.phi.end(), Force<S>::zero());
  for_each_contact(
      cons, o, s.c,
      [&](const TouchingPair& pair, const ConstraintGroup& g, const Vec3<S>& point, const Mat3<S>& frame) {
        Vec3<S> F = Vec3<S>::zero(), N = Vec3<S>::zero();
        for (int i = 0; i < g.rows; ++i)
          (i < 3 ? F : N) += frame.row(i < 3 ? i : i - 3) * s.c.force[g.row + i];
        for (const int body : {pair.first_body, pair.second_body}) {
          const Vec3<S> x = point - root_origin(tree, p, q, tree.bodies[body].root);
          const Force<S> wrench{cross(x, F) + N, F};
          s.phi[body] += body == pair.second_body ? wrench : -wrench;
        }
      });
}

template <class S>
COSTATE_INLINE const plain_t<S>& plain(const S& s) {
  if constexpr (is_dual<S>)
    return s.v;
  else
    return s;
}

// 1 in the worlds in which a touch counts the contact.
template <class S>
S counts(const Tree& tree, const Observed& o, const TouchZone& zone, const TouchingPair& pair, const S* p,
         const S* q, const Vec3<S>& point, const Mat3<S>& frame, const Data<S>& d) {
  const Mat3<S> axes = frame_of(o, p, d);
  const Vec3<S> site = root_origin(tree, p, q, tree.bodies[o.body].root) + arm_of(o, p, d);
  const Vec3<S> x = transpose_times(axes, point - site),
                ray = transpose_times(axes, pair.first_body == o.body ? frame.row(0) : -frame.row(0));
  using P = plain_t<S>;
  value_t<P> out[lanes_of<P>];
  for (int i = 0; i < lanes_of<P>; ++i) {
    const auto number = [&](const S& v) { return double(lane(plain(v), i)); };
    const bool met = ray_meets(zone.type, zone.size, {number(x.x), number(x.y), number(x.z)},
                               {number(ray.x), number(ray.y), number(ray.z)});
    out[i] = met ? 1 : 0;
  }
  return S(costate::load<P>(out));
}

// G of what a body carries. Needs s.phi.
template <class S>
Force<S> interaction(const Observed& o, const Data<S>& d, const ForceScratch<S>& s) {
  Force<S> sum = Force<S>::zero();
  for (const int j : o.bodies) sum += body_force(d.inertia[j], d.v[j], d.a[j]) - s.phi[j];
  return sum;
}

template <class S>
void observe_force(const Tree& tree, const Constraints& cons, const Observed& o, const TouchZone& zone,
                   const S* p, const StateIn<S>& in, S* z, const Data<S>& d, ForceScratch<S>& s) {
  if (o.of_actuator()) {
    const auto a = actuate(tree, tree.actuators[o.element], o.element, p, in.q, in.v, in.act, in.u, d);
    z[o.at] = o.kind == Observed::Kind::actuator_force    ? a.force
              : o.kind == Observed::Kind::actuator_length ? a.length
                                                          : a.velocity;
    return;
  }
  if (o.kind == Observed::Kind::touch) {
    z[o.at] = S(0);
    for_each_contact(
        cons, o, s.c,
        [&](const TouchingPair& pair, const ConstraintGroup& g, const Vec3<S>& point, const Mat3<S>& frame) {
          z[o.at] += counts(tree, o, zone, pair, p, in.q, point, frame, d) * s.c.force[g.row];
        });
    return;
  }
  contact_wrenches(tree, cons, o, p, in.q, s);
  Vec3<S> r = s.phi[o.body].f;
  if (o.kind == Observed::Kind::contact_torque) {
    r = s.phi[o.body].n - cross(arm_of(o, p, d), r);
  } else if (o.kind != Observed::Kind::contact) {
    const Force<S> G = interaction(o, d, static_cast<const ForceScratch<S>&>(s));
    r = o.kind == Observed::Kind::force ? G.f : G.n - cross(arm_of(o, p, d), G.f);
    r = shown(o, p, r, d);
  }
  for (int k = 0; k < 3; ++k) z[o.at + k] = r[k];
}

// Where cotangents go.
template <class S>
struct ForceObservedBar {
  S *q, *v, *act, *u, *p;  // q in the tangent space; u, p may be null
};

// Cotangents of the contacts that a quantity is about, at given accelerations: E in s.twist (motions of the
// bodies), or rows_of(pair, group, point, frame, E) that knows better.
template <class S, class RowsOf>
void contacts_vjp(const Tree& tree, const Constraints& cons, const Observed& o, const S* p,
                  const StateIn<S>& in, const Wanted& wanted, const ForceObservedBar<S>& bar, Data<S>& d,
                  ForceScratch<S>& s, const RowsOf& rows_of) {
  ConstraintData<S>& c = s.c;
  if (cons.rows == 0 || !c.in_play || c.contact.touching.empty()) return;
  for_each_contact(
      cons, o, c,
      [&](const TouchingPair& pair, const ConstraintGroup& g, const Vec3<S>& point, const Mat3<S>& frame) {
        S *E = c.Jd.data() + g.row, pull[kMostRows];
        rows_of(pair, g, point, frame, E);
        multiply_block(g.rows, c.block.data() + g.block, static_cast<const S*>(E), pull);
        const int n = int(g.dofs.size());
        const S* J = c.J.data() + g.jacobian;
        for (int i = 0; i < g.rows; ++i)
          for (int k = 0; k < n; ++k) s.qacc_bar[g.dofs[k]] -= J[i * n + k] * pull[i];
      });
  s.touching = c.contact.touching;
  std::erase_if(c.contact.touching, [&](int index) { return !about(o, cons.pairs[index]); });
  std::fill(c.nu.begin(), c.nu.end(), S(0));
  for (std::size_t i = 0; i < d.w.size(); ++i) d.w[i] = Motion<S>{-s.twist[i].w, -s.twist[i].v};
  S dt_bar(0);
  contact_vjp<S>(tree, cons, p, in.q, in.v, c.a.data(), wanted, {bar.q, bar.v, bar.p}, d, c, dt_bar);
  if (wanted(tree.p.dt)) bar.p[tree.p.whole_dt] += dt_bar;
  c.contact.touching = s.touching;
  std::fill(d.w.begin(), d.w.end(), Motion<S>::zero());
}

// The motion T of a force or torque on what a body carries: what inertia feels, and -T for the contacts. What
// it is to the bodies behind, the sweep finds in s.arriving.
template <class S>
void interaction_vjp(const Tree& tree, const Observed& o, const Motion<S>& T, const S* p, S* p_bar,
                     Data<S>& d, ForceScratch<S>& s) {
  Force<S> contacts = Force<S>::zero();
  for (const int j : o.bodies) {
    const Partials<S> own = body_partials(d.inertia[j], T, d.v[j], d.a[j]);
    d.w_bar[j] = own.w;
    d.v_bar[j] += own.v;
    d.a_bar[j] += own.a;
    s.twist[j] = Motion<S>{-T.w, -T.v};
    contacts += s.phi[j];
    if (j != o.body) s.arriving[j] += T;
  }
  d.wrench[o.body] -= cross(T, contacts);
  const std::size_t i = o.body;
  if (p_bar) inertia_vjp(tree.bodies[i].p, p, d.R[i], d.x[i], T, d.a[i], cross(T, d.v[i]), d.v[i], p_bar);
}

template <class S>
void actuator_vjp(const Tree& tree, const Observed& o, const S* p, const StateIn<S>& in, const S& bar_of,
                  const Wanted& wanted, const ForceObservedBar<S>& to, Data<S>& d) {
  const ActuationBar<S> bar{to.q, to.v, to.act, to.u, to.p};
  const TreeActuator& actuator = tree.actuators[o.element];
  ActuatorVjp<S> one{tree,   actuator, std::size_t(o.element),
                     p,      in.q,     in.v,
                     in.act, in.u,     wanted,
                     bar,    d,        actuate(tree, actuator, o.element, p, in.q, in.v, in.act, in.u, d)};
  if (o.kind == Observed::Kind::actuator_force) {
    one.force_bar = bar_of;
    one.force_vjp(nullptr);
    one.input_vjp(nullptr);
  } else {
    (o.kind == Observed::Kind::actuator_length ? one.length_bar : one.velocity_bar) = bar_of;
  }
  one.s.force = S(0);  // nothing is asked about the force on dofs
  one.transmission_vjp(static_cast<const S*>(d.zeros.data()));
}

// Adds to the cotangents at given accelerations, in `bar` and the sums of d; those of the accelerations go to
// s.qacc_bar.
template <class S>
void observe_force_vjp(const Tree& tree, const Constraints& cons, const Observed& o, const TouchZone& zone,
                       const S* p, const StateIn<S>& in, const S* z_bar, const Wanted& wanted,
                       const ForceObservedBar<S>& bar, Data<S>& d, ForceScratch<S>& s) {
  if (o.of_actuator()) return actuator_vjp(tree, o, p, in, z_bar[o.at], wanted, bar, d);
  std::fill(s.twist.begin(), s.twist.end(), Motion<S>::zero());
  if (o.kind == Observed::Kind::touch)
    return contacts_vjp(tree, cons, o, p, in, wanted, bar, d, s,
                        [&](const TouchingPair& pair, const ConstraintGroup& g, const Vec3<S>& point,
                            const Mat3<S>& frame, S* E) {
                          std::fill(E, E + g.rows, S(0));
                          E[0] = counts(tree, o, zone, pair, p, in.q, point, frame,
                                        static_cast<const Data<S>&>(d)) *
                                 z_bar[o.at];
                        });
  const Vec3<S> f = world_cotangent(o, p, z_bar, d), X = arm_of(o, p, d);
  contact_wrenches(tree, cons, o, p, in.q, s);
  if (o.kind == Observed::Kind::contact) {
    s.twist[o.body] = {Vec3<S>::zero(), f};
  } else if (o.kind == Observed::Kind::contact_torque) {
    const Vec3<S> X_bar = cross(f, s.phi[o.body].f);
    s.twist[o.body] = {f, cross(X, f)};
    d.wrench[o.body] += Force<S>{cross(X, X_bar), X_bar};
    shift_vjp(o, X_bar, bar.p, d);
  } else {
    const Force<S> G = interaction(o, d, static_cast<const ForceScratch<S>&>(s));
    const bool torque = o.kind == Observed::Kind::torque;
    const Vec3<S> value = torque ? G.n - cross(X, G.f) : G.f;
    if (torque) shift_vjp(o, cross(f, G.f), bar.p, d);
    turn_vjp(o, p, cross(f, value), bar.p, d);
    interaction_vjp(tree, o, torque ? Motion<S>{f, cross(X, f)} : Motion<S>{Vec3<S>::zero(), f}, p, bar.p, d,
                    s);
  }
  contacts_vjp(tree, cons, o, p, in, wanted, bar, d, s,
               [&](const TouchingPair& pair, const ConstraintGroup& g, const Vec3<S>& point,
                   const Mat3<S>& frame, S* E) {
                 const auto at = [&](int body) {
                   return point_velocity(s.twist[body],
                                         point - root_origin(tree, p, in.q, tree.bodies[body].root));
                 };
                 const Vec3<S> V = at(pair.second_body) - at(pair.first_body),
                               W = s.twist[pair.second_body].w - s.twist[pair.first_body].w;
                 for (int i = 0; i < g.rows; ++i)
                   E[i] = i < 3 ? dot(frame.row(i), V) : dot(frame.row(i - 3), W);
               });
}

}  // namespace costate::rigid

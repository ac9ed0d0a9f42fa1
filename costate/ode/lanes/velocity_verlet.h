// Velocity Verlet: one step of q'' = a(t, q, u, p). Second order, symplectic, time reversible
// (Hairer, Lubich, Wanner: Geometric Numerical Integration, 2nd ed., I.1.4).
//
//   half kick   w  = v + h/2 a(t, q)
//   drift       q+ = q + h w
//   half kick   v+ = w + h/2 a(t + h, q+)
//
// Its transpose runs the stages backwards (a_q' the transposed Jacobian of a):
//
//   half kick   w_ = v+_;  q+_ += h/2 a_q(q+)' v+_
//   drift       q_ = q+_;  w_ += h q+_
//   half kick   v_ = w_;   q_ += h/2 a_q(q)' w_
//
// The right-hand side must be separable: states (q, v), v' = a(t, q, u, p) without v. It then has
//   template <class S> static Vec<S, n/2> acceleration(S t, q, u, p);
//   template <class S> static Vec<S, n/2> acceleration_vjp(S t, q, u, p, a_bar, S& t_bar, u_bar, p_bar);
//       // returns q_bar, adds to the others
//   template <class S> static S energy(q, v, p);   // optional
// Tests: tests/ode/lanes/fixed_step_test.cpp (order, reversibility, energy, transpose against Dual).
#pragma once

#include "costate/ode/lanes/fixed_step.h"

namespace costate::ode {

struct Verlet {
  template <class S, int N>
  struct Phase {
    Vec<S, N / 2> q, v;
  };
  template <class S, int N>
  static COSTATE_HD COSTATE_INLINE Phase<S, N> split(const Vec<S, N>& x) {
    Phase<S, N> r;
    for (int i = 0; i < N / 2; ++i) r.q[i] = x[i], r.v[i] = x[N / 2 + i];
    return r;
  }
  template <class S, int H>
  static COSTATE_HD COSTATE_INLINE Vec<S, 2 * H> join(const Vec<S, H>& q, const Vec<S, H>& v) {
    Vec<S, 2 * H> r;
    for (int i = 0; i < H; ++i) r[i] = q[i], r[H + i] = v[i];
    return r;
  }

  template <class Rhs, class S, class X, class U, class P>
  static COSTATE_HD COSTATE_INLINE X step(Tick<S> tick, const X& x, const U& u, const P& p) {
    static_assert(Rhs::separable, "velocity Verlet needs v' = a(t, q), independent of v");
    const auto [q, v] = split(x);
    const S half = S(0.5) * tick.h;
    const auto w = v + half * Rhs::acceleration(tick.t, q, u, p);
    const auto q_next = q + tick.h * w;
    return join(q_next, w + half * Rhs::acceleration(tick.t + tick.h, q_next, u, p));
  }

  template <class Rhs, class S, class X, class U, class P>
  static COSTATE_HD COSTATE_INLINE X step_vjp(Tick<S> tick, const X& x, const U& u, const P& p,
                                              const X& y_bar, Tick<S>& tick_bar, U& u_bar, P& p_bar) {
    const auto [q, v] = split(x);
    const S half = S(0.5) * tick.h;
    const auto a = Rhs::acceleration(tick.t, q, u, p);
    const auto w = v + half * a;
    const auto q_next = q + tick.h * w;
    const auto a_next = Rhs::acceleration(tick.t + tick.h, q_next, u, p);

    auto [q_next_bar, v_next_bar] = split(y_bar);
    auto w_bar = v_next_bar;  // second half kick
    S t_next_bar(0);
    q_next_bar +=
        Rhs::acceleration_vjp(tick.t + tick.h, q_next, u, p, half * v_next_bar, t_next_bar, u_bar, p_bar);
    S half_bar = dot(a_next, v_next_bar);

    auto q_bar = q_next_bar;  // drift
    w_bar += tick.h * q_next_bar;
    tick_bar.h += dot(w, q_next_bar) + t_next_bar;

    half_bar += dot(a, w_bar);  // first half kick
    S t_bar(0);
    q_bar += Rhs::acceleration_vjp(tick.t, q, u, p, half * w_bar, t_bar, u_bar, p_bar);
    tick_bar.t += t_bar + t_next_bar;
    tick_bar.h += S(0.5) * half_bar;
    return join(q_bar, w_bar);
  }

  // The same step with the velocity turned round.
  template <class Rhs, class S, class X, class U, class P>
  static COSTATE_HD COSTATE_INLINE X step_back(Tick<S> tick, const X& y, const U& u, const P& p) {
    const auto [q, v] = split(y);
    const S half = S(0.5) * tick.h;
    const auto w = v - half * Rhs::acceleration(tick.t + tick.h, q, u, p);
    const auto q_before = q - tick.h * w;
    return join(q_before, w - half * Rhs::acceleration(tick.t, q_before, u, p));
  }
};

}  // namespace costate::ode

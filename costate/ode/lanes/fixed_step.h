// Fixed-step integrators as kernels for LaneSystem: one step of x' = f(t, x, u, p) with its transpose.
//
// A right-hand side is a struct of static templates, so that one source serves every scalar:
//
//   struct Rhs {
//     static constexpr int states, controls, parameters;
//     static constexpr bool autonomous;                          // f does not depend on t
//     static void describe(Signature&);                          // names its fields
//     template <class S> static Vec<S, states> value(S t, x, u, p);
//     template <class S> static Vec<S, states> vjp(S t, x, u, p, dx_bar, S& t_bar, u_bar, p_bar);
//         // returns x_bar, adds to the others
//   };
//
// The kernel's parameters are those of the right-hand side, then "dt", then "t0" unless autonomous. Time is
// t0 + k dt. Controls are constant over a step. Cotangents of parameters that nobody stores are removed by
// the compiler, so vjp computes all.
//
// Classical Runge-Kutta of order 4 (Hairer, Norsett, Wanner: Solving ODEs I, Table II.1.2):
//   k1 = f(t, x), k2 = f(t + h/2, x + h/2 k1), k3 = f(t + h/2, x + h/2 k2), k4 = f(t + h, x + h k3)
//   y  = x + h/6 (k1 + 2 k2 + 2 k3 + k4)
// Transposed, last stage first, with s_i the argument of stage i, cotangents of stages in units of h/6,
// s_i_bar = f_x(s_i)' k_i_bar:
//   k4_bar = y_bar;  k3_bar = 2 y_bar + h s4_bar;  k2_bar = 2 y_bar + h/2 s3_bar;
//   k1_bar = y_bar + h/2 s2_bar
//   x_bar  = y_bar + h/6 (s1_bar + s2_bar + s3_bar + s4_bar)
//
// Explicit Euler: y = x + h f(t, x). Velocity Verlet for f = (v, a(t, q)), in velocity_verlet.h.
// Tests: tests/ode/lanes/fixed_step_test.cpp (order, closed forms, transposes against Dual, dot products).
#pragma once

#include <array>

#include "costate/core/vec.h"
#include "costate/system/lane_system.h"
#include "costate/system/program/explicit_step.h"

namespace costate::ode {

// A step's own inputs besides x, u and p.
template <class S>
struct Tick {
  S t, h;
};

struct Euler {
  template <class Rhs, class S, class X, class U, class P>
  static COSTATE_HD COSTATE_INLINE X step(Tick<S> tick, const X& x, const U& u, const P& p) {
    return EulerStep::step([&](S t, const X& at) { return Rhs::value(t, at, u, p); }, tick.t, tick.h, x);
  }
  template <class Rhs, class S, class X, class U, class P>
  static COSTATE_HD COSTATE_INLINE X step_vjp(Tick<S> tick, const X& x, const U& u, const P& p,
                                              const X& y_bar, Tick<S>& tick_bar, U& u_bar, P& p_bar) {
    tick_bar.h += dot(Rhs::value(tick.t, x, u, p), y_bar);
    return y_bar + Rhs::vjp(tick.t, x, u, p, tick.h * y_bar, tick_bar.t, u_bar, p_bar);
  }
};

struct Rk4 {
  template <class Rhs, class S, class X, class U, class P>
  static COSTATE_HD COSTATE_INLINE X step(Tick<S> tick, const X& x, const U& u, const P& p) {
    return Rk4Step::step([&](S t, const X& at) { return Rhs::value(t, at, u, p); }, tick.t, tick.h, x);
  }
  // Stages are recomputed from x; the last one only if the cotangent of h is wanted.
  template <class Rhs, class S, class X, class U, class P>
  static COSTATE_HD COSTATE_INLINE X step_vjp(Tick<S> tick, const X& x, const U& u, const P& p,
                                              const X& y_bar, Tick<S>& tick_bar, U& u_bar, P& p_bar) {
    constexpr double kHalf = runge_kutta::Rk4::c[1], kSixth = runge_kutta::Rk4::b[0];
    const S t = tick.t, h = tick.h, half = S(kHalf) * h, sixth = h * S(kSixth);
    const X k1 = Rhs::value(t, x, u, p);
    const X s2 = x + half * k1;
    const X k2 = Rhs::value(t + half, s2, u, p);
    const X s3 = x + half * k2;
    const X k3 = Rhs::value(t + half, s3, u, p);
    const X s4 = x + h * k3;
    const X k4 = Rhs::value(t + h, s4, u, p);

    // Cotangents of the stages in units of h/6, which is multiplied in once at the end.
    S t1_bar(0), t23_bar(0), t4_bar(0);
    U u_sum = U::zero();
    P p_sum = P::zero();
    const X twice = y_bar + y_bar;
    const X s4_bar = Rhs::vjp(t + h, s4, u, p, y_bar, t4_bar, u_sum, p_sum);
    const X s3_bar = Rhs::vjp(t + half, s3, u, p, twice + h * s4_bar, t23_bar, u_sum, p_sum);
    const X s2_bar = Rhs::vjp(t + half, s2, u, p, twice + half * s3_bar, t23_bar, u_sum, p_sum);
    const X s1_bar = Rhs::vjp(t, x, u, p, y_bar + half * s2_bar, t1_bar, u_sum, p_sum);

    u_bar += sixth * u_sum;
    p_bar += sixth * p_sum;
    tick_bar.t += sixth * (t1_bar + t23_bar + t4_bar);
    tick_bar.h +=
        S(kSixth) * dot(k1 + S(2) * (k2 + k3) + k4, y_bar) +
        sixth * (S(kHalf) * (dot(k1, s2_bar) + dot(k2, s3_bar) + t23_bar) + dot(k3, s4_bar) + t4_bar);
    return y_bar + sixth * ((s1_bar + s2_bar) + (s3_bar + s4_bar));
  }
};

// The kernel: an integrator applied to a right-hand side.
template <class Rhs, class Method>
struct FixedStep {
  static constexpr int states = Rhs::states, controls = Rhs::controls;
  static constexpr int rhs_parameters = Rhs::parameters;
  static constexpr int parameters = rhs_parameters + (Rhs::autonomous ? 1 : 2);
  static constexpr int unroll = 2;  // two packs in flight hide the latency of a chain of stages

  // Parameter patterns worth a loop of their own, as the right-hand side names them.
  static constexpr auto active_patterns = [] {
    if constexpr (requires { Rhs::active_patterns; })
      return std::to_array(Rhs::active_patterns);
    else
      return std::array<unsigned long, 1>{(1ul << rhs_parameters) - 1};  // everything but dt
  }();

  static Signature signature(double dt = 0.01) {
    Signature s;
    Rhs::describe(s);
    s.parameter("dt", dt, "s");
    if constexpr (!Rhs::autonomous) s.parameter("t0", 0.0, "s");
    return s;
  }

  template <class S>
  using X = Vec<S, states>;
  template <class S>
  using U = Vec<S, controls>;
  template <class S>
  using P = Vec<S, parameters>;

  template <class S>
  static COSTATE_HD COSTATE_INLINE X<S> step(const StepContext& at, const X<S>& x, const U<S>& u,
                                             const P<S>& p) {
    return Method::template step<Rhs>(tick(at, p), x, u, rhs_of(p));
  }
  template <class S>
  static COSTATE_HD COSTATE_INLINE X<S> step_vjp(const StepContext& at, const X<S>& x, const U<S>& u,
                                                 const P<S>& p, const X<S>& y_bar, U<S>& u_bar, P<S>& p_bar) {
    Tick<S> tick_bar{S(0), p_bar[rhs_parameters]};
    Vec<S, rhs_parameters> rhs_bar = rhs_of(p_bar);
    const X<S> x_bar =
        Method::template step_vjp<Rhs>(tick(at, p), x, u, rhs_of(p), y_bar, tick_bar, u_bar, rhs_bar);
    for (int i = 0; i < rhs_parameters; ++i) p_bar[i] = rhs_bar[i];
    p_bar[rhs_parameters] = tick_bar.h;
    if constexpr (!Rhs::autonomous) {
      p_bar[rhs_parameters] += S(value_t<S>(at.k)) * tick_bar.t;
      p_bar[rhs_parameters + 1] += tick_bar.t;
    }
    return x_bar;
  }
  template <class S>
  static COSTATE_HD COSTATE_INLINE X<S> step_back(const StepContext& at, const X<S>& y, const U<S>& u,
                                                  const P<S>& p) requires
      requires(Tick<S> t, X<S> v, U<S> w, Vec<S, rhs_parameters> r) {
    Method::template step_back<Rhs>(t, v, w, r);
  }
  { return Method::template step_back<Rhs>(tick(at, p), y, u, rhs_of(p)); }
  template <class S>
  static COSTATE_HD COSTATE_INLINE S energy(const X<S>& x, const P<S>& p) requires
      requires(X<S> v, Vec<S, rhs_parameters> r) {
    Rhs::template energy<S>(v, r);
  }
  { return Rhs::template energy<S>(x, rhs_of(p)); }

 private:
  template <class S>
  static COSTATE_HD COSTATE_INLINE Vec<S, rhs_parameters> rhs_of(const P<S>& p) {
    Vec<S, rhs_parameters> r;
    for (int i = 0; i < rhs_parameters; ++i) r[i] = p[i];
    return r;
  }
  template <class S>
  static COSTATE_HD COSTATE_INLINE Tick<S> tick(const StepContext& at, const P<S>& p) {
    if constexpr (Rhs::autonomous)
      return {S(0), p[rhs_parameters]};
    else
      return {p[rhs_parameters + 1] + S(value_t<S>(at.k)) * p[rhs_parameters], p[rhs_parameters]};
  }
};

}  // namespace costate::ode

// K: the kick of energy-sampling Hamiltonian dynamics [1]. The state "v" is a unit direction u, "log_speed"
// is r; time is rescaled so that a drift is x' = x + h u. With g = dU/dx, G = |g|, e = g/G:
//
//   c = -u.e,  d = h G / dof,  E = e^-d,  A = (c - 1) E^2
//   w = -(1 + c + A) e + 2 E (u + c e),  u' = w / |w|,  r' = r + d + ln((1 + c - A) / 2)
//
// Averages over its trajectories are weighted by e^r. Masses and kT play no part.
// Transpose: the lines backwards, as in the code. It has no inverse off the unit sphere.
// [1] Ver Steeg, Galstyan: Hamiltonian dynamics with non-Newtonian momentum for rapid sampling, NeurIPS 2021.
// Tests: tests/md/integrator_test.cpp.
#pragma once

#include "costate/md/integrator/part.h"

namespace costate::md {

struct EshKick {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    using costate::log;
    S* u = s + c.at.v;
    const Direction<S> k(c, c.h, u);
    for (int i = 0; i < c.at.dof; ++i) c.work[i] = k.w(c, u, i) / k.length;
    for (int i = 0; i < c.at.dof; ++i) u[i] = c.work[i];
    s[c.at.log_speed] += k.d + log(S(0.5) * (S(1) + k.c - k.A));
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const int dof = c.at.dof;
    const S* u = s + c.at.v;
    S *u_bar = bar + c.at.v, *f_bar = c.work, *w_bar = c.work + dof, *e_bar = c.work + 2 * dof;
    const Direction<S> k(c, c.h, u);
    const S r_bar = bar[c.at.log_speed];
    S along(0);
    for (int i = 0; i < dof; ++i) along += k.w(c, u, i) / k.length * u_bar[i];
    S ew(0), uw(0);  // e.w_bar, u.w_bar
    for (int i = 0; i < dof; ++i) {
      w_bar[i] = (u_bar[i] - along * k.w(c, u, i) / k.length) / k.length;
      ew += k.e(c, i) * w_bar[i];
      uw += u[i] * w_bar[i];
    }
    const S log_bar = r_bar / (S(1) + k.c - k.A);
    S A_bar = -log_bar - ew, c_bar = log_bar - ew + S(2) * k.E * ew;
    S E_bar = S(2) * (uw + k.c * ew) + S(2) * (k.c - S(1)) * k.E * A_bar;
    c_bar += k.E * k.E * A_bar;
    const S d_bar = r_bar - k.E * E_bar;
    S ee(0);
    for (int i = 0; i < dof; ++i) {
      e_bar[i] = (S(2) * k.E * k.c - (S(1) + k.c + k.A)) * w_bar[i] - c_bar * u[i];
      u_bar[i] = S(2) * k.E * w_bar[i] - c_bar * k.e(c, i);
      ee += k.e(c, i) * e_bar[i];
    }
    const S per = S(value_t<S>(1.0 / dof)), G_bar = c.h * per * d_bar;
    c.h_bar += k.G * per * d_bar;
    // e = -F / G
    for (int i = 0; i < dof; ++i) f_bar[i] = -((e_bar[i] - ee * k.e(c, i)) / k.G + G_bar * k.e(c, i));
    c.forces.evaluate_vjp(s + c.at.x, c.p, f_bar, bar + c.at.x, c.p_bar);
  }

 private:
  template <class S>
  struct Direction {
    S G, c, d, E, A, length;
    Direction(const Part<S>& part, const S& h, const S* u) {
      using costate::exp, costate::sqrt;
      const int dof = part.at.dof;
      S square(value_t<S>(1e-30)), along(0);  // where there is no force nothing turns
      for (int i = 0; i < dof; ++i) {
        square += part.force[i] * part.force[i];
        along += u[i] * part.force[i];
      }
      G = sqrt(square);
      c = along / G;
      d = h * G * S(value_t<S>(1.0 / dof));
      E = exp(-d);
      A = (c - S(1)) * E * E;
      S sum(0);
      for (int i = 0; i < dof; ++i) {
        const S wi = w(part, u, i);
        sum += wi * wi;
      }
      length = sqrt(sum);
    }
    S e(const Part<S>& part, int i) const { return -part.force[i] / G; }
    S w(const Part<S>& part, const S* u, int i) const {
      const S ei = e(part, i);
      return S(2) * E * (u[i] + c * ei) - (S(1) + c + A) * ei;
    }
  };
};

}  // namespace costate::md

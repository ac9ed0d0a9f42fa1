// P, D, Q: a barostat after Martyna, Tobias and Klein [1] with a Langevin piston. All edges of the box are
// scaled together: box = box_0 e^strain, and the rate s of the strain is the state "piston". With W its mass,
// n the dimensions, N the degrees of freedom, a = 1 + n / N, V the volume and w the virial (term.h):
//
//   strain' = s,  x' = v + s x,  v' = F / m - a s v,
//   W s' = a m|v|^2 - w - n pressure V  (and friction and noise)
//
// It samples volumes as constant pressure and temperature do: e^(-(U + pressure V) / kT) dV. Without friction
// K + U + pressure V + W s^2 / 2 is conserved. Every letter solves its part exactly, together with A and B:
//
//   P   s' = s + h (a m|v|^2 - w - n pressure V) / W
//   D   x' = e^(h s) x,  v' = e^(-a h s) v,  strain' = strain + h s
//   Q   s' = c s + sqrt(1 - c^2) sqrt(kT / W) xi,  c = e^(-piston_friction h)
//
// Transposes: the lines backwards. Those of the box of the moment are handed on to strain and box_0 by
// splitting.h.
// [1] Martyna, Tobias, Klein: Constant pressure molecular dynamics algorithms, J. Chem. Phys. 101 (1994).
// Tests: tests/md/barostat_test.cpp.
#pragma once

#include "costate/md/integrator/part.h"

namespace costate::md {

struct PistonKick {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    s[c.at.piston] += c.h * push(c, s) / c.p[c.at.piston_mass];
  }
  template <class S>
  static void undo(const Part<S>& c, S* s) {
    s[c.at.piston] -= c.h * push(c, s) / c.p[c.at.piston_mass];
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    using V = value_t<S>;
    const S W = c.p[c.at.piston_mass], rate_bar = bar[c.at.piston] / W, all = push(c, s);
    c.h_bar += all * rate_bar;
    c.p_bar[c.at.piston_mass] -= c.h * all * rate_bar / W;
    const S push_bar = c.h * rate_bar, kinetic_bar = S(V(share(c.at))) * push_bar;
    for (int i = 0; i < c.at.dof; ++i) {
      const S v = s[c.at.v + i];
      bar[c.at.v + i] += S(2) * c.mass(i) * v * kinetic_bar;
      c.mass_bar(i) += v * v * kinetic_bar;
    }
    c.forces.virial_vjp(s + c.at.x, c.p, S(-push_bar), bar + c.at.x, c.p_bar);
    const S volume_bar = S(V(-c.at.dimensions)) * volume(c) * push_bar;  // times the volume
    c.p_bar[c.at.pressure] += volume_bar;
    for (int k = 0; k < c.at.dimensions; ++k)
      c.p_bar[c.at.box + k] += c.p[c.at.pressure] * volume_bar / c.p[c.at.box + k];
  }

  // 1 + n / N
  static double share(const Layout& at) { return 1 + double(at.dimensions) / at.freedom; }

 private:
  template <class S>
  static S volume(const Part<S>& c) {
    S product(1);
    for (int k = 0; k < c.at.dimensions; ++k) product = product * c.p[c.at.box + k];
    return product;
  }
  template <class S>
  static S push(const Part<S>& c, const S* s) {
    using V = value_t<S>;
    S twice_kinetic(0);
    for (int i = 0; i < c.at.dof; ++i) twice_kinetic += c.mass(i) * s[c.at.v + i] * s[c.at.v + i];
    return S(V(share(c.at))) * twice_kinetic - *c.virial -
           S(V(c.at.dimensions)) * c.p[c.at.pressure] * volume(c);
  }
};

struct Dilation {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    run(c, S(c.h * s[c.at.piston]), s);
  }
  template <class S>
  static void undo(const Part<S>& c, S* s) {
    run(c, S(-c.h * s[c.at.piston]), s);
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    using costate::exp;
    const S rate = s[c.at.piston], a(value_t<S>(PistonKick::share(c.at)));
    const S grow = exp(c.h * rate), slow = exp(-a * c.h * rate);
    S exponent_bar = bar[c.at.strain];  // of h s
    for (int i = 0; i < c.at.dof; ++i) {
      S &x_bar = bar[c.at.x + i], &v_bar = bar[c.at.v + i];
      x_bar = grow * x_bar, v_bar = slow * v_bar;
      exponent_bar += s[c.at.x + i] * x_bar - a * s[c.at.v + i] * v_bar;
    }
    bar[c.at.piston] += c.h * exponent_bar;
    c.h_bar += rate * exponent_bar;
  }

 private:
  template <class S>
  static void run(const Part<S>& c, const S& by, S* s) {
    using costate::exp;
    const S grow = exp(by), slow = exp(S(value_t<S>(-PistonKick::share(c.at))) * by);
    for (int i = 0; i < c.at.dof; ++i) {
      s[c.at.x + i] = grow * s[c.at.x + i];
      s[c.at.v + i] = slow * s[c.at.v + i];
    }
    s[c.at.strain] += by;
  }
};

struct PistonFriction {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    const Decay<S> decay(c.p[c.at.piston_friction], c.h);
    s[c.at.piston] = decay.c * s[c.at.piston] + decay.s * thermal(c) * c.xi[0];
  }
  template <class S>
  static void undo(const Part<S>& c, S* s) {
    const Decay<S> decay(c.p[c.at.piston_friction], c.h);
    s[c.at.piston] = (s[c.at.piston] - decay.s * thermal(c) * c.xi[0]) / decay.c;
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const S rate = c.p[c.at.piston_friction];
    const Decay<S> decay(rate, c.h);
    S& s_bar = bar[c.at.piston];
    const S noise_bar = thermal(c) * c.xi[0] * s_bar, half = S(0.5) * decay.s * noise_bar;
    c.p_bar[c.at.kT] += half / c.p[c.at.kT];
    c.p_bar[c.at.piston_mass] -= half / c.p[c.at.piston_mass];
    const S exponent_bar = -decay.c * (s[c.at.piston] * s_bar - decay.c / decay.s * noise_bar);  // of rate h
    c.p_bar[c.at.piston_friction] += c.h * exponent_bar;
    c.h_bar += rate * exponent_bar;
    s_bar = decay.c * s_bar;
  }

 private:
  template <class S>
  static S thermal(const Part<S>& c) {
    using costate::sqrt;
    return sqrt(c.p[c.at.kT] / c.p[c.at.piston_mass]);
  }
};

}  // namespace costate::md

// Friction with memory: the generalised Langevin equation with the kernel sum_i f_i / t_i e^(-t / t_i), by
// one auxiliary force per mode and degree of freedom, z_i [length/time^2] (f = "memory/friction", t =
// "memory/time"):
//
//   dv = F/m dt + sum_i z_i dt,   dz_i = -(f_i / t_i) v dt - z_i / t_i dt + sqrt(2 kT f_i / m) / t_i dW_i
//
//   C   coupling, an exact rotation per mode:  w = sqrt(f/t), v' = cos(w h) v + sin(w h) z / w,
//                                              z' = cos(w h) z - w sin(w h) v
//   M   decay and noise, exactly:              z' = c z + s g xi,  c = e^(-h/t), s = sqrt(1 - c^2),
//                                              g = sqrt(kT f / (m t))
//
// In equilibrium <z^2> = g^2. As all t_i go to 0 it becomes the friction sum f_i without memory.
// Tests: tests/md/integrator_test.cpp, equilibrium_test.cpp (against the discrete Lyapunov equation).
#pragma once

#include "costate/md/integrator/friction.h"

namespace costate::md {

struct MemoryCoupling {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    for (int mode = 0; mode < c.at.modes; ++mode) rotate(c, mode, c.h, s);
  }
  template <class S>
  static void undo(const Part<S>& c, S* s) {
    for (int mode = c.at.modes; mode-- > 0;) rotate(c, mode, S(-c.h), s);
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const int dof = c.at.dof;
    S *v = c.work, *v_bar = bar + c.at.v;
    for (int mode = c.at.modes; mode-- > 0;) {
      const Rotation<S> r(c, mode, c.h);
      velocity_before(c, mode, s, v);
      const S* z = s + c.at.memory + mode * dof;
      S *z_bar = bar + c.at.memory + mode * dof, angle_bar(0), w_bar(0);
      for (int i = 0; i < dof; ++i) {
        const S vb = v_bar[i], zb = z_bar[i];
        const S v_out = r.cos * v[i] + r.sin * z[i] / r.w, z_out = r.cos * z[i] - r.w * r.sin * v[i];
        angle_bar += z_out / r.w * vb - r.w * v_out * zb;
        w_bar -= r.sin * z[i] / (r.w * r.w) * vb + r.sin * v[i] * zb;
        v_bar[i] = r.cos * vb - r.w * r.sin * zb;
        z_bar[i] = r.sin / r.w * vb + r.cos * zb;
      }
      w_bar += c.h * angle_bar;
      c.h_bar += r.w * angle_bar;
      const int f = c.at.memory_friction + mode, t = c.at.memory_time + mode;  // w^2 = f / t
      c.p_bar[f] += S(0.5) * r.w / c.p[f] * w_bar;
      c.p_bar[t] -= S(0.5) * r.w / c.p[t] * w_bar;
    }
  }

 private:
  template <class S>
  struct Rotation {
    S w, cos, sin;
    Rotation(const Part<S>& c, int mode, const S& h) {
      w = costate::sqrt(c.p[c.at.memory_friction + mode] / c.p[c.at.memory_time + mode]);
      cos = costate::cos(w * h), sin = costate::sin(w * h);
    }
  };
  // What a mode finds: the velocity after the rotations of those before it.
  template <class S>
  static void velocity_before(const Part<S>& c, int mode, const S* s, S* v) {
    for (int i = 0; i < c.at.dof; ++i) v[i] = s[c.at.v + i];
    for (int earlier = 0; earlier < mode; ++earlier) {
      const Rotation<S> r(c, earlier, c.h);
      const S* z = s + c.at.memory + earlier * c.at.dof;
      for (int i = 0; i < c.at.dof; ++i) v[i] = r.cos * v[i] + r.sin * z[i] / r.w;
    }
  }
  template <class S>
  static void rotate(const Part<S>& c, int mode, const S& h, S* s) {
    const Rotation<S> r(c, mode, h);
    S *v = s + c.at.v, *z = s + c.at.memory + mode * c.at.dof;
    for (int i = 0; i < c.at.dof; ++i) {
      const S before = v[i];
      v[i] = r.cos * before + r.sin * z[i] / r.w;
      z[i] = r.cos * z[i] - r.w * r.sin * before;
    }
  }
};

struct MemoryDecay {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    each(c, [&](int i, int, const Decay<S>& decay, const S& g) {
      S& z = s[c.at.memory + i];
      z = decay.c * z + decay.s * (g * c.xi[i]);
    });
  }
  template <class S>
  static void undo(const Part<S>& c, S* s) {
    each(c, [&](int i, int, const Decay<S>& decay, const S& g) {
      S& z = s[c.at.memory + i];
      z = (z - decay.s * (g * c.xi[i])) / decay.c;
    });
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    each(c, [&](int i, int mode, const Decay<S>& decay, const S& g) {
      const int dof = i % c.at.dof, f = c.at.memory_friction + mode, t = c.at.memory_time + mode;
      S& z_bar = bar[c.at.memory + i];
      const S s_bar = g * c.xi[i] * z_bar, g_share = S(0.5) * decay.s * s_bar;  // g dU/dg / 2
      const S exponent_bar = -decay.c * (s[c.at.memory + i] * z_bar - decay.c / decay.s * s_bar);  // of h / t
      c.p_bar[c.at.kT] += g_share / c.p[c.at.kT];
      c.p_bar[f] += g_share / c.p[f];
      c.p_bar[t] -= (g_share + c.h / c.p[t] * exponent_bar) / c.p[t];
      c.mass_bar(dof) -= g_share / c.mass(dof);
      c.h_bar += exponent_bar / c.p[t];
      z_bar = decay.c * z_bar;
    });
  }

 private:
  template <class S, class F>
  static void each(const Part<S>& c, const F& body) {
    using costate::sqrt;
    for (int mode = 0; mode < c.at.modes; ++mode) {
      const S &f = c.p[c.at.memory_friction + mode], &t = c.p[c.at.memory_time + mode];
      const Decay<S> decay(S(1) / t, c.h);
      for (int i = 0; i < c.at.dof; ++i)
        body(mode * c.at.dof + i, mode, decay, S(sqrt(c.p[c.at.kT] * f / (c.mass(i) * t))));
    }
  }
};

}  // namespace costate::md

// Drift and kick: the two parts of Newton's equation.
//
//   A   x' = x + h v
//   B   v' = v + h F(x) / m
//
// Transposes: A: v_bar += h x_bar, h_bar += v.x_bar.   B: F_bar = h v_bar / m, x_bar += (dF/dx)' F_bar,
// h_bar += F.v_bar / m, m_bar -= h F.v_bar / m^2.
// Tests: tests/md/integrator_test.cpp.
#pragma once

#include "costate/md/integrator/part.h"

namespace costate::md {

struct Drift {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    S *x = s + c.at.x, *v = s + c.at.v;
    each_coordinate<S>(c.at.dof, [=, h = c.h](int i) { x[i] += h * v[i]; });
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const S* v = s + c.at.v;
    const S* x_bar = bar + c.at.x;
    S* v_bar = bar + c.at.v;
    each_coordinate<S>(c.at.dof, [=, h = c.h](int i) { v_bar[i] += h * x_bar[i]; });
    if (!c.numbers) return;
    S sum(0);
    for (int i = 0; i < c.at.dof; ++i) sum += v[i] * x_bar[i];
    c.h_bar += sum;
  }
  template <class S>
  static void undo(const Part<S>& c, S* s) {
    S *x = s + c.at.x, *v = s + c.at.v;
    for (int i = 0; i < c.at.dof; ++i) x[i] -= c.h * v[i];
  }
};

struct Kick {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    S* v = s + c.at.v;
    each_coordinate<S>(c.at.dof, [=, kick = c.kick, force = c.force](int i) { v[i] += kick[i] * force[i]; });
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const S* v_bar = bar + c.at.v;
    S* f_bar = c.work;
    each_coordinate<S>(c.at.dof, [=, kick = c.kick](int i) { f_bar[i] = kick[i] * v_bar[i]; });
    if (c.numbers) {
      const int n = c.at.dimensions;
      S sum(0);
      for (int atom = 0; atom < c.at.atoms; ++atom) {
        const S inverse = S(1) / c.p[c.at.mass + atom];
        S work(0);
        for (int i = atom * n; i < atom * n + n; ++i) work += c.force[i] * v_bar[i];
        work = work * inverse;
        sum += work;
        c.p_bar[c.at.mass + atom] -= c.h * inverse * work;
      }
      c.h_bar += sum;
    }
    c.forces.evaluate_vjp(s + c.at.x, c.p, f_bar, bar + c.at.x, c.p_bar);
  }
  template <class S>
  static void undo(const Part<S>& c, S* s) {
    S* v = s + c.at.v;
    for (int i = 0; i < c.at.dof; ++i) v[i] -= c.kick[i] * c.force[i];
  }
};

}  // namespace costate::md

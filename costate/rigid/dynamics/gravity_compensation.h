// Gravity compensation: a share of a body's weight is held up, by a force -gravcomp * mass * gravity at its
// centre of mass.
//
//   Phi = (c x f, f),   f = -gravcomp m g,   c centre of mass about the tree's origin
//
// The wrench goes up the tree with those of actuators. Its direction stays while the body turns, so its
// transpose takes back what rnea_vjp counts for wrenches that are carried along (w x* Phi), and adds what c
// does: c_bar = w x f.
// Tests: tests/rigid/parity_test.cpp, rigid_system_test.cpp.
#pragma once

#include "costate/rigid/dynamics/force_term.h"

namespace costate::rigid {

struct GravityCompensation {
  static bool on_bodies(const Tree& tree) { return tree.gravcomp; }

  template <class S>
  static void forces(const ForceInput<S>& in, Data<S>& d) {
    const Tree& tree = in.tree;
    if (!tree.gravcomp) return;
    const S* p = in.p;
    const Vec3<S> gravity = vec3_at(p + tree.p.gravity);
    for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
      const BodyParameters& at = tree.bodies[i].p;
      const Vec3<S> f = -(p[at.gravcomp] * p[at.mass]) * gravity, c = d.x[i] + d.R[i] * vec3_at(p + at.com);
      d.applied[i] += {cross(c, f), f};
    }
  }

  template <class S>
  static void forces_vjp(const ForceInput<S>& in, const ForceBar<S>& bar, Data<S>& d) {
    const Tree& tree = in.tree;
    if (!tree.gravcomp) return;
    const Wanted& wanted = bar.wanted;
    const S* p = in.p;
    S* p_bar = bar.to.p;
    const Vec3<S> gravity = vec3_at(p + tree.p.gravity);
    for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
      const BodyParameters& at = tree.bodies[i].p;
      const S share = p[at.gravcomp], mass = p[at.mass];
      const Vec3<S> f = -(share * mass) * gravity, c = d.x[i] + d.R[i] * vec3_at(p + at.com);
      const Force<S> wrench{cross(c, f), f};
      const Motion<S>& w = d.w[i];
      d.w_bar[i] -= wrench;
      const Vec3<S> c_bar = cross(w.w, f), f_bar = -(w.v + cross(w.w, c));
      d.wrench[i] += Force<S>{cross(c, c_bar), c_bar} - cross(w, wrench);
      const S along = dot(gravity, f_bar);
      if (wanted(at.gravcomp)) p_bar[at.gravcomp] -= mass * along;
      if (wanted(at.mass)) p_bar[at.mass] -= share * along;
      if (wanted(at.com)) add_to(p_bar + at.com, transpose_times(d.R[i], c_bar));
      if (wanted(tree.p.gravity)) add_to(p_bar + tree.p.gravity, -(share * mass) * f_bar);
    }
  }
};

}  // namespace costate::rigid

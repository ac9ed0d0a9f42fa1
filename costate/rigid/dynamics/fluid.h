// Forces of a fluid on bodies, each taken for a box that has its mass and moments of inertia [1, "inertia
// model"].
//
//   box      sides s_i from the principal moments:  s_0 = sqrt(6 (I_1 + I_2 - I_0) / m), ...
//   l, w     velocity of the centre of mass less the wind, and angular velocity, in the box's axes
//   viscous  f = -3 pi d beta l,   n = -pi d^3 beta w              d mean side, beta viscosity
//   drag     f_i -= rho/2 s_j s_k |l_i| l_i,   n_i -= rho/64 s_i (s_j^4 + s_k^4) |w_i| w_i
//
// With Q the axes of the box in the world, c the centre of mass about the tree's origin and (w, v) the motion
// of the body: the velocities in the box's axes are l = Q'(v + w x c - wind) and Q'w; the wrench Phi = (c x
// Qf + Qn, Qf) goes up the tree with those of actuators.
//
// Transpose, for L = -<m, Phi> with m = (m_w, m_v) minus the virtual velocity, as rnea_vjp keeps it; y =
// Q'(m_v + m_w x c), z = Q'm_w:
//
//   f_bar = -y, n_bar = -z, then l_bar and w_bar by the slopes of the forces, which are diagonal. G = Q
//     l_bar.
//   of the body's motion (c x G + Q w_bar, G);  of m: -Phi;  wind_bar = -G
//   c_bar = m_w x Qf + G x w;  box axes: theta_bar = y x f + z x n - l x l_bar - w x w_bar, in the box's axes
//
// All of it is carried along by the body but the wind: the pose feels the moment wind x G more.
//
// Sides and axes of the boxes are parameters ("body/<name>/fluid_box", "fluid_quat"), measured by the model
// compiler from mass and inertia: a gradient by a mass holds them.
// [1] MuJoCo documentation, Computation, "fluid forces".
// Tests: tests/rigid/dynamics/fluid_test.cpp, parity_test.cpp.
#pragma once

#include "costate/rigid/dynamics/force_term.h"

namespace costate::rigid {

// Forces on a box that moves with (w, l) in its own axes, and their slopes by each of the six velocities.
template <class S>
struct BoxForces {
  Vec3<S> n, f;
  Vec3<S> n_slope, f_slope;
};

template <class S>
COSTATE_INLINE S magnitude(const S& x) {
  return select(x < S(0), -x, x);
}

template <class S>
BoxForces<S> box_forces(const Vec3<S>& side, const S& density, const S& viscosity, const Vec3<S>& w,
                        const Vec3<S>& l) {
  using Real = value_t<S>;
  constexpr Real kPi = Real(3.14159265358979323846);
  const S d = S(Real(1) / 3) * (side.x + side.y + side.z);
  const S turn = S(-kPi) * d * d * d * viscosity, move = S(-3 * kPi) * d * viscosity;
  const auto fourth = [](const S& s) { return s * s * s * s; };
  const Vec3<S> area{side.y * side.z, side.x * side.z, side.x * side.y};
  const Vec3<S> arm{side.x * (fourth(side.y) + fourth(side.z)), side.y * (fourth(side.x) + fourth(side.z)),
                    side.z * (fourth(side.x) + fourth(side.y))};
  const S half = S(Real(0.5)) * density, small = S(Real(1) / 64) * density;
  BoxForces<S> r;
  for (int k = 0; k < 3; ++k) {
    const S lk = magnitude(l[k]), wk = magnitude(w[k]);
    r.f[k] = (move - half * area[k] * lk) * l[k];
    r.n[k] = (turn - small * arm[k] * wk) * w[k];
    r.f_slope[k] = move - S(2) * half * area[k] * lk;
    r.n_slope[k] = turn - S(2) * small * arm[k] * wk;
  }
  return r;
}

// What the fluid sees of a body.
template <class S>
struct Submerged {
  Mat3<S> Q;
  Vec3<S> c, w, l;
  BoxForces<S> forces;
};

template <class S>
Submerged<S> submerged(const Tree& tree, std::size_t i, const S* p, const Data<S>& d) {
  const BodyParameters& at = tree.bodies[i].p;
  Submerged<S> b;
  b.Q = d.R[i] * to_matrix(quat_at(p + at.fluid_quat));
  b.c = d.x[i] + d.R[i] * vec3_at(p + at.com);
  const Motion<S>& v = d.v[i];
  b.w = transpose_times(b.Q, v.w);
  b.l = transpose_times(b.Q, v.v + cross(v.w, b.c) - vec3_at(p + tree.p.wind));
  b.forces = box_forces(vec3_at(p + at.fluid_box), p[tree.p.density], p[tree.p.viscosity], b.w, b.l);
  return b;
}

// Cotangents of the sides, the density and the viscosity, given those of the forces.
template <class S>
void box_forces_vjp(const Vec3<S>& side, const S& density, const S& viscosity, const Vec3<S>& w,
                    const Vec3<S>& l, const Vec3<S>& f_bar, const Vec3<S>& n_bar, Vec3<S>& side_bar,
                    S& density_bar, S& viscosity_bar) {
  using Real = value_t<S>;
  constexpr Real kPi = Real(3.14159265358979323846);
  const S d = S(Real(1) / 3) * (side.x + side.y + side.z);
  const S along = dot(f_bar, l), about = dot(n_bar, w);
  viscosity_bar -= S(3 * kPi) * d * along + S(kPi) * d * d * d * about;
  const S d_bar = S(-3 * kPi) * viscosity * (along + d * d * about);
  const auto cube = [](const S& s) { return s * s * s; };
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const S drag = S(Real(-0.5)) * magnitude(l[k]) * l[k] * f_bar[k],
            spin = S(Real(-1) / 64) * magnitude(w[k]) * w[k] * n_bar[k];
    const S fourth = side[i] * cube(side[i]) + side[j] * cube(side[j]);
    density_bar += drag * side[i] * side[j] + spin * side[k] * fourth;
    side_bar[k] += S(Real(1) / 3) * d_bar + density * spin * fourth;
    side_bar[i] += density * (drag * side[j] + S(4) * spin * side[k] * cube(side[i]));
    side_bar[j] += density * (drag * side[i] + S(4) * spin * side[k] * cube(side[j]));
  }
}

struct FluidForces {
  static bool on_bodies(const Tree& tree) { return tree.fluid; }

  // Needs rnea_forward.
  template <class S>
  static void forces(const ForceInput<S>& in, Data<S>& d) {
    const Tree& tree = in.tree;
    if (!tree.fluid) return;
    const S* p = in.p;
    for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
      if (tree.bodies[i].p.fluid_box < 0) continue;
      const Submerged<S> b = submerged(tree, i, p, static_cast<const Data<S>&>(d));
      const Vec3<S> f = b.Q * b.forces.f;
      d.applied[i] += Force<S>{cross(b.c, f) + b.Q * b.forces.n, f};
    }
  }

  // d.v holds the velocities.
  template <class S>
  static void forces_vjp(const ForceInput<S>& in, const ForceBar<S>& bar, Data<S>& d) {
    const Tree& tree = in.tree;
    if (!tree.fluid) return;
    const Wanted& wanted = bar.wanted;
    const S* p = in.p;
    S* p_bar = bar.to.p;
    const Vec3<S> wind = vec3_at(p + tree.p.wind);
    S density_bar(0), viscosity_bar(0);
    for (std::size_t i = 1; i < tree.bodies.size(); ++i) {
      const BodyParameters& at = tree.bodies[i].p;
      if (at.fluid_box < 0) continue;
      const Submerged<S> b = submerged(tree, i, p, static_cast<const Data<S>&>(d));
      const Motion<S>& m = d.w[i];
      const Vec3<S> y = transpose_times(b.Q, m.v + cross(m.w, b.c)), z = transpose_times(b.Q, m.w);
      Vec3<S> l_bar, w_bar;
      for (int k = 0; k < 3; ++k) {
        l_bar[k] = -(b.forces.f_slope[k] * y[k]);
        w_bar[k] = -(b.forces.n_slope[k] * z[k]);
      }
      const Vec3<S> G = b.Q * l_bar, f = b.Q * b.forces.f;
      d.v_bar[i] += Force<S>{cross(b.c, G) + b.Q * w_bar, G};
      d.w_bar[i] -= Force<S>{cross(b.c, f) + b.Q * b.forces.n, f};
      d.wrench[i] += Force<S>{cross(wind, G), Vec3<S>::zero()};
      if (wanted(tree.p.wind)) add_to(p_bar + tree.p.wind, -G);
      if (wanted(at.com)) add_to(p_bar + at.com, transpose_times(d.R[i], cross(m.w, f) + cross(G, d.v[i].w)));
      if (wanted(at.fluid_quat)) {
        const Vec3<S> theta_bar =
            cross(y, b.forces.f) + cross(z, b.forces.n) - cross(b.l, l_bar) - cross(b.w, w_bar);
        const Quat<S> frame = quat_at(p + at.fluid_quat);
        add_to(p_bar + at.fluid_quat, quat_cotangent(frame, p[at.inverse_fluid_norm], theta_bar));
      }
      if (wanted(at.fluid_box) || wanted(tree.p.density) || wanted(tree.p.viscosity)) {
        Vec3<S> side_bar = Vec3<S>::zero();
        box_forces_vjp(vec3_at(p + at.fluid_box), p[tree.p.density], p[tree.p.viscosity], b.w, b.l, -y, -z,
                       side_bar, density_bar, viscosity_bar);
        if (wanted(at.fluid_box)) add_to(p_bar + at.fluid_box, side_bar);
      }
    }
    if (wanted(tree.p.density)) p_bar[tree.p.density] += density_bar;
    if (wanted(tree.p.viscosity)) p_bar[tree.p.viscosity] += viscosity_bar;
  }
};

}  // namespace costate::rigid

// Forces of tendons: a spring with a dead band and a damper, f = -k (l - l0) outside [l0_low, l0_high] - b
// l', tau += J' f.
//
// Lengths l and Jacobians J come from tendon_length.h. A tendon may also be pulled by an actuator
// (actuation.h), limited, rubbed and held (constraints). Whoever uses l and J adds its cotangents to
// d.tendon_length_bar and d.tendon_J_bar; tendon_lengths_vjp takes them on at the end. Tests:
// tests/rigid/dynamics/tendon_test.cpp, parity_test.cpp, rigid_system_test.cpp.
#pragma once

#include "costate/rigid/dynamics/force_term.h"
#include "costate/rigid/dynamics/tendon_length.h"

namespace costate::rigid {

// J v
template <class S>
COSTATE_INLINE S tendon_velocity(const TreeTendon& tendon, const Data<S>& d, const S* v) {
  const S* J = d.tendon_J.data() + tendon.jacobian;
  S velocity(0);
  for (std::size_t k = 0; k < tendon.dof.size(); ++k) velocity += J[k] * v[tendon.dof[k]];
  return velocity;
}

// tau += J' force
template <class S>
COSTATE_INLINE void add_tendon_force(const TreeTendon& tendon, const Data<S>& d, const S& force, S* tau) {
  const S* J = d.tendon_J.data() + tendon.jacobian;
  for (std::size_t k = 0; k < tendon.dof.size(); ++k) tau[tendon.dof[k]] += J[k] * force;
}

// Cotangents through length, velocity and tau += J' f of tendon t.
template <class S>
void tendon_vjp(const Tree& tree, std::size_t t, const S* v, const S& force, const S* tau_bar,
                const S& length_bar, const S& velocity_bar, S* v_bar, Data<S>& d) {
  const TreeTendon& tendon = tree.tendons[t];
  const S* J = d.tendon_J.data() + tendon.jacobian;
  S* J_bar = d.tendon_J_bar.data() + tendon.jacobian;
  d.tendon_length_bar[t] += length_bar;
  for (std::size_t k = 0; k < tendon.dof.size(); ++k) {
    const int dof = tendon.dof[k];
    v_bar[dof] += J[k] * velocity_bar;
    J_bar[k] += v[dof] * velocity_bar + force * tau_bar[dof];
  }
}

// How far the tendon is stretched past its dead band (negative: slack side). The ends of the band belong to
// the outside: a file that names no springlength has a band without width, and its models start there, where
// the spring has one slope.
template <class S>
COSTATE_INLINE S tendon_stretch(const S* springlength, const S& length) {
  return select(length >= springlength[1], length - springlength[1],
                select(length <= springlength[0], length - springlength[0], S(0)));
}

struct TendonForces {
  template <class S>
  static void forces(const ForceInput<S>& in, Data<S>& d) {
    const Tree& tree = in.tree;
    const S *p = in.p, *v = in.x.v;
    S* tau = d.tau.data();
    for (std::size_t t = 0; t < tree.tendons.size(); ++t) {
      const TreeTendon& tendon = tree.tendons[t];
      S force(0);
      if (tree.springs)
        force -= p[tendon.p.stiffness] * tendon_stretch(p + tendon.p.springlength, d.tendon_length[t]);
      if (tree.dampers) force -= p[tendon.p.damping] * tendon_velocity<S>(tendon, d, v);
      add_tendon_force<S>(tendon, d, force, tau);
    }
  }

  template <class S>
  static void forces_vjp(const ForceInput<S>& in, const ForceBar<S>& bar, Data<S>& d) {
    const Tree& tree = in.tree;
    const S *p = in.p, *v = in.x.v, *tau_bar = bar.tau;
    const Wanted& wanted = bar.wanted;
    S *v_bar = bar.to.v, *p_bar = bar.to.p;
    for (std::size_t t = 0; t < tree.tendons.size(); ++t) {
      const TreeTendon& tendon = tree.tendons[t];
      const S force_bar = tendon_velocity<S>(tendon, d, tau_bar);
      const S velocity = tendon_velocity<S>(tendon, d, v), length = d.tendon_length[t];
      const S* rest = p + tendon.p.springlength;
      const S stretch = tendon_stretch(rest, length);
      S force(0), length_bar(0), velocity_bar(0);
      if (tree.springs) {
        const S k = p[tendon.p.stiffness];
        force -= k * stretch;
        const S pull = -(k * force_bar);
        const mask_t<S> high = length >= rest[1], low = length <= rest[0];
        length_bar = select(high | low, pull, S(0));
        if (wanted(tendon.p.stiffness)) p_bar[tendon.p.stiffness] -= stretch * force_bar;
        if (wanted(tendon.p.springlength)) {
          p_bar[tendon.p.springlength] -= select(high, S(0), select(low, pull, S(0)));
          p_bar[tendon.p.springlength + 1] -= select(high, pull, S(0));
        }
      }
      if (tree.dampers) {
        force -= p[tendon.p.damping] * velocity;
        velocity_bar = -(p[tendon.p.damping] * force_bar);
        if (wanted(tendon.p.damping)) p_bar[tendon.p.damping] -= velocity * force_bar;
      }
      tendon_vjp<S>(tree, t, v, force, tau_bar, length_bar, velocity_bar, v_bar, d);
    }
  }
};

}  // namespace costate::rigid

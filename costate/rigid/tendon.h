// Fixed tendons: length is a weighted sum of joint positions, l = sum_k c_k q_k, so dl/dq = c.
//
// A tendon is a spring with a dead band and a damper, f = -k (l - l0) outside [l0_low, l0_high] - b l', tau += c f; it may be
// pulled by an actuator, and limited (constraints). Tests: tests/rigid/parity_test.cpp, rigid_system_test.cpp.
#pragma once

#include "costate/rigid/data.h"
#include "costate/rigid/rnea_adjoint.h"

namespace costate::rigid {

template <class S>
void tendon_lengths(const Tree& tree, const S* p, const S* q, Data<S>& d) {
  for (std::size_t t = 0; t < tree.tendons.size(); ++t) {
    const TreeTendon& tendon = tree.tendons[t];
    S length(0);
    for (std::size_t k = 0; k < tendon.q.size(); ++k)
      length += p[tendon.p.coefficients + int(k)] * q[tendon.q[k]];
    d.tendon_length[t] = length;
  }
}

template <class S>
COSTATE_INLINE S tendon_velocity(const TreeTendon& tendon, const S* p, const S* v) {
  S velocity(0);
  for (std::size_t k = 0; k < tendon.dof.size(); ++k)
    velocity += p[tendon.p.coefficients + int(k)] * v[tendon.dof[k]];
  return velocity;
}

template <class S>
COSTATE_INLINE void add_tendon_force(const TreeTendon& tendon, const S* p, const S& force, S* tau) {
  for (std::size_t k = 0; k < tendon.dof.size(); ++k)
    tau[tendon.dof[k]] += p[tendon.p.coefficients + int(k)] * force;
}

// Cotangents through length, velocity and tau = c f: of q, v and the coefficients. Returns f_bar.
template <class S>
S tendon_vjp(const TreeTendon& tendon, const S* p, const S* q, const S* v, const S& force, const S* tau_bar,
             const S& length_bar, const S& velocity_bar, const Wanted& wanted, S* q_bar, S* v_bar, S* p_bar) {
  const bool want = wanted(tendon.p.coefficients);
  for (std::size_t k = 0; k < tendon.dof.size(); ++k) {
    const int dof = tendon.dof[k], at = tendon.p.coefficients + int(k);
    q_bar[dof] += p[at] * length_bar;
    v_bar[dof] += p[at] * velocity_bar;
    if (want) p_bar[at] += q[tendon.q[k]] * length_bar + v[dof] * velocity_bar + force * tau_bar[dof];
  }
  return tendon_velocity(tendon, p, tau_bar);
}

// How far the tendon is stretched past its dead band (negative: slack side).
template <class S>
COSTATE_INLINE S tendon_stretch(const S* springlength, const S& length) {
  return select(length > springlength[1], length - springlength[1],
                select(length < springlength[0], length - springlength[0], S(0)));
}

template <class S>
void tendon_forces(const Tree& tree, const S* p, const S* v, S* tau, const Data<S>& d) {
  for (std::size_t t = 0; t < tree.tendons.size(); ++t) {
    const TreeTendon& tendon = tree.tendons[t];
    S force(0);
    if (tree.springs)
      force -= p[tendon.p.stiffness] * tendon_stretch(p + tendon.p.springlength, d.tendon_length[t]);
    if (tree.dampers) force -= p[tendon.p.damping] * tendon_velocity(tendon, p, v);
    add_tendon_force(tendon, p, force, tau);
  }
}

template <class S>
void tendon_forces_vjp(const Tree& tree, const S* p, const S* q, const S* v, const S* tau_bar,
                       const Wanted& wanted, S* q_bar, S* v_bar, S* p_bar, const Data<S>& d) {
  for (std::size_t t = 0; t < tree.tendons.size(); ++t) {
    const TreeTendon& tendon = tree.tendons[t];
    const S force_bar = tendon_velocity(tendon, p, tau_bar);
    const S velocity = tendon_velocity(tendon, p, v), length = d.tendon_length[t];
    const S* rest = p + tendon.p.springlength;
    const S stretch = tendon_stretch(rest, length);
    S force(0), length_bar(0), velocity_bar(0);
    if (tree.springs) {
      const S k = p[tendon.p.stiffness];
      force -= k * stretch;
      const S pull = -(k * force_bar);
      const mask_t<S> high = length > rest[1], low = length < rest[0];
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
    tendon_vjp(tendon, p, q, v, force, tau_bar, length_bar, velocity_bar, wanted, q_bar, v_bar, p_bar);
  }
}

}  // namespace costate::rigid

// What a force term is given and what it adds to. A force is one file with
//
//   on_bodies(tree)          whether it puts wrenches on bodies
//   forces(in, d)            adds to d.applied (wrenches on bodies), d.tau_act or d.tau (forces on dofs)
//   forces_vjp(in, bar, d)   its transpose: adds to bar.to and, for bodies, to d.v_bar, d.w_bar, d.wrench
//
// and one line in forces.h.
#pragma once

#include "costate/rigid/dynamics/data.h"
#include "costate/rigid/dynamics/rnea_adjoint.h"

namespace costate::rigid {

template <class S>
struct StateIn {
  const S *q, *v, *act, *u, *applied;  // applied: forces on dofs, or null
};
template <class S>
struct StateBar {
  S *q, *v, *act, *u, *applied, *p;  // q in the tangent space; u, applied, p may be null
};

template <class S>
struct ForceInput {
  const Tree& tree;
  const S* p;
  const StateIn<S>& x;
};

template <class S>
struct ForceBar {
  const S*
      tau;  // cotangents of the forces on dofs; d.w holds minus the virtual velocities they give the bodies
  const S* act_dot;  // of the activations' rates
  const S* slope;    // of each actuator's d force / d velocity, which implicit integrators use
  const Wanted& wanted;
  const StateBar<S>& to;
};

}  // namespace costate::rigid

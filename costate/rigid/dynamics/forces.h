// The smooth forces of a model: a list of terms. Forces add up, and a transpose visits the terms in reverse.
//
//   BodyForces   wrenches on bodies, which the sweep of rnea_backward takes up the tree, and the actuators
//   DofForces    forces on dofs
//
// Contact and constraints are not here: their forces depend on the acceleration or on what touches
// (acceleration.h).
// Tests: tests/rigid/rigid_system_test.cpp, parity_test.cpp, tests/rigid/dynamics/.
#pragma once

#include "costate/rigid/dynamics/actuator_forces.h"
#include "costate/rigid/dynamics/applied_forces.h"
#include "costate/rigid/dynamics/fluid.h"
#include "costate/rigid/dynamics/gravity_compensation.h"
#include "costate/rigid/dynamics/passive.h"
#include "costate/rigid/dynamics/tendon.h"

namespace costate::rigid {

template <class... Terms>
struct ForceTerms {
  static bool on_bodies(const Tree&) { return false; }
  template <class S>
  static void forces(const ForceInput<S>&, Data<S>&) {}
  template <class S>
  static void forces_vjp(const ForceInput<S>&, const ForceBar<S>&, Data<S>&) {}
};
template <class First, class... Rest>
struct ForceTerms<First, Rest...> {
  // Whether some term puts wrenches on bodies.
  static bool on_bodies(const Tree& tree) {
    return First::on_bodies(tree) || ForceTerms<Rest...>::on_bodies(tree);
  }
  template <class S>
  static void forces(const ForceInput<S>& in, Data<S>& d) {
    First::forces(in, d);
    ForceTerms<Rest...>::forces(in, d);
  }
  template <class S>
  static void forces_vjp(const ForceInput<S>& in, const ForceBar<S>& bar, Data<S>& d) {
    ForceTerms<Rest...>::forces_vjp(in, bar, d);
    First::forces_vjp(in, bar, d);
  }
};

using BodyForces = ForceTerms<GravityCompensation, FluidForces, ActuatorForces>;
using DofForces = ForceTerms<AppliedForces, PassiveForces, TendonForces>;

}  // namespace costate::rigid

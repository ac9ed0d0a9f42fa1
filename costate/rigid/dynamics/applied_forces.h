// Forces on dofs that the controls give: tau += qfrc.  Tests: tests/rigid/rigid_system_test.cpp.
#pragma once

#include "costate/rigid/dynamics/force_term.h"

namespace costate::rigid {

struct AppliedForces {
  template <class S>
  static void forces(const ForceInput<S>& in, Data<S>& d) {
    if (!in.x.applied) return;
    for (std::size_t i = 0; i < d.tau.size(); ++i) d.tau[i] += in.x.applied[i];
  }
  template <class S>
  static void forces_vjp(const ForceInput<S>&, const ForceBar<S>& bar, Data<S>& d) {
    if (!bar.to.applied) return;
    for (std::size_t i = 0; i < d.tau.size(); ++i) bar.to.applied[i] += bar.tau[i];
  }
};

}  // namespace costate::rigid

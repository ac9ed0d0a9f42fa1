// Forward dynamics of one world, and the blocks of its Jacobian.
#pragma once

#include "costate/rigid/dynamics/forward_dynamics.h"
#include "tests/rigid/one_world.h"

namespace costate::rigid::test {

struct DifferentiatedWorld : OneWorld {
  explicit DifferentiatedWorld(const Model& model) : OneWorld(model), r(tree) {
    const auto n = static_cast<std::size_t>(tree.nv);
    for (auto* m : {&da_dq, &da_dv, &da_dtau}) m->resize(n * n);
  }
  void differentiate(const std::vector<double>& q, const std::vector<double>& v,
                     const std::vector<double>& tau) {
    forward_dynamics(tree, p.data(), q.data(), v.data(), tau.data(), d);
    forward_dynamics_derivatives(tree, p.data(), v.data(), d, r, da_dq.data(), da_dv.data(), da_dtau.data());
  }
  DerivativeData<double> r;
  std::vector<double> da_dq, da_dv, da_dtau;
};

}  // namespace costate::rigid::test

#pragma once

#include "costate/rigid/forward_dynamics.h"

namespace costate::rigid::test {

// A model with its parameters at their defaults, for one world without lanes.
struct OneWorld {
  explicit OneWorld(const Model& model)
      : tree(make_tree(model, add_parameters(model, signature))), d(tree), r(tree) {
    for (const Field& f : signature.fields(Role::parameter))
      p.insert(p.end(), f.defaults.begin(), f.defaults.end());
    p.resize(static_cast<std::size_t>(tree.p.prepared_size));
    prepare_units(tree.p, p.data());
    const auto n = static_cast<std::size_t>(tree.nv);
    for (auto* m : {&da_dq, &da_dv, &da_dtau}) m->resize(n * n);
  }
  void differentiate(const std::vector<double>& q, const std::vector<double>& v,
                     const std::vector<double>& tau) {
    forward_dynamics(tree, p.data(), q.data(), v.data(), tau.data(), d);
    forward_dynamics_derivatives(tree, p.data(), v.data(), d, r, da_dq.data(), da_dv.data(), da_dtau.data());
  }
  Signature signature;
  Tree tree;
  Data<double> d;
  DerivativeData<double> r;
  std::vector<double> p, da_dq, da_dv, da_dtau;
};

}  // namespace costate::rigid::test

// Forward dynamics of the bare tree, and all its derivatives: a = M(q)^-1 (tau - c(q, v)).
//
//   da/dtau = M^-1,      row i of da/dq and da/dv: the transpose of RNEA at lambda = -M^-1 e_i (rnea_adjoint.h)
//
// q in the tangent space: nv columns (for ball and free joints the rotation in body axes, free translations in world axes). These are the building blocks of a
// controller's linearisation; a rollout's gradient never forms them.
// Tests: tests/rigid/forward_dynamics_test.cpp (Dual, Pinocchio).
#pragma once

#include <algorithm>

#include "costate/rigid/crba.h"
#include "costate/rigid/rnea_adjoint.h"

namespace costate::rigid {

// d.qacc for given forces tau; leaves the factor of M in d.M and d.inverse_D. p: prepared parameters.
template <class S>
void forward_dynamics(const Tree& tree, const S* p, const S* q, const S* v, const S* tau, Data<S>& d) {
  kinematics(tree, p, q, d);
  body_inertias(tree, p, d);
  rnea(tree, p, v, static_cast<const S*>(nullptr), d.bias.data(), d);
  crba(tree, p, d);
  factor(tree.dofs, d.M.data(), d.inverse_D.data());
  for (std::size_t i = 0; i < d.qacc.size(); ++i) d.qacc[i] = tau[i] - d.bias[i];
  solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), d.qacc.data());
}

// nv x nv matrices, row by row, overwritten. After forward_dynamics at the same state.
template <class S>
void forward_dynamics_derivatives(const Tree& tree, const S* p, const S* q, const S* v, Data<S>& d, S* da_dq,
                                  S* da_dv, S* da_dtau) {
  const int n = tree.nv;
  rnea_forward<S>(tree, vec3_at(p + tree.p.gravity), v, d.qacc.data(), d);
  std::fill(da_dq, da_dq + n * n, S(0));
  std::fill(da_dv, da_dv + n * n, S(0));
  std::fill(da_dtau, da_dtau + n * n, S(0));
  Wanted nothing;
  nothing.frames = false;
  for (int i = 0; i < n; ++i) {
    S* row = da_dtau + i * n;
    row[i] = S(1);
    solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), row);
    for (int k = 0; k < n; ++k) d.minus_lambda[static_cast<std::size_t>(k)] = -row[k];
    virtual_velocities<S>(tree, d.minus_lambda.data(), d);
    rnea_vjp<S>(tree, p, q, v, d.qacc.data(), d.minus_lambda.data(), false, nothing,
                {da_dq + i * n, da_dv + i * n, nullptr, nullptr, nullptr}, d);
  }
}

}  // namespace costate::rigid

// The mass matrix by composite rigid bodies [1, ch. 6], and its branch-sparse factors M = L' D L [2].
//
//   I^c_i = sum of the inertias behind i;   M_ij = <S_j, I^c_i S_i> for j on the way from i to the world
//
// In world axes about one point F = I^c S_i serves all ancestors, six multiplications each. L has the pattern
// of M: factoring from the leaves to the root fills nothing in. D is kept as its inverse.
//
// [1] Featherstone: Rigid Body Dynamics Algorithms, 2008.
// [2] Featherstone: Efficient factorization of the joint-space inertia matrix for branched kinematic trees,
//     IJRR 24 (2005).
// No transpose: d(M a) is part of rnea_adjoint.h. Tests: tests/rigid/dynamics/forward_dynamics_test.cpp,
// parity_test.cpp.
#pragma once

#include "costate/rigid/dynamics/data.h"

namespace costate::rigid {

template <class S>
void crba(const Tree& tree, const S* p, S* M, Data<S>& d) {
  for (std::size_t i = 1; i < tree.bodies.size(); ++i) d.composite[i] = d.inertia[i];
  for (std::size_t i = tree.bodies.size() - 1; i > 0; --i) {
    const TreeBody& body = tree.bodies[i];
    if (body.parent > 0) d.composite[body.parent] += d.composite[i];
    for (int k = body.dof_begin; k < body.dof_end; ++k) {
      const TreeDof& dof = tree.dofs[k];
      const Force<S> F = d.composite[i] * d.axis[k];
      S* row = M + dof.row;
      row[0] = dot(d.axis[k], F) + p[tree.joints[dof.joint].p.armature];
      int ancestor = dof.parent;
      for (int t = 1; t < dof.depth; ++t) {
        row[t] = dot(d.axis[ancestor], F);
        ancestor = tree.dofs[ancestor].parent;
      }
    }
  }
}

template <class S>
void crba(const Tree& tree, const S* p, Data<S>& d) {
  crba(tree, p, d.M.data(), d);
}

// M -> L (below the diagonal) and 1/D. `dofs` says which rows and entries there are: the tree's, or those of
// a matrix with more of them (constraints.h).
template <class S>
void factor(const std::vector<TreeDof>& dofs, S* M, S* inverse_D) {
  for (int k = int(dofs.size()) - 1; k >= 0; --k) {
    const TreeDof& dof = dofs[k];
    S* row = M + dof.row;
    const S inverse = S(1) / row[0];
    inverse_D[k] = inverse;
    int ancestor = dof.parent;
    for (int t = 1; t < dof.depth; ++t) {
      const TreeDof& up = dofs[ancestor];
      S* target = M + up.row;
      const S scale = inverse * row[t];
      for (int s = 0; s < up.depth; ++s) target[s] -= scale * row[t + s];
      row[t] = scale;
      ancestor = up.parent;
    }
  }
}

// x <- (L' D L)^-1 x for the n dofs from `begin`, whose ancestors are all among them; x holds theirs.
template <class S>
void solve_factored_block(const std::vector<TreeDof>& dofs, int begin, int n, const S* L, const S* inverse_D,
                          S* x) {
  for (int k = n - 1; k >= 0; --k) {
    const TreeDof& dof = dofs[begin + k];
    int ancestor = dof.parent;
    const S value = x[k];
    for (int t = 1; t < dof.depth; ++t) {
      x[ancestor - begin] -= L[dof.row + t] * value;
      ancestor = dofs[ancestor].parent;
    }
    x[k] = inverse_D[begin + k] * value;
  }
  for (int k = 0; k < n; ++k) {
    const TreeDof& dof = dofs[begin + k];
    int ancestor = dof.parent;
    S value = x[k];
    for (int t = 1; t < dof.depth; ++t) {
      value -= L[dof.row + t] * x[ancestor - begin];
      ancestor = dofs[ancestor].parent;
    }
    x[k] = value;
  }
}
template <class S>
void solve_factored(const std::vector<TreeDof>& dofs, const S* L, const S* inverse_D, S* x) {
  solve_factored_block(dofs, 0, int(dofs.size()), L, inverse_D, x);
}

// y = M x, with M as crba leaves it.
template <class S>
void multiply_mass(const Tree& tree, const S* M, const S* x, S* y) {
  for (int k = 0; k < tree.nv; ++k) y[k] = M[tree.dofs[k].row] * x[k];
  for (int k = 0; k < tree.nv; ++k) {
    const TreeDof& dof = tree.dofs[k];
    int ancestor = dof.parent;
    for (int t = 1; t < dof.depth; ++t) {
      const S entry = M[dof.row + t];
      y[k] += entry * x[ancestor];
      y[ancestor] += entry * x[k];
      ancestor = tree.dofs[ancestor].parent;
    }
  }
}

}  // namespace costate::rigid

// The rows of a contact point: how fast its two sides move against each other, in the point's frame.
//
//   J v = (n, t1, t2) . (velocity of the second body at x - velocity of the first),
//       and with the same axes of rotations
//
// Transpose: contact_adjoint.h.
#pragma once

#include "costate/geometry/contact_point.h"
#include "costate/rigid/constraints/constraints.h"
#include "costate/rigid/contact/contact_law.h"
#include "costate/rigid/dynamics/kinematics.h"

namespace costate::rigid {

// J: rows x dofs of the group; vel = J v.
template <class S>
void contact_jacobian(const Tree& tree, const TouchingPair& pair, const ConstraintGroup& g,
                      const Vec3<S>& point, const Mat3<S>& frame, const S* p, const S* q, const S* v,
                      const Data<S>& d, S* J, S* vel) {
  const Vec3<S> x[2] = {point - root_origin(tree, p, q, tree.bodies[pair.first_body].root),
                        point - root_origin(tree, p, q, tree.bodies[pair.second_body].root)};
  const int n = int(g.dofs.size());
  for (int i = 0; i < g.rows; ++i) vel[i] = S(0);
  for (int k = 0; k < n; ++k) {
    const int dof = g.dofs[k], side = g.sides[k];
    const Motion<S>& axis = d.axis[dof];
    Vec3<S> w = axis.w, u = axis.v + cross(w, x[side > 0]);
    if (side < 0) {
      u = -u;
      w = -w;
    }
    for (int i = 0; i < g.rows; ++i) {
      const S value = i < 3 ? dot(frame.row(i), u) : dot(frame.row(i - 3), w);
      J[i * n + k] = value;
      vel[i] += value * v[dof];
    }
  }
}

}  // namespace costate::rigid

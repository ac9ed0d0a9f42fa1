// The limit of a ball joint: one row, pos = high - |phi|, J = -phi/|phi|, phi = log q; in play where pos <
// margin.
#pragma once

#include "costate/rigid/constraints/paths.h"
#include "costate/rigid/dynamics/passive.h"

namespace costate::rigid {

struct BallLimit : ConstraintKind {
  static WeightSource weight(const Tree& tree, const ConstraintGroup& g, int) {
    return {JointPath::weight(tree, g.index), kAbsent};
  }
  template <class S>
  static GroupGeometry<S> rows(const GroupInput<S>& in, const Data<S>&, S* J) {
    const TreeJoint& joint = in.tree.joints[in.index()];
    GroupGeometry<S> out;
    S inverse;
    const Vec3<S> phi = log_map(unit_quat(in.q + joint.q, inverse)), axis = normalized(phi);
    out.r[0] = in.p[joint.p.range + 1] - norm(phi) - in.p[joint.p.margin];
    for (int k = 0; k < 3; ++k) J[k] = -axis[k];
    return out;
  }
  // d|phi| = <axis, dtheta>, dphi = J^-1 dtheta
  template <class S>
  static void rows_vjp(const GroupInput<S>& in, const GroupBar<S>& bar, Data<S>&) {
    const TreeJoint& joint = in.tree.joints[in.index()];
    if (bar.wanted(joint.p.range)) bar.to.p[joint.p.range + 1] += bar.r[0];
    if (bar.wanted(joint.p.margin)) bar.to.p[joint.p.margin] -= bar.r[0];
    S inverse;
    const Vec3<S> phi = log_map(unit_quat(in.q + joint.q, inverse)), axis = normalized(phi),
                  axis_bar = -vec3_at(bar.J);
    const S angle = norm(phi);
    const mask_t<S> zero = angle == S(0);
    const S per_angle = select(zero, S(0), S(1) / select(zero, S(1), angle));
    const Vec3<S> phi_bar = per_angle * (axis_bar - dot(axis_bar, axis) * axis) - bar.r[0] * axis;
    add_to(bar.to.q + joint.dof, log_jacobian_transpose(phi, phi_bar));
  }
};

}  // namespace costate::rigid

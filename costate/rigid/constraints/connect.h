// Two points of two bodies held together:  pos = x1 - x2 in the world, three rows, softness by |pos|.
//
// The bodies may be in different trees. A dof that moves both moves neither against the other at one point,
// but their points differ while the constraint is violated, so both sides are kept.
//
// Accelerations of the points under the constrained a, and their transpose (acc_bar, per row): L = <acc_bar,
// acceleration>, so cotangents of a and v of the bodies go to d.a_bar and d.v_bar. These count as carried
// along there (rnea_adjoint.h) while the rows' directions are not: the wrench m x* m_bar takes that back.
#pragma once

#include "costate/rigid/constraints/constraint_kind.h"
#include "costate/rigid/dynamics/kinematics.h"

namespace costate::rigid {

// Where a group's bodies are: points about their trees' origins and the distance between them in the world.
template <class S>
struct PointPair {
  Vec3<S> first, second, gap;
};
// a1, a2: parameters of the anchors on the first and the second body.
template <class S>
PointPair<S> connected_points(const GroupInput<S>& in, int a1, int a2, const Data<S>& d) {
  const Tree& tree = in.tree;
  const std::size_t one = in.g.first, two = in.g.second;
  const Vec3<S> x1 = d.x[one] + d.R[one] * vec3_at(in.p + a1), x2 = d.x[two] + d.R[two] * vec3_at(in.p + a2);
  const Vec3<S> o1 = root_origin(tree, in.p, in.q, tree.bodies[one].root),
                o2 = root_origin(tree, in.p, in.q, tree.bodies[two].root);
  return {x1, x2, (o1 - o2) + (x1 - x2)};
}

// Velocity of the first point against the second per unit rate of a dof.
template <class S>
COSTATE_INLINE Vec3<S> relative_velocity(const Motion<S>& axis, const Vec3<S>& x, const Vec3<S>& y,
                                         int side) {
  if (side > 0) return axis.v + cross(axis.w, x);
  if (side < 0) return -(axis.v + cross(axis.w, y));
  return cross(axis.w, x - y);
}

// Acceleration of the point x of a body, gravity left out; needs rnea_forward.
template <class S>
COSTATE_INLINE Vec3<S> point_acceleration(const Motion<S>& v, const Motion<S>& a, const Vec3<S>& gravity,
                                          const Vec3<S>& x) {
  return a.v + gravity + cross(a.w, x) + cross(v.w, v.v + cross(v.w, x));
}

// Three rows of the points, of a connect or a weld.
template <class S>
COSTATE_INLINE void point_rows(const GroupInput<S>& in, const PointPair<S>& x, const Data<S>& d, S* r, S* J) {
  const int n = in.dofs();
  for (int i = 0; i < 3; ++i) r[i] = x.gap[i];
  for (int k = 0; k < n; ++k) {
    const Vec3<S> u = relative_velocity(d.axis[in.g.dofs[k]], x.first, x.second, in.g.sides[k]);
    for (int i = 0; i < 3; ++i) J[i * n + k] = u[i];
  }
}
// The norm of all rows, where it has a slope.
template <class S>
COSTATE_INLINE void share_violation(const S& square, GroupGeometry<S>& out) {
  const mask_t<S> zero = square == S(0);
  out.e = select(zero, S(0), sqrt(select(zero, S(1), square)));
  out.shared_e = true;
}

template <class S>
COSTATE_INLINE void point_bias(const GroupInput<S>& in, const PointPair<S>& x, const Data<S>& d, S* bias) {
  const std::size_t one = in.g.first, two = in.g.second;
  const Vec3<S> gravity = vec3_at(in.p + in.tree.p.gravity);
  const Vec3<S> u = point_acceleration(d.v[one], d.a[one], gravity, x.first) -
                    point_acceleration(d.v[two], d.a[two], gravity, x.second);
  for (int i = 0; i < 3; ++i) bias[i] = u[i];
}

// Cotangents of a body's acceleration and velocity that rows hand on.
template <class S>
COSTATE_INLINE void add_motion_cotangents(std::size_t body, const Force<S>& a_bar, const Force<S>& v_bar,
                                          Data<S>& d) {
  d.a_bar[body] += a_bar;
  d.v_bar[body] += v_bar;
  d.wrench[body] += cross(d.a[body], a_bar) + cross(d.v[body], v_bar);
}

// The transpose of the acceleration of a body's point x, given its cotangent f.
template <class S>
COSTATE_INLINE void point_acceleration_vjp(const GroupInput<S>& in, std::size_t body, const Vec3<S>& x,
                                           const Vec3<S>& f, const GroupBar<S>& bar, Vec3<S>& x_bar,
                                           Data<S>& d) {
  const Motion<S>&v = d.v[body], &a = d.a[body];
  const Vec3<S> u = v.v + cross(v.w, x), u_bar = cross(f, v.w);
  x_bar += cross(f, a.w) + cross(u_bar, v.w);
  if (body == 0) return;
  add_motion_cotangents<S>(body, {cross(x, f), f}, {cross(u, f) + cross(x, u_bar), u_bar}, d);
  if (bar.wanted(in.tree.p.gravity)) add_to(bar.to.p + in.tree.p.gravity, f);
}

// The transpose of positions, Jacobian and accelerations of the points.
template <class S>
void point_rows_vjp(const GroupInput<S>& in, int a1, int a2, const GroupBar<S>& bar, Data<S>& d) {
  const int n = in.dofs();
  const std::size_t one = in.g.first, two = in.g.second;
  const PointPair<S> x = connected_points<S>(in, a1, a2, d);
  const Vec3<S> gap_bar = vec3_at(bar.r);
  Vec3<S> first_bar = gap_bar, second_bar = -gap_bar;
  for (int k = 0; k < n; ++k) {
    const std::size_t dof = in.g.dofs[k];
    const int side = in.g.sides[k];
    const Vec3<S> u_bar{bar.J[k], bar.J[n + k], bar.J[2 * n + k]};
    const Motion<S>& axis = d.axis[dof];
    const Vec3<S> turned = cross(u_bar, axis.w);
    if (side >= 0) first_bar += turned;
    if (side <= 0) second_bar -= turned;
    if (side > 0)
      d.axis_bar[dof] += {cross(x.first, u_bar), u_bar};
    else if (side < 0)
      d.axis_bar[dof] -= {cross(x.second, u_bar), u_bar};
    else
      d.axis_bar[dof].n += cross(x.first - x.second, u_bar);
  }
  point_acceleration_vjp(in, one, x.first, vec3_at(bar.acc), bar, first_bar, d);
  point_acceleration_vjp(in, two, x.second, -vec3_at(bar.acc), bar, second_bar, d);
  d.wrench[one] += {cross(x.first, first_bar), first_bar};
  d.wrench[two] += {cross(x.second, second_bar), second_bar};
  if (bar.wanted(a1)) add_to(bar.to.p + a1, transpose_times(d.R[one], first_bar));
  if (bar.wanted(a2)) add_to(bar.to.p + a2, transpose_times(d.R[two], second_bar));
}

struct HoldsBodies : ConstraintKind {
  static constexpr bool kHoldsBodies = true;
  // Inverse weights of bodies: of translations in the first three rows, of rotations in the others.
  static WeightSource weight(const Tree& tree, const ConstraintGroup& g, int row) {
    const auto of_body = [&](int b) {
      const int at = tree.bodies[b].p.invweight;
      return at < 0 ? kAbsent : at + (row < 3 ? 0 : 1);
    };
    return {of_body(g.first), of_body(g.second)};
  }
};

struct Connect : HoldsBodies {
  template <class S>
  static PointPair<S> points(const GroupInput<S>& in, const Data<S>& d) {
    const EqualityParameters& at = in.tree.p.equalities[in.index()];
    return connected_points(in, at.anchor, at.other_anchor, d);
  }
  template <class S>
  static GroupGeometry<S> rows(const GroupInput<S>& in, const Data<S>& d, S* J) {
    GroupGeometry<S> out;
    const PointPair<S> x = points(in, d);
    point_rows(in, x, d, out.r, J);
    share_violation<S>(dot(x.gap, x.gap), out);
    return out;
  }
  template <class S>
  static void bias(const GroupInput<S>& in, const Data<S>& d, S* bias) {
    point_bias(in, points(in, d), d, bias);
  }
  template <class S>
  static void rows_vjp(const GroupInput<S>& in, const GroupBar<S>& bar, Data<S>& d) {
    const EqualityParameters& at = in.tree.p.equalities[in.index()];
    point_rows_vjp(in, at.anchor, at.other_anchor, bar, d);
  }
};

}  // namespace costate::rigid

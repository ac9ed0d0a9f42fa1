// Two bodies held together: the three rows of connect.h, and three of the rotation t vec(l r), l = conj(q2),
// r = q1 rel, t torquescale. Softness by the norm of all six.
//
//   rate          (t/2) vec(l (0, w) r),                          w = w1 - w2
//   second rate   (t/2) vec(l (0, alpha) r) + (t/4) vec(l P r),
//                 P = (-|w1 - w2|^2, 2 w1 x w2),   alpha = alpha1 - alpha2
//
// A connect has its anchors in the order of its bodies, a weld the other way round.
#pragma once

#include "costate/rigid/constraints/connect.h"

namespace costate::rigid {

template <class S>
COSTATE_INLINE Quat<S> pure(const Vec3<S>& v) {
  return {S(0), v.x, v.y, v.z};
}

template <class S>
struct WeldRotation {
  Quat<S> left, right;  // conj(q2), q1 rel
  S scale;              // torquescale
  Vec3<S> value() const { return scale * (left * right).vec(); }
  Vec3<S> rate(const Vec3<S>& w) const {
    return (S(value_t<S>(0.5)) * scale) * (left * pure(w) * right).vec();
  }
};
template <class S>
WeldRotation<S> weld_rotation(const GroupInput<S>& in, const Data<S>& d) {
  const EqualityParameters& at = in.tree.p.equalities[in.index()];
  return {conjugate(d.quat[in.g.second]), d.quat[in.g.first] * quat_at(in.p + at.quat), in.p[at.torquescale]};
}

// P
template <class S>
COSTATE_INLINE Quat<S> weld_curvature(const Vec3<S>& w1, const Vec3<S>& w2) {
  const Vec3<S> d = w1 - w2, c = S(2) * cross(w1, w2);
  return {-dot(d, d), c.x, c.y, c.z};
}

// Cotangents that the stages of the rotation add up: turns of the two bodies, r where its last factor rel
// moves, t.
template <class S>
struct WeldRotationVjp {
  const GroupInput<S>& in;
  const GroupBar<S>& bar;
  Data<S>& d;
  WeldRotation<S> rotation;
  Vec3<S> turn_one = Vec3<S>::zero(), turn_two = Vec3<S>::zero();
  Quat<S> r_bar{S(0), S(0), S(0), S(0)};
  S scale_bar = S(0);
  S half = S(value_t<S>(0.5));

  // conj(l) (0, b) conj(r)
  COSTATE_INLINE Quat<S> pull(const Vec3<S>& b) const {
    return conjugate(rotation.left) * pure(b) * conjugate(rotation.right);
  }
  COSTATE_INLINE void add_to_r(const Quat<S>& from) {
    r_bar = {r_bar.w + from.w, r_bar.x + from.x, r_bar.y + from.y, r_bar.z + from.z};
  }

  // t vec(l r)
  COSTATE_INLINE void value_vjp() {
    scale_bar = dot(vec3_at(bar.r + 3), (rotation.left * rotation.right).vec());
    const Vec3<S> b = rotation.scale * vec3_at(bar.r + 3);
    const Vec3<S> z = half * pull(b).vec();
    turn_one += z;
    turn_two -= z;
    add_to_r(conjugate(rotation.left) * pure(b));
  }

  // (t/2) vec(l (0, w) r) of each dof
  COSTATE_INLINE void rates_vjp() {
    const Quat<S> l = rotation.left, r = rotation.right;
    const int n = in.dofs();
    for (int k = 0; k < n; ++k) {
      const int side = in.g.sides[k];
      if (side == 0) continue;
      const std::size_t dof = in.g.dofs[k];
      const S sign(value_t<S>(side) * value_t<S>(0.5));
      const Vec3<S> raw = sign * Vec3<S>{bar.J[3 * n + k], bar.J[4 * n + k], bar.J[5 * n + k]};
      const Vec3<S> b = rotation.scale * raw, w = d.axis[dof].w;
      const Quat<S> z = pull(b), W = pure(w);
      scale_bar += dot(raw, (l * W * r).vec());
      d.axis_bar[dof].n += z.vec();
      turn_one += half * (cross(z.vec(), w) - z.w * w);
      turn_two -= half * (cross(w, z.vec()) - z.w * w);
      add_to_r(conjugate(l * W) * pure(b));
    }
  }

  // <weight, vec(l Q r)>
  COSTATE_INLINE Quat<S> product_vjp(const Vec3<S>& weight, const Quat<S>& Q) {
    const Quat<S> z = pull(weight);
    const Vec3<S> common = Q.w * z.vec() - z.w * Q.vec();
    turn_one += half * (common + cross(z.vec(), Q.vec()));
    turn_two -= half * (common + cross(Q.vec(), z.vec()));
    add_to_r(conjugate(rotation.left * Q) * pure(weight));
    return z;
  }

  // (t/2) vec(l (0, alpha) r) + (t/4) vec(l P r)
  COSTATE_INLINE void accelerations_vjp() {
    const Quat<S> l = rotation.left, r = rotation.right;
    const std::size_t one = in.g.first, two = in.g.second;
    const Vec3<S> b = vec3_at(bar.acc + 3), w1 = d.v[one].w, w2 = d.v[two].w, alpha = d.a[one].w - d.a[two].w,
                  dw = w1 - w2;
    const Quat<S> A = pure(alpha), P = weld_curvature(w1, w2);
    const Vec3<S> half_b = half * b, quarter_b = half * half_b;
    scale_bar += dot(half_b, (l * A * r).vec()) + dot(quarter_b, (l * P * r).vec());
    const Vec3<S> alpha_bar = product_vjp(rotation.scale * half_b, A).vec();
    const Quat<S> z = product_vjp(rotation.scale * quarter_b, P);
    const S twice(2);
    const Vec3<S> w1_bar = twice * (cross(w2, z.vec()) - z.w * dw),
                  w2_bar = twice * (z.w * dw + cross(z.vec(), w1));
    const Vec3<S> none = Vec3<S>::zero();
    if (one != 0) add_motion_cotangents<S>(one, {alpha_bar, none}, {w1_bar, none}, d);
    if (two != 0) add_motion_cotangents<S>(two, {-alpha_bar, none}, {w2_bar, none}, d);
  }

  COSTATE_INLINE void store() {
    const EqualityParameters& at = in.tree.p.equalities[in.index()];
    d.wrench[in.g.first].n += turn_one;
    d.wrench[in.g.second].n += turn_two;
    if (bar.wanted(at.torquescale)) bar.to.p[at.torquescale] += scale_bar;
    if (bar.wanted(at.quat)) {
      const Vec3<S> theta_bar = half * (conjugate(rotation.right) * r_bar).vec();
      add_to(bar.to.p + at.quat,
             quat_cotangent(quat_at(in.p + at.quat), in.p[at.inverse_quat_norm], theta_bar));
    }
  }
};

struct Weld : HoldsBodies {
  template <class S>
  static PointPair<S> points(const GroupInput<S>& in, const Data<S>& d) {
    const EqualityParameters& at = in.tree.p.equalities[in.index()];
    return connected_points(in, at.other_anchor, at.anchor, d);
  }
  template <class S>
  static GroupGeometry<S> rows(const GroupInput<S>& in, const Data<S>& d, S* J) {
    GroupGeometry<S> out;
    const int n = in.dofs();
    const PointPair<S> x = points(in, d);
    point_rows(in, x, d, out.r, J);
    const WeldRotation<S> rotation = weld_rotation(in, d);
    const Vec3<S> value = rotation.value();
    for (int i = 0; i < 3; ++i) out.r[3 + i] = value[i];
    for (int k = 0; k < n; ++k) {
      const Vec3<S> w = S(value_t<S>(in.g.sides[k])) * rotation.rate(d.axis[in.g.dofs[k]].w);
      for (int i = 0; i < 3; ++i) J[(3 + i) * n + k] = w[i];
    }
    share_violation<S>(dot(x.gap, x.gap) + dot(value, value), out);
    return out;
  }
  template <class S>
  static void bias(const GroupInput<S>& in, const Data<S>& d, S* bias) {
    point_bias(in, points(in, d), d, bias);
    const std::size_t one = in.g.first, two = in.g.second;
    const WeldRotation<S> rotation = weld_rotation(in, d);
    const Vec3<S> turn = rotation.rate(d.a[one].w - d.a[two].w) +
                         (S(value_t<S>(0.25)) * rotation.scale) *
                             (rotation.left * weld_curvature(d.v[one].w, d.v[two].w) * rotation.right).vec();
    for (int i = 0; i < 3; ++i) bias[3 + i] = turn[i];
  }
  template <class S>
  static void rows_vjp(const GroupInput<S>& in, const GroupBar<S>& bar, Data<S>& d) {
    const EqualityParameters& at = in.tree.p.equalities[in.index()];
    point_rows_vjp(in, at.other_anchor, at.anchor, bar, d);
    WeldRotationVjp<S> rotation{in, bar, d, weld_rotation<S>(in, d)};
    rotation.value_vjp();
    rotation.rates_vjp();
    rotation.accelerations_vjp();
    rotation.store();
  }
};

}  // namespace costate::rigid

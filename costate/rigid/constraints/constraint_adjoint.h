// The transpose of the constraints: cotangents of state and parameters through rows and forces.
//
// At the solution M a = tau + J' f(y), y = J a - aref, so with lambda the cotangent of what J' f adds to (constraint_vjp's caller solves
// for it: nu) and m = J nu:
//
//   aref_bar = S m,     D_bar = -y m (quadratic zone),     loss_bar = +-m (slipping),     J_bar = f nu' - (S m) a'
//
// (contacts: contact_adjoint.h; connect and weld: J a - aref holds the bodies' true acceleration, whose cotangent -S m goes to rnea_vjp as such, and J_bar = f nu')
// then the transposes of aref and D (impedance.h) and of positions and Jacobians (constraint_rows.h). Where a Jacobian is made of the
// motions S of joints and of points of bodies, it hands cotangents of these on to rnea_vjp: d.axis_bar and d.wrench.
// Tests: tests/rigid/constraints/constraints_test.cpp.
#pragma once

#include "costate/rigid/constraints/constraint_solver.h"
#include "costate/rigid/contact/contact_adjoint.h"

namespace costate::rigid {

// Cotangents of a joint's or a tendon's length and Jacobian (J_bar, over the group's dofs).
template <class S>
void path_vjp(const Tree& tree, const ConstraintGroup& g, bool joint, int i, const S& scale,
              const S& length_bar, const S* J_bar, const ConstraintBar<S>& bar, Data<S>& d, S& scale_bar) {
  const auto place = [&](int dof) {
    return std::lower_bound(g.dofs.begin(), g.dofs.end(), dof) - g.dofs.begin();
  };
  if (joint) {
    const int dof = tree.joints[static_cast<std::size_t>(i)].dof;
    bar.q[dof] += length_bar;
    scale_bar += J_bar[place(dof)];
    return;
  }
  const TreeTendon& t = tree.tendons[static_cast<std::size_t>(i)];
  d.tendon_length_bar[static_cast<std::size_t>(i)] += length_bar;
  for (std::size_t k = 0; k < t.dof.size(); ++k) {
    const std::size_t at = static_cast<std::size_t>(t.jacobian) + k;
    const S entry_bar = J_bar[place(t.dof[k])];
    scale_bar += d.tendon_J[at] * entry_bar;
    d.tendon_J_bar[at] += scale * entry_bar;
  }
}

// Two points of bodies, and their orientations: J_bar over rows and dofs, r_bar of the rows' positions.
//
// Their accelerations with the constrained a (acc_bar, per row): L = <acc_bar, acceleration>, so cotangents of a and v of the
// bodies go to d.a_bar and d.v_bar. These count as carried along there (rnea_adjoint.h) while the rows' directions are not:
// the wrench m x* m_bar takes that back.
template <class S>
void bodies_vjp(const Tree& tree, const ConstraintGroup& g, const S* p, const S* q, const S* r_bar,
                const S* J_bar, const S* acc_bar, const Wanted& wanted, const ConstraintBar<S>& bar,
                Data<S>& d) {
  const bool weld = g.kind == GroupKind::weld;
  const EqualityParameters& at = tree.p.equalities[static_cast<std::size_t>(g.index)];
  const int n = int(g.dofs.size());
  const auto one = static_cast<std::size_t>(g.first), two = static_cast<std::size_t>(g.second);
  const PointPair<S> x = connected_points(tree, g, p, q, d);
  const Vec3<S> gap_bar = vec3_at(r_bar);
  Vec3<S> first_bar = gap_bar, second_bar = -gap_bar;
  for (int k = 0; k < n; ++k) {
    const auto dof = static_cast<std::size_t>(g.dofs[static_cast<std::size_t>(k)]);
    const int side = g.sides[static_cast<std::size_t>(k)];
    const Vec3<S> u_bar{J_bar[k], J_bar[n + k], J_bar[2 * n + k]};
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
  const auto inject = [&](std::size_t body, const Force<S>& a_bar, const Force<S>& v_bar) {
    d.a_bar[body] += a_bar;
    d.v_bar[body] += v_bar;
    d.wrench[body] += cross(d.a[body], a_bar) + cross(d.v[body], v_bar);
  };
  const auto accelerate = [&](std::size_t body, const Vec3<S>& at_x, const Vec3<S>& f, Vec3<S>& x_bar) {
    const Motion<S>&v = d.v[body], &a = d.a[body];
    const Vec3<S> u = v.v + cross(v.w, at_x), u_bar = cross(f, v.w);
    x_bar += cross(f, a.w) + cross(u_bar, v.w);
    if (body == 0) return;
    inject(body, {cross(at_x, f), f}, {cross(u, f) + cross(at_x, u_bar), u_bar});
    if (wanted(tree.p.gravity)) add_to(bar.p + tree.p.gravity, f);
  };
  accelerate(one, x.first, vec3_at(acc_bar), first_bar);
  accelerate(two, x.second, -vec3_at(acc_bar), second_bar);
  d.wrench[one] += {cross(x.first, first_bar), first_bar};
  d.wrench[two] += {cross(x.second, second_bar), second_bar};
  const int anchor_one = weld ? at.other_anchor : at.anchor, anchor_two = weld ? at.anchor : at.other_anchor;
  if (wanted(anchor_one)) add_to(bar.p + anchor_one, transpose_times(d.R[one], first_bar));
  if (wanted(anchor_two)) add_to(bar.p + anchor_two, transpose_times(d.R[two], second_bar));
  if (!weld) return;

  // Rotation t vec(l r), l = conj(q2), r = q1 rel; its rate (t/2) vec(l (0, w) r).
  const WeldRotation<S> rotation = weld_rotation(tree, g, p, d);
  const Quat<S> l = rotation.left, r = rotation.right;
  const S half(value_t<S>(0.5)), scale = rotation.scale;
  Vec3<S> turn_one = Vec3<S>::zero(), turn_two = Vec3<S>::zero();
  Quat<S> r_quat_bar{S(0), S(0), S(0), S(0)};  // of r, where its last factor rel moves
  S scale_bar = dot(vec3_at(r_bar + 3), (l * r).vec());
  const auto pull = [&](const Vec3<S>& b) {  // conj(l) (0, b) conj(r)
    return conjugate(l) * Quat<S>{S(0), b.x, b.y, b.z} * conjugate(r);
  };
  const auto add = [](Quat<S>& to, const S& s, const Quat<S>& from) {
    to = {to.w + s * from.w, to.x + s * from.x, to.y + s * from.y, to.z + s * from.z};
  };
  {
    const Vec3<S> b = scale * vec3_at(r_bar + 3);
    const Vec3<S> z = half * pull(b).vec();
    turn_one += z;
    turn_two -= z;
    add(r_quat_bar, S(1), conjugate(l) * Quat<S>{S(0), b.x, b.y, b.z});
  }
  for (int k = 0; k < n; ++k) {
    const int side = g.sides[static_cast<std::size_t>(k)];
    if (side == 0) continue;
    const auto dof = static_cast<std::size_t>(g.dofs[static_cast<std::size_t>(k)]);
    const S sign(value_t<S>(side) * value_t<S>(0.5));
    const Vec3<S> raw = sign * Vec3<S>{J_bar[3 * n + k], J_bar[4 * n + k], J_bar[5 * n + k]};
    const Vec3<S> b = scale * raw, w = d.axis[dof].w;
    const Quat<S> z = pull(b), W{S(0), w.x, w.y, w.z};
    scale_bar += dot(raw, (l * W * r).vec());
    d.axis_bar[dof].n += z.vec();
    turn_one += half * (cross(z.vec(), w) - z.w * w);
    turn_two -= half * (cross(w, z.vec()) - z.w * w);
    add(r_quat_bar, S(1), conjugate(l * W) * Quat<S>{S(0), b.x, b.y, b.z});
  }
  {  // (t/2) vec(l (0, alpha) r) + (t/4) vec(l P r)
    const Vec3<S> b = vec3_at(acc_bar + 3), w1 = d.v[one].w, w2 = d.v[two].w, alpha = d.a[one].w - d.a[two].w,
                  dw = w1 - w2;
    const Quat<S> A{S(0), alpha.x, alpha.y, alpha.z}, P = weld_curvature(w1, w2);
    const Vec3<S> half_b = half * b, quarter_b = half * half_b;
    scale_bar += dot(half_b, (l * A * r).vec()) + dot(quarter_b, (l * P * r).vec());
    const auto through = [&](const Vec3<S>& weight, const Quat<S>& Q) {  // <weight, vec(l Q r)>
      const Quat<S> z = pull(weight);
      const Vec3<S> common = Q.w * z.vec() - z.w * Q.vec();
      turn_one += half * (common + cross(z.vec(), Q.vec()));
      turn_two -= half * (common + cross(Q.vec(), z.vec()));
      add(r_quat_bar, S(1), conjugate(l * Q) * Quat<S>{S(0), weight.x, weight.y, weight.z});
      return z;
    };
    const Vec3<S> alpha_bar = through(scale * half_b, A).vec();
    const Quat<S> z = through(scale * quarter_b, P);
    const S two_s(2);
    const Vec3<S> w1_bar = two_s * (cross(w2, z.vec()) - z.w * dw),
                  w2_bar = two_s * (z.w * dw + cross(z.vec(), w1));
    const Vec3<S> none = Vec3<S>::zero();
    if (one != 0) inject(one, {alpha_bar, none}, {w1_bar, none});
    if (two != 0) inject(two, {-alpha_bar, none}, {w2_bar, none});
  }
  d.wrench[one].n += turn_one;
  d.wrench[two].n += turn_two;
  if (wanted(at.torquescale)) bar.p[at.torquescale] += scale_bar;
  if (wanted(at.quat)) {
    const Vec3<S> theta_bar = half * (conjugate(r) * r_quat_bar).vec();
    add_to(bar.p + at.quat, quat_cotangent(quat_at(p + at.quat), p[at.inverse_quat_norm], theta_bar));
  }
}

// Cotangents of a group's positions r and Jacobian.
template <class S>
void group_geometry_vjp(const Tree& tree, const ConstraintGroup& g, const S* p, const S* q, const S* r_bar,
                        const S* J_bar, const S* acc_bar, const Wanted& wanted, const ConstraintBar<S>& bar,
                        Data<S>& d) {
  const auto index = static_cast<std::size_t>(g.index);
  const int n = int(g.dofs.size());
  const auto limit = [&](int range, int margin) {  // pos = x - low, high - x; r = pos - margin
    if (wanted(range)) {
      bar.p[range] -= r_bar[0];
      bar.p[range + 1] += r_bar[1];
    }
    if (wanted(margin)) bar.p[margin] -= r_bar[0] + r_bar[1];
    return r_bar[0] - r_bar[1];
  };
  S unused(0);
  switch (g.kind) {
    case GroupKind::joint_limit: {
      const TreeJoint& joint = tree.joints[index];
      bar.q[joint.dof] += limit(joint.p.range, joint.p.margin);
      break;
    }
    case GroupKind::ball_limit: {
      const TreeJoint& joint = tree.joints[index];
      if (wanted(joint.p.range)) bar.p[joint.p.range + 1] += r_bar[0];
      if (wanted(joint.p.margin)) bar.p[joint.p.margin] -= r_bar[0];
      // pos = high - |phi|, J = -phi/|phi|; d|phi| = <axis, dtheta>, dphi = J^-1 dtheta
      S inverse;
      const Vec3<S> phi = log_map(unit_quat(q + joint.q, inverse)), axis = normalized(phi),
                    axis_bar = -vec3_at(J_bar);
      const S angle = norm(phi);
      const mask_t<S> zero = angle == S(0);
      const S per_angle = select(zero, S(0), S(1) / select(zero, S(1), angle));
      const Vec3<S> phi_bar = per_angle * (axis_bar - dot(axis_bar, axis) * axis) - r_bar[0] * axis;
      add_to(bar.q + joint.dof, log_jacobian_transpose(phi, phi_bar));
      break;
    }
    case GroupKind::tendon_limit: {
      const TreeTendon& tendon = tree.tendons[index];
      const S length_bar = limit(tendon.p.range, tendon.p.margin);
      path_vjp<S>(tree, g, false, g.index, S(1), length_bar, J_bar, bar, d, unused);
      path_vjp<S>(tree, g, false, g.index, S(-1), S(0), J_bar + n, bar, d, unused);
      break;
    }
    case GroupKind::dof_friction:
      break;
    case GroupKind::tendon_friction:
      path_vjp<S>(tree, g, false, g.index, S(1), S(0), J_bar, bar, d, unused);
      break;
    case GroupKind::joint_equality:
    case GroupKind::tendon_equality: {
      const bool joints = g.kind == GroupKind::joint_equality;
      const int at = tree.p.equalities[index].polycoef;
      const S* c = p + at;
      const S x = equality_sides(tree, g, q, d).second, slope = polynomial_slope(c, x);
      path_vjp<S>(tree, g, joints, g.first, S(1), r_bar[0], J_bar, bar, d, unused);
      S scale_bar(0);
      if (g.second >= 0) {
        // J2 = -P'(x) path: first what its scale receives, then the length through position and slope.
        path_vjp<S>(tree, g, joints, g.second, -slope, S(0), J_bar, bar, d, scale_bar);
        const S length_bar = -(slope * r_bar[0]) - polynomial_curvature(c, x) * scale_bar;
        path_vjp<S>(tree, g, joints, g.second, S(0), length_bar, d.zeros.data(), bar, d, unused);
      }
      if (wanted(at)) {
        S power(1), before(0);  // x^k and k x^(k-1)
        for (int k = 0; k < 5; ++k) {
          bar.p[at + k] -= power * r_bar[0] + before * scale_bar;
          before = S(value_t<S>(k + 1)) * power;
          power *= x;
        }
      }
      break;
    }
    case GroupKind::connect:
    case GroupKind::weld:
      bodies_vjp(tree, g, p, q, r_bar, J_bar, acc_bar, wanted, bar, d);
      break;
    case GroupKind::contact:
      break;
  }
}

// Given nu, the rows evaluated at a (c.y, c.force, c.slope) and rnea_forward with a. Adds to d.axis_bar, d.wrench, d.a_bar, d.v_bar too.
template <class S>
void constraint_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const S* a,
                    const Wanted& wanted, const ConstraintBar<S>& bar, Data<S>& d, ConstraintData<S>& c) {
  const S dt = p[tree.p.whole_dt];
  const S* nu = c.nu.data();
  multiply_rows(cons, c, nu, c.Jd.data());
  S dt_bar(0);
  for (const int index : c.active) {
    const ConstraintGroup& g = cons.groups[static_cast<std::size_t>(index)];
    if (g.kind == GroupKind::contact) continue;
    const int n = int(g.dofs.size());
    S* J = c.J.data() + g.jacobian;
    const GroupGeometry<S> geometry = group_geometry(tree, g, p, q, d, J);
    S r_bar[6], acc_bar[6];
    const bool bodies = g.kind == GroupKind::connect || g.kind == GroupKind::weld;
    S e_bar(0);
    S* J_bar = c.J_bar.data();
    for (int i = 0; i < g.rows; ++i) {
      const auto row = static_cast<std::size_t>(g.row + i);
      const RowKind kind = cons.kinds[row];
      r_bar[i] = S(0);
      if (far_away(kind, geometry.r[i])) {
        std::fill(J_bar + i * n, J_bar + (i + 1) * n, S(0));
        continue;
      }
      const S m = c.Jd[row], pull = c.slope[row] * m;  // slope is 0 outside the quadratic zone
      const mask_t<S> quadratic = c.slope[row] != S(0);
      const S D_bar = select(quadratic, -(c.y[row] * m), S(0));
      const WeightSource from = weight_source(tree, g, i);
      const RowInput<S> in = row_input(g, geometry, i, J, v, weight_of(from, p));
      S* solref_bar = wanted(g.softness.solref) ? bar.p + g.softness.solref : nullptr;
      S* solimp_bar = wanted(g.softness.solimp) ? bar.p + g.softness.solimp : nullptr;
      const bool friction = kind == RowKind::friction;
      const RowInput<S> in_bar = row_reference_vjp(p, g.softness, dt, cons.refsafe, friction, in, pull, D_bar,
                                                   solref_bar, solimp_bar, dt_bar);
      r_bar[i] = in_bar.r;
      acc_bar[i] = -pull;
      if (geometry.shared_e)
        e_bar += in_bar.e;
      else
        r_bar[i] += select(in.r < S(0), -in_bar.e, select(in.r > S(0), in_bar.e, S(0)));
      for (const int at : {from.first, from.second}) {
        if (wanted(at)) bar.p[at] += in_bar.weight;
      }
      if (friction && wanted(friction_parameter(tree, g))) {
        bar.p[friction_parameter(tree, g)] += select(quadratic, S(0), select(c.force[row] > S(0), m, -m));
      }
      for (int k = 0; k < n; ++k) {
        const int dof = g.dofs[static_cast<std::size_t>(k)];
        bar.v[dof] += in_bar.vel * J[i * n + k];
        J_bar[i * n + k] = c.force[row] * nu[dof] + in_bar.vel * v[dof];
        if (!bodies) J_bar[i * n + k] -= pull * a[dof];
      }
    }
    if (geometry.shared_e) {  // e = |r|
      const mask_t<S> zero = geometry.e == S(0);
      const S per = select(zero, S(0), e_bar / select(zero, S(1), geometry.e));
      for (int i = 0; i < g.rows; ++i) r_bar[i] += per * geometry.r[i];
    }
    group_geometry_vjp(tree, g, p, q, r_bar, static_cast<const S*>(J_bar), acc_bar, wanted, bar, d);
  }
  if (soft_contacts(cons)) contact_vjp(tree, cons, p, q, v, a, wanted, bar, d, c, dt_bar);
  if (wanted(tree.p.dt)) bar.p[tree.p.whole_dt] += dt_bar;
}

}  // namespace costate::rigid

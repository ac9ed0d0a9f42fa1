// The rows of the constraints: Jacobian J, reference acceleration aref and weight D of each, for a state.
//
//   joint limit    pos = q - low, J = 1;  pos = high - q, J = -1            in play where pos < margin
//   ball limit     pos = high - |phi|, J = -phi/|phi|, phi = log q          the same
//   tendon limit   as a joint's, with its length
//   friction       pos = 0, J = 1 or the tendon's
//   joint, tendon  pos = (l1 - l1_0) - P(l2 - l2_0), J = J1 - P' J2          P a polynomial of degree 4
//   connect        pos = x1 - x2, two points in the world                    softness by |pos|
//   weld           the same, and rotation t vec(conj(q2) q1 r)               softness by the norm of all six
//
// The reference of a connect or weld also takes off the acceleration that velocities alone cause (dJ/dt v), so that J a - aref
// contains the true relative acceleration.
// The two bodies of a connect or weld may be in different trees; a dof that moves both moves neither against the other at one point,
// but their points differ while the constraint is violated, so both sides are kept.
// Tests: tests/rigid/parity_test.cpp, constraints_test.cpp.
#pragma once

#include <algorithm>

#include "costate/rigid/constraints/impedance.h"
#include "costate/rigid/contact/contact_rows.h"
#include "costate/rigid/dynamics/passive.h"
#include "costate/rigid/dynamics/tendon.h"

namespace costate::rigid {

template <class S>
struct ConstraintData {
  explicit ConstraintData(const Constraints& c)
      : J(static_cast<std::size_t>(c.jacobian)),
        aref(static_cast<std::size_t>(c.rows)),
        D(aref.size()),
        loss(aref.size()),
        y(aref.size()),
        force(aref.size()),
        slope(aref.size()),
        Jd(aref.size()),
        a(c.dofs.size()),
        gradient(c.dofs.size()),
        direction(c.dofs.size()),
        Ma(c.dofs.size()),
        Md(c.dofs.size()),
        mass(c.place.size()),
        H(static_cast<std::size_t>(c.entries)),
        inverse_D(c.dofs.size()),
        nu(c.dofs.size()),
        J_bar(static_cast<std::size_t>(c.jacobian)),
        block(static_cast<std::size_t>(c.blocks)),
        zone(aref.size()),
        preconditioned(c.conjugate_gradients ? c.dofs.size() : 0),
        contact(c) {
    active.reserve(c.groups.size());
  }

  std::vector<int> active;             // groups in play in some world
  std::vector<S> J, aref, D, loss;     // rows; loss: frictionloss; of a contact its coefficients of friction
  std::vector<S> y, force, slope, Jd;  // at a: J a - aref, force, its negative slope; J times a direction
  std::vector<S> a, gradient, direction, Ma, Md;
  std::vector<S> mass, H, inverse_D;  // M itself, and the factor of the last Newton matrix
  std::vector<S> nu, J_bar;           // the adjoint's accelerations; cotangent of a group's Jacobian
  std::vector<S> block,
      zone;  // of contacts: their slopes; of each row: which part of its force law acts, 0 none
  std::vector<S> preconditioned;  // conjugate gradients: P g of the last step
  ContactData<S> contact;
  S residual2 = S(0);                   // of the last adjoint solve before refinement, relative, squared
  bool in_play = false;                 // some row of some world is
  mask_t<S> worlds = mask_t<S>(false);  // that have a row in play
};

// The rows of all contact points; lists their groups as active. Compiled in contact_rows.cpp.
template <class S>
void contact_rows(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v,
                  const Data<S>& d, ConstraintData<S>& c);

// Position and direction of a limit, and how it is written: pos = sign (x - bound).
template <class S>
struct LimitSides {
  S pos[2];
};
template <class S>
COSTATE_INLINE LimitSides<S> limit_sides(const S* range, const S& x) {
  return {{x - range[0], range[1] - x}};
}

template <class S>
COSTATE_INLINE S polynomial(const S* c, const S& x) {
  return c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])));
}
template <class S>
COSTATE_INLINE S polynomial_slope(const S* c, const S& x) {
  return c[1] + x * (S(2) * c[2] + x * (S(3) * c[3] + x * (S(4) * c[4])));
}
template <class S>
COSTATE_INLINE S polynomial_curvature(const S* c, const S& x) {
  return S(2) * c[2] + x * (S(6) * c[3] + x * (S(12) * c[4]));
}

// The two things an equality of joints or tendons compares: how far each is from its reference.
template <class S>
struct EqualitySides {
  S first, second;
};
template <class S>
EqualitySides<S> equality_sides(const Tree& tree, const ConstraintGroup& g, const S* q, const Data<S>& d) {
  using T = value_t<S>;
  const auto value = [&](int i, double ref) {
    if (i < 0) return S(0);
    const S x = g.kind == GroupKind::joint_equality ? q[tree.joints[static_cast<std::size_t>(i)].q]
                                                    : d.tendon_length[static_cast<std::size_t>(i)];
    return x - S(T(ref));
  };
  return {value(g.first, g.first_ref), value(g.second, g.second_ref)};
}

// J += scale times the Jacobian of a joint's position or a tendon's length.
template <class S>
void add_path(const Tree& tree, const ConstraintGroup& g, int i, const S& scale, const Data<S>& d, S* J) {
  const auto place = [&](int dof) {
    return std::lower_bound(g.dofs.begin(), g.dofs.end(), dof) - g.dofs.begin();
  };
  if (g.kind == GroupKind::joint_equality) {
    J[place(tree.joints[static_cast<std::size_t>(i)].dof)] += scale;
    return;
  }
  const TreeTendon& t = tree.tendons[static_cast<std::size_t>(i)];
  for (std::size_t k = 0; k < t.dof.size(); ++k)
    J[place(t.dof[k])] += scale * d.tendon_J[static_cast<std::size_t>(t.jacobian) + k];
}

// Where a group's bodies are: points about their trees' origins and the distance between them in the world.
template <class S>
struct PointPair {
  Vec3<S> first, second, gap;
};
template <class S>
PointPair<S> connected_points(const Tree& tree, const ConstraintGroup& g, const S* p, const S* q,
                              const Data<S>& d) {
  const EqualityParameters& at = tree.p.equalities[static_cast<std::size_t>(g.index)];
  const auto one = static_cast<std::size_t>(g.first), two = static_cast<std::size_t>(g.second);
  // A connect has its anchors in the order of its bodies, a weld the other way round.
  const bool weld = g.kind == GroupKind::weld;
  const S *a1 = p + (weld ? at.other_anchor : at.anchor), *a2 = p + (weld ? at.anchor : at.other_anchor);
  const Vec3<S> x1 = d.x[one] + d.R[one] * vec3_at(a1), x2 = d.x[two] + d.R[two] * vec3_at(a2);
  const Vec3<S> o1 = root_origin(tree, p, q, tree.bodies[one].root),
                o2 = root_origin(tree, p, q, tree.bodies[two].root);
  return {x1, x2, (o1 - o2) + (x1 - x2)};
}

// conj(q2) (0, w) q1 r, the vector part: how an angular velocity turns the relative quaternion, times 2.
template <class S>
struct WeldRotation {
  Quat<S> left, right;  // conj(q2), q1 r
  S scale;              // torquescale
  Vec3<S> value() const { return scale * (left * right).vec(); }
  Vec3<S> rate(const Vec3<S>& w) const {
    return (S(value_t<S>(0.5)) * scale) * (left * Quat<S>{S(0), w.x, w.y, w.z} * right).vec();
  }
};
template <class S>
WeldRotation<S> weld_rotation(const Tree& tree, const ConstraintGroup& g, const S* p, const Data<S>& d) {
  const EqualityParameters& at = tree.p.equalities[static_cast<std::size_t>(g.index)];
  return {conjugate(d.quat[static_cast<std::size_t>(g.second)]),
          d.quat[static_cast<std::size_t>(g.first)] * quat_at(p + at.quat), p[at.torquescale]};
}

// Velocity of the first point against the second, and of rotations, per unit rate of dof i.
template <class S>
COSTATE_INLINE Vec3<S> relative_velocity(const Motion<S>& axis, const Vec3<S>& x, const Vec3<S>& y,
                                         int side) {
  if (side > 0) return axis.v + cross(axis.w, x);
  if (side < 0) return -(axis.v + cross(axis.w, y));
  return cross(axis.w, x - y);
}

// Acceleration of the point x of a body, gravity left out, and of its orientation; needs rnea_forward.
template <class S>
COSTATE_INLINE Vec3<S> point_acceleration(const Motion<S>& v, const Motion<S>& a, const Vec3<S>& gravity,
                                          const Vec3<S>& x) {
  return a.v + gravity + cross(a.w, x) + cross(v.w, v.v + cross(v.w, x));
}
// Second rate of the weld's rotation for angular velocities w1, w2 and accelerations alpha = alpha1 - alpha2:
// (t/2) vec(l (0, alpha) r) + (t/4) vec(l P r), P = (-|w1 - w2|^2, 2 w1 x w2).
template <class S>
COSTATE_INLINE Quat<S> weld_curvature(const Vec3<S>& w1, const Vec3<S>& w2) {
  const Vec3<S> d = w1 - w2, c = S(2) * cross(w1, w2);
  return {-dot(d, d), c.x, c.y, c.z};
}
template <class S>
void bias_accelerations(const Tree& tree, const ConstraintGroup& g, const S* p, const S* q, const Data<S>& d,
                        S* bias) {
  const auto one = static_cast<std::size_t>(g.first), two = static_cast<std::size_t>(g.second);
  const Vec3<S> gravity = vec3_at(p + tree.p.gravity);
  const PointPair<S> x = connected_points(tree, g, p, q, d);
  const Vec3<S> u = point_acceleration(d.v[one], d.a[one], gravity, x.first) -
                    point_acceleration(d.v[two], d.a[two], gravity, x.second);
  for (int i = 0; i < 3; ++i) bias[i] = u[i];
  if (g.kind != GroupKind::weld) return;
  const WeldRotation<S> rotation = weld_rotation(tree, g, p, d);
  const Vec3<S> turn = rotation.rate(d.a[one].w - d.a[two].w) +
                       (S(value_t<S>(0.25)) * rotation.scale) *
                           (rotation.left * weld_curvature(d.v[one].w, d.v[two].w) * rotation.right).vec();
  for (int i = 0; i < 3; ++i) bias[3 + i] = turn[i];
}

// --- the inputs of each row's softness ----------------------------------------------------------------------------------

// The inverse weight of a row, and where it comes from: a sum of up to two parameters.
struct WeightSource {
  int first = kAbsent, second = kAbsent;
};
inline WeightSource weight_source(const Tree& tree, const ConstraintGroup& g, int row) {
  const auto of_joint = [&](int j) {
    return j < 0 ? kAbsent : tree.joints[static_cast<std::size_t>(j)].p.invweight;
  };
  const auto of_tendon = [&](int t) {
    return t < 0 ? kAbsent : tree.tendons[static_cast<std::size_t>(t)].p.invweight;
  };
  const auto of_body = [&](int b) {
    const int at = tree.bodies[static_cast<std::size_t>(b)].p.invweight;
    return at < 0 ? kAbsent : at + (row < 3 ? 0 : 1);
  };
  switch (g.kind) {
    case GroupKind::joint_limit:
    case GroupKind::ball_limit:
      return {of_joint(g.index), kAbsent};
    case GroupKind::tendon_limit:
    case GroupKind::tendon_friction:
      return {of_tendon(g.index), kAbsent};
    case GroupKind::dof_friction: {
      const TreeDof& dof = tree.dofs[static_cast<std::size_t>(g.index)];
      const TreeJoint& joint = tree.joints[static_cast<std::size_t>(dof.joint)];
      return {joint.p.invweight + g.index - joint.dof, kAbsent};
    }
    case GroupKind::joint_equality:
      return {of_joint(g.first), of_joint(g.second)};
    case GroupKind::tendon_equality:
      return {of_tendon(g.first), of_tendon(g.second)};
    case GroupKind::connect:
    case GroupKind::weld:
      return {of_body(g.first), of_body(g.second)};
    case GroupKind::contact:
      break;
  }
  return {};
}
template <class S>
COSTATE_INLINE S weight_of(const WeightSource& from, const S* p) {
  S w(0);
  if (from.first >= 0) w += p[from.first];
  if (from.second >= 0) w += p[from.second];
  return w;
}

// Positions of the rows of a group (r, without softness) and its Jacobian. Limits: pos - margin.
template <class S>
struct GroupGeometry {
  S r[6];
  S e;            // violation that the softness sees; limits: that of each row, |r|
  bool shared_e;  // e is one for all rows
};

template <class S>
GroupGeometry<S> group_geometry(const Tree& tree, const ConstraintGroup& g, const S* p, const S* q,
                                const Data<S>& d, S* J) {
  GroupGeometry<S> out;
  out.e = S(0);
  out.shared_e = false;
  const int n = int(g.dofs.size());
  const auto index = static_cast<std::size_t>(g.index);
  switch (g.kind) {
    case GroupKind::joint_limit: {
      const TreeJoint& joint = tree.joints[index];
      const LimitSides<S> sides = limit_sides(p + joint.p.range, q[joint.q]);
      for (int i = 0; i < 2; ++i) out.r[i] = sides.pos[i] - p[joint.p.margin];
      J[0] = S(1);
      J[1] = S(-1);
      break;
    }
    case GroupKind::ball_limit: {
      const TreeJoint& joint = tree.joints[index];
      S inverse;
      const Vec3<S> phi = log_map(unit_quat(q + joint.q, inverse)), axis = normalized(phi);
      out.r[0] = p[joint.p.range + 1] - norm(phi) - p[joint.p.margin];
      for (int k = 0; k < 3; ++k) J[k] = -axis[k];
      break;
    }
    case GroupKind::tendon_limit: {
      const TreeTendon& tendon = tree.tendons[index];
      const LimitSides<S> sides = limit_sides(p + tendon.p.range, d.tendon_length[index]);
      for (int i = 0; i < 2; ++i) out.r[i] = sides.pos[i] - p[tendon.p.margin];
      std::fill(J, J + 2 * n, S(0));
      add_path(tree, g, g.index, S(1), d, J);
      for (int k = 0; k < n; ++k) J[n + k] = -J[k];
      break;
    }
    case GroupKind::dof_friction:
      out.r[0] = S(0);
      J[0] = S(1);
      break;
    case GroupKind::tendon_friction:
      out.r[0] = S(0);
      std::fill(J, J + n, S(0));
      add_path(tree, g, g.index, S(1), d, J);
      break;
    case GroupKind::joint_equality:
    case GroupKind::tendon_equality: {
      const S* c = p + tree.p.equalities[index].polycoef;
      const EqualitySides<S> x = equality_sides(tree, g, q, d);
      out.r[0] = x.first - polynomial(c, x.second);
      std::fill(J, J + n, S(0));
      add_path(tree, g, g.first, S(1), d, J);
      if (g.second >= 0) add_path<S>(tree, g, g.second, -polynomial_slope(c, x.second), d, J);
      break;
    }
    case GroupKind::connect:
    case GroupKind::weld: {
      const PointPair<S> x = connected_points(tree, g, p, q, d);
      const bool weld = g.kind == GroupKind::weld;
      for (int i = 0; i < 3; ++i) out.r[i] = x.gap[i];
      S square = dot(x.gap, x.gap);
      for (int k = 0; k < n; ++k) {
        const auto at = static_cast<std::size_t>(k);
        const Vec3<S> u =
            relative_velocity(d.axis[static_cast<std::size_t>(g.dofs[at])], x.first, x.second, g.sides[at]);
        for (int i = 0; i < 3; ++i) J[i * n + k] = u[i];
      }
      if (weld) {
        const WeldRotation<S> rotation = weld_rotation(tree, g, p, d);
        const Vec3<S> value = rotation.value();
        for (int i = 0; i < 3; ++i) out.r[3 + i] = value[i];
        square += dot(value, value);
        for (int k = 0; k < n; ++k) {
          const auto at = static_cast<std::size_t>(k);
          const Vec3<S> w =
              S(value_t<S>(g.sides[at])) * rotation.rate(d.axis[static_cast<std::size_t>(g.dofs[at])].w);
          for (int i = 0; i < 3; ++i) J[(3 + i) * n + k] = w[i];
        }
      }
      const mask_t<S> zero = square == S(0);
      out.e = select(zero, S(0), sqrt(select(zero, S(1), square)));
      out.shared_e = true;
      break;
    }
    case GroupKind::contact:
      break;
  }
  return out;
}

template <class S>
RowInput<S> row_input(const ConstraintGroup& g, const GroupGeometry<S>& geometry, int i, const S* J,
                      const S* v, const S& weight) {
  const int n = int(g.dofs.size());
  S vel(0);
  for (int k = 0; k < n; ++k) vel += J[i * n + k] * v[g.dofs[static_cast<std::size_t>(k)]];
  return {geometry.r[i], geometry.shared_e ? geometry.e : abs(geometry.r[i]), vel, weight};
}

inline int friction_parameter(const Tree& tree, const ConstraintGroup& g) {
  if (g.kind == GroupKind::tendon_friction)
    return tree.tendons[static_cast<std::size_t>(g.index)].p.frictionloss;
  const TreeDof& dof = tree.dofs[static_cast<std::size_t>(g.index)];
  return tree.joints[static_cast<std::size_t>(dof.joint)].p.frictionloss;
}

// A limit that is far in every world needs no softness.
template <class S>
bool far_away(RowKind kind, const S& r) {
  return kind == RowKind::limit && !any(r < S(0));
}

// All rows of a state. Needs kinematics, tendon_lengths and, for bodies held together, rnea_forward without qdd.
template <class S>
void make_rows(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v,
               const Data<S>& d, ConstraintData<S>& c) {
  const S dt = p[tree.p.whole_dt];
  c.active.clear();
  c.worlds = mask_t<S>(cons.permanent);
  std::fill(c.zone.begin(), c.zone.end(), S(0));
  for (std::size_t index = 0; index < cons.groups.size(); ++index) {
    const ConstraintGroup& g = cons.groups[index];
    if (g.kind == GroupKind::contact) break;  // they come last
    S* J = c.J.data() + g.jacobian;
    const GroupGeometry<S> geometry = group_geometry(tree, g, p, q, d, J);
    S bias[6];
    const bool bodies = g.kind == GroupKind::connect || g.kind == GroupKind::weld;
    if (bodies) bias_accelerations(tree, g, p, q, d, bias);
    bool in_play = false;
    for (int i = 0; i < g.rows; ++i) {
      const auto row = static_cast<std::size_t>(g.row + i);
      const RowKind kind = cons.kinds[row];
      if (far_away(kind, geometry.r[i])) {
        c.aref[row] = c.D[row] = S(0);
        continue;
      }
      in_play = true;
      const S weight = weight_of(weight_source(tree, g, i), p);
      const RowReference<S> reference =
          row_reference(p, g.softness, dt, cons.refsafe, kind == RowKind::friction,
                        row_input(g, geometry, i, J, v, weight));
      const mask_t<S> present = kind == RowKind::limit ? mask_t<S>(geometry.r[i] < S(0)) : mask_t<S>(true);
      c.aref[row] = select(present, bodies ? reference.aref - bias[i] : reference.aref, S(0));
      c.D[row] = select(present, reference.D, S(0));
      c.worlds = c.worlds | present;
      if (kind == RowKind::friction) c.loss[row] = p[friction_parameter(tree, g)];
    }
    if (in_play) c.active.push_back(int(index));
  }
  if (soft_contacts(cons)) contact_rows(tree, cons, p, q, v, d, c);
  c.in_play = !c.active.empty();
}

}  // namespace costate::rigid

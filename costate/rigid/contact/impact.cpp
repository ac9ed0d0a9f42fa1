#include "costate/rigid/contact/impact.h"

#include "costate/geometry/contact_frame.h"
#include "costate/rigid/contact/contact_jacobian.h"
#include "costate/rigid/contact/restitution.h"
#include "costate/rigid/dynamics/crba.h"
#include "costate/rigid/dynamics/integrate.h"

namespace costate::rigid {
namespace {

// The impulse at one contact point.
template <class S>
struct PointImpact {
  ImpactSystem<S> system;
  S w[kMostRows], e, restitution;  // e: 0 where the point comes to rest
  mask_t<S> hit, rests;
};

// In the worlds that meet there, among `here`. J in c.J, M^-1 J' in work.columns. Needs the factor of M and
// contact_gaps.
template <class S>
void meet(const Tree& tree, const Constraints& cons, const TouchingPair& pair, int slot, const S* p,
          const S* q, const S* v, const mask_t<S>& here, const Data<S>& d, ConstraintData<S>& c,
          ImpactWork<S>& work, PointImpact<S>& out) {
  using T = value_t<S>;
  const std::size_t at = pair.point + slot;
  const ConstraintGroup& g = cons.groups[pair.group + slot];
  const int rows = g.rows, n = int(g.dofs.size());
  S* J = c.J.data() + g.jacobian;
  contact_jacobian(tree, pair, g, c.contact.points[at].point, c.contact.frames[at], p, q, v, d, J, out.w);
  for (int i = 0; i < rows; ++i) {
    S* column = work.columns.data() + i * tree.nv;
    std::fill(column, column + tree.nv, S(0));
    for (int k = 0; k < n; ++k) column[g.dofs[k]] = J[i * n + k];
    solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), column);
  }
  ContactParameters<S> par;
  contact_parameters(tree, pair.geoms, p, par);
  out.restitution = restitution_of(tree, pair.geoms, p);

  const S normal = out.w[0], rebound = select(normal < S(0), -(out.restitution * normal), normal);
  out.rests = here & (rebound < S(T(cons.rest_speed)));
  out.hit = here & (normal < S(0));
  out.e = select(out.rests, S(0), out.restitution);
  ImpactSystem<S>& s = out.system;
  s.rows = rows;
  // Worlds that do not meet solve something harmless.
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j <= i; ++j) {
      S sum(0);
      for (int k = 0; k < n; ++k) sum += J[i * n + k] * work.columns[j * tree.nv + g.dofs[k]];
      s.A[i][j] = s.A[j][i] = select(out.hit, sum, S(i == j ? T(1) : T(0)));
    }
    s.b[i] = select(out.hit, i == 0 ? -((S(1) + out.e) * normal) : -out.w[i], S(i == 0 ? T(1) : T(0)));
    s.mu[i] = i == 0 ? S(1) : par.friction[i];
  }
  solve_impact(s);
}

// Calls visit(pair, slot, worlds) for each contact point of the pairs that have some world's event; those
// have frames.
template <class S, class Visit>
void for_each_event(const Constraints& cons, const S& event, ConstraintData<S>& c, const Visit& visit) {
  ContactData<S>& contact = c.contact;
  contact.touching.clear();
  for (std::size_t i = 0; i < cons.pairs.size(); ++i) {
    const TouchingPair& pair = cons.pairs[i];
    const auto points = S(value_t<S>(pair.point)), end = S(value_t<S>(pair.point + pair.geoms.slots));
    if (!any((event >= points) & (event < end))) continue;
    contact.touching.push_back(int(i));
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      const std::size_t at = pair.point + slot;
      const mask_t<S> here = event == S(value_t<S>(pair.point + slot));
      if (any(here))
        contact.frames[at] = geometry::contact_frame(contact.points[at].normal, contact.points[at].tangent);
      visit(pair, slot, here);
    }
  }
}

// Poses, the factor of M, contact points.
template <class S>
void prepare_impact(const Tree& tree, const Constraints& cons, const S* p, const S* q, Data<S>& d,
                    ConstraintData<S>& c, ImpactWork<S>& w) {
  kinematics(tree, p, q, d);
  body_inertias(tree, p, d);
  crba(tree, p, d);
  factor(tree.dofs, d.M.data(), d.inverse_D.data());
  contact_gaps(tree, cons, p, q, static_cast<const Data<S>&>(d), c.contact, w.gap.data());
}

// out += J' f
template <class S>
void add_impulse(const ConstraintGroup& g, const S* f, const ConstraintData<S>& c, S* out) {
  const int n = int(g.dofs.size());
  const S* J = c.J.data() + g.jacobian;
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < g.rows; ++i) out[g.dofs[k]] += J[i * n + k] * f[i];
  }
}

template <class S>
void impulse_of(const PointImpact<S>& point, S* lambda) {
  for (int i = 0; i < point.system.rows; ++i)
    lambda[i] = select(point.hit, point.system.mu[i] * point.system.l[i], S(0));
}

}  // namespace

template <class S>
mask_t<S> impact(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S& event, S* v,
                 Data<S>& d, ConstraintData<S>& c, ImpactWork<S>& w) {
  prepare_impact(tree, cons, p, q, d, c, w);
  std::fill(w.change.begin(), w.change.end(), S(0));
  mask_t<S> rests(false), hit(false);
  for_each_event(cons, event, c, [&](const TouchingPair& pair, int slot, const mask_t<S>& here) {
    if (!any(here)) return;
    PointImpact<S> point;
    meet(tree, cons, pair, slot, p, q, static_cast<const S*>(v), here, static_cast<const Data<S>&>(d), c, w,
         point);
    S lambda[kMostRows];
    impulse_of(point, lambda);
    add_impulse(cons.groups[pair.group + slot], lambda, c, w.change.data());
    rests = rests | point.rests;
    hit = hit | point.hit;
  });
  solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), w.change.data());
  for (std::size_t i = 0; i < w.change.size(); ++i) v[i] = select(hit, v[i] + w.change[i], v[i]);
  return rests;
}

template <class S>
void impact_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const S& event,
                const Wanted& wanted, S* x_bar, S* p_bar, Data<S>& d, ConstraintData<S>& c,
                ImpactWork<S>& w) {
  prepare_impact(tree, cons, p, q, d, c, w);
  S* v_bar = x_bar + tree.nq;
  std::fill(w.change.begin(), w.change.end(), S(0));
  std::fill(w.nu.begin(), w.nu.end(), S(0));
  for_each_event(cons, event, c, [&](const TouchingPair& pair, int slot, const mask_t<S>& here) {
    RowsBar<S>& rows = c.contact.rows_bar[pair.point + slot];
    rows = RowsBar<S>::zero();
    if (!any(here)) return;
    rows.any_world = true;
    const ConstraintGroup& g = cons.groups[pair.group + slot];
    PointImpact<S> point;
    meet(tree, cons, pair, slot, p, q, v, here, static_cast<const Data<S>&>(d), c, w, point);
    S lambda_bar[kMostRows];
    std::fill(lambda_bar, lambda_bar + kMostRows, S(0));
    for (int i = 0; i < g.rows; ++i) {
      for (int k = 0; k < tree.nv; ++k) lambda_bar[i] += w.columns[i * tree.nv + k] * v_bar[k];
      lambda_bar[i] = select(point.hit, lambda_bar[i], S(0));
    }
    const ImpactBar<S> bar = solve_impact_vjp(point.system, lambda_bar);
    impulse_of(point, rows.f);
    S minus_Z[kMostRows];
    for (int i = 0; i < g.rows; ++i) {
      rows.g[i] = select(point.hit, bar.Z[i], S(0));
      rows.h[i] = i == 0 ? -((S(1) + point.e) * rows.g[0]) : -rows.g[i];
      rows.friction[i] = select(point.hit, bar.mu[i], S(0));
      minus_Z[i] = -rows.g[i];
    }
    add_impulse(g, rows.f, c, w.change.data());
    add_impulse(g, minus_Z, c, w.nu.data());
    for (int k = 0; k < tree.nv; ++k) w.nu[k] += select(point.hit, v_bar[k], S(0));
    const S e_bar = select(point.hit & !point.rests, -(point.w[0] * rows.g[0]), S(0));
    restitution_vjp(tree, pair.geoms, p, e_bar, wanted, p_bar);
  });
  solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), w.change.data());
  solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), w.nu.data());

  const S *change = w.change.data(), *nu = w.nu.data(), *zeros = d.zeros.data();
  for (int i = 0; i < tree.nv; ++i) d.minus_lambda[i] = -nu[i];
  for (auto* forces : {&d.wrench, &d.axis_bar, &d.v_bar, &d.a_bar, &d.w_bar})
    std::fill(forces->begin(), forces->end(), Force<S>::zero());
  std::fill(w.q_bar.begin(), w.q_bar.end(), S(0));
  rnea_forward<S>(tree, Vec3<S>::zero(), v, change, d);
  virtual_velocities<S>(tree, d.minus_lambda.data(), d);
  contact_points_vjp<S>(tree, cons, p, q, v, change, nu, wanted, {w.q_bar.data(), v_bar, p_bar}, d,
                        c.contact);
  for (const TreeJoint& joint : tree.joints) {
    if (!wanted(joint.p.armature)) continue;
    for (int i = joint.dof; i < joint.dof + dof_size(joint.type); ++i)
      p_bar[joint.p.armature] -= nu[i] * change[i];
  }
  rnea_forward<S>(tree, Vec3<S>::zero(), zeros, change, d);
  rnea_vjp<S>(tree, p, q, zeros, change, static_cast<const S*>(d.minus_lambda.data()), true, wanted,
              {w.q_bar.data(), d.unused.data(), nullptr, p_bar, nullptr}, d);
  ambient_cotangent(tree, q, static_cast<const S*>(w.q_bar.data()), w.ambient.data());
  for (std::size_t i = 0; i < w.ambient.size(); ++i) x_bar[i] += w.ambient[i];
}

#if !defined(COSTATE_ON_DEVICE)
#define COSTATE_INSTANTIATE(S)                                                                           \
  template mask_t<S> impact(const Tree&, const Constraints&, const S*, const S*, const S&, S*, Data<S>&, \
                            ConstraintData<S>&, ImpactWork<S>&);                                         \
  template void impact_vjp(const Tree&, const Constraints&, const S*, const S*, const S*, const S&,      \
                           const Wanted&, S*, S*, Data<S>&, ConstraintData<S>&, ImpactWork<S>&);
COSTATE_INSTANTIATE(double)
COSTATE_INSTANTIATE(NativePack<double>)
COSTATE_INSTANTIATE(NativePack<float>)
COSTATE_INSTANTIATE(Dual<NativePack<double>>)
COSTATE_INSTANTIATE(Dual<NativePack<float>>)
#endif

}  // namespace costate::rigid

// The transpose of the constraints: cotangents of state and parameters through rows and forces.
//
// At the solution M a = tau + J' f(y), y = J a - aref, so with lambda the cotangent of what J' f adds to
// (constraint_vjp's caller solves for it: nu) and m = J nu:
//
//   aref_bar = S m,   D_bar = -y m (quadratic zone),   loss_bar = +-m (slipping),   J_bar = f nu' - (S m) a'
//
// (contacts: contact_adjoint.h; connect and weld: J a - aref holds the bodies' true acceleration, whose
// cotangent -S m goes to rnea_vjp as such, and J_bar = f nu') then the transposes of aref and D (impedance.h)
// and of positions and Jacobians (rows_vjp of each kind: kinds.h). Where a Jacobian is made of the motions S
// of joints and of points of bodies, it hands cotangents of these on to rnea_vjp: d.axis_bar and d.wrench.
// Tests: tests/rigid/constraints/constraints_test.cpp.
#pragma once

#include "costate/rigid/constraints/constraint_solver.h"
#include "costate/rigid/contact/contact_adjoint.h"

namespace costate::rigid {

// Given nu, the rows evaluated at a (c.y, c.force, c.slope) and rnea_forward with a. Adds to d.axis_bar,
// d.wrench, d.a_bar, d.v_bar too.
template <class S>
void constraint_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const S* a,
                    const Wanted& wanted, const ConstraintBar<S>& bar, Data<S>& d, ConstraintData<S>& c) {
  const S dt = p[tree.p.whole_dt];
  const S* nu = c.nu.data();
  multiply_rows(cons, c, nu, c.Jd.data());
  const NoslipData<S>& sweeps = c.noslip;
  if (sweeps.transposed)
    for (std::size_t i = 0; i < sweeps.m.size(); ++i) c.Jd[i] += sweeps.m[i];
  S dt_bar(0);
  for (const int index : c.active) {
    const ConstraintGroup& g = cons.groups[index];
    if (g.kind == GroupKind::contact) continue;
    const int n = int(g.dofs.size());
    S* J = c.J.data() + g.jacobian;
    const GroupInput<S> group{tree, g, p, q};
    const GroupGeometry<S> geometry =
        with_kind(g.kind, [&](auto kind) { return kind.template rows<S>(group, d, J); });
    S r_bar[6], acc_bar[6];
    const bool bodies = holds_bodies(g.kind);
    S e_bar(0);
    S* J_bar = c.J_bar.data();
    for (int i = 0; i < g.rows; ++i) {
      const std::size_t row = g.row + i;
      const RowKind kind = cons.kinds[row];
      r_bar[i] = S(0);
      if (!any(row_in_play(cons, row, geometry.r[i], c.contact))) {
        std::fill(J_bar + i * n, J_bar + (i + 1) * n, S(0));
        continue;
      }
      const bool swept = sweeps.transposed && sweeps.place[row] >= 0;
      const S m = c.Jd[row];
      S pull = c.slope[row] * m;  // slope is 0 outside the quadratic zone
      if (swept) pull += sweeps.pull[row];
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
      if (friction && wanted(loss_parameter(tree, g))) {
        S& loss_bar = bar.p[loss_parameter(tree, g)];
        loss_bar += select(quadratic, S(0), select(c.force[row] > S(0), m, -m));
        if (swept) loss_bar += sweeps.friction[row];
      }
      for (int k = 0; k < n; ++k) {
        const int dof = g.dofs[k];
        bar.v[dof] += in_bar.vel * J[i * n + k];
        J_bar[i * n + k] = c.force[row] * nu[dof] + in_bar.vel * v[dof];
        if (!bodies) J_bar[i * n + k] -= pull * a[dof];
        if (swept) J_bar[i * n + k] += sweeps.J_bar[sweeps.place[row] * tree.nv + dof];
      }
    }
    if (geometry.shared_e) {  // e = |r|
      const mask_t<S> zero = geometry.e == S(0);
      const S per = select(zero, S(0), e_bar / select(zero, S(1), geometry.e));
      for (int i = 0; i < g.rows; ++i) r_bar[i] += per * geometry.r[i];
    }
    const GroupBar<S> rows_bar{r_bar, J_bar, acc_bar, wanted, bar};
    with_kind(g.kind, [&](auto kind) { kind.rows_vjp(group, rows_bar, d); });
  }
  if (soft_contacts(cons)) contact_vjp(tree, cons, p, q, v, a, wanted, bar, d, c, dt_bar);
  c.noslip.transposed = false;
  if (wanted(tree.p.dt)) bar.p[tree.p.whole_dt] += dt_bar;
}

}  // namespace costate::rigid

// The rows of the constraints: Jacobian J, reference acceleration aref and weight D of each, for a state.
//
// kinds.h lists the kinds of rows, each a file with its equations; contact_rows.h makes those of contacts.
// Tests: tests/rigid/parity_test.cpp, tests/rigid/constraints/constraints_test.cpp.
#pragma once

#include <algorithm>

#include "costate/rigid/constraints/impedance.h"
#include "costate/rigid/constraints/kinds.h"
#include "costate/rigid/constraints/noslip.h"
#include "costate/rigid/contact/contact_rows.h"

namespace costate::rigid {

template <class S>
struct ConstraintData {
  explicit ConstraintData(const Constraints& c)
      : J(c.jacobian),
        aref(c.rows),
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
        H(c.entries),
        inverse_D(c.dofs.size()),
        nu(c.dofs.size()),
        J_bar(c.jacobian),
        block(c.blocks),
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
  NoslipData<S> noslip;
  S residual2 = S(0);                   // of the last adjoint solve before refinement, relative, squared
  bool in_play = false;                 // some row of some world is
  mask_t<S> worlds = mask_t<S>(false);  // that have a row in play
};

// The rows of all contact points; lists their groups as active. Compiled in contact_rows.cpp.
template <class S>
void contact_rows(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v,
                  const Data<S>& d, ConstraintData<S>& c);

template <class S>
RowInput<S> row_input(const ConstraintGroup& g, const GroupGeometry<S>& geometry, int i, const S* J,
                      const S* v, const S& weight) {
  const int n = int(g.dofs.size());
  S vel(0);
  for (int k = 0; k < n; ++k) vel += J[i * n + k] * v[g.dofs[k]];
  return {geometry.r[i], geometry.shared_e ? geometry.e : abs(geometry.r[i]), vel, weight};
}

// The worlds in which a row acts: a limit where it is passed or, in a part of a split step, as its mode says.
template <class S>
mask_t<S> row_in_play(const Constraints& cons, std::size_t row, const S& r, const ContactData<S>& contact) {
  if (cons.kinds[row] != RowKind::limit) return mask_t<S>(true);
  const int event = cons.event_of_row.empty() ? -1 : cons.event_of_row[row];
  return event < 0 ? mask_t<S>(r < S(0)) : point_in_play(contact.modes[std::size_t(event)], r);
}

// All rows of a state. Needs kinematics, tendon_lengths and, for bodies held together, rnea_forward without
// qdd.
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
    const GroupInput<S> in{tree, g, p, q};
    S bias[6];
    const bool bodies = holds_bodies(g.kind);
    const GroupGeometry<S> geometry = with_kind(g.kind, [&](auto kind) {
      if constexpr (kind.kHoldsBodies) kind.bias(in, d, bias);
      return kind.rows(in, d, J);
    });
    bool in_play = false;
    for (int i = 0; i < g.rows; ++i) {
      const std::size_t row = g.row + i;
      const RowKind kind = cons.kinds[row];
      // A limit that is far in every world needs no softness.
      const mask_t<S> present = row_in_play(cons, row, geometry.r[i], c.contact);
      if (!any(present)) {
        c.aref[row] = c.D[row] = S(0);
        continue;
      }
      in_play = true;
      const S weight = weight_of(weight_source(tree, g, i), p);
      const RowReference<S> reference =
          row_reference(p, g.softness, dt, cons.refsafe, kind == RowKind::friction,
                        row_input(g, geometry, i, J, v, weight));
      c.aref[row] = select(present, bodies ? reference.aref - bias[i] : reference.aref, S(0));
      c.D[row] = select(present, reference.D, S(0));
      c.worlds = c.worlds | present;
      if (kind == RowKind::friction) c.loss[row] = p[loss_parameter(tree, g)];
    }
    if (in_play) c.active.push_back(int(index));
  }
  if (soft_contacts(cons)) contact_rows(tree, cons, p, q, v, d, c);
  c.in_play = !c.active.empty();
}

}  // namespace costate::rigid

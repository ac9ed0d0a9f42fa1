#include "costate/rigid/contact/contact_penalty.h"

#include "costate/ad/dual.h"
#include "costate/geometry/contact_frame.h"
#include "costate/rigid/contact/contact_jacobian.h"
#include "costate/rigid/contact/contact_mixing.h"
#include "costate/rigid/contact/penalty_law.h"

namespace costate::rigid {
namespace {

// Calls visit(pair, slot, r, worlds) for all points of pairs that touch.
template <class S, class Visit>
void for_each_touching(const Tree& tree, const Constraints& cons, const S* p, const S* q, const Data<S>& d,
                       ConstraintData<S>& c, const Visit& visit) {
  ContactData<S>& contact = c.contact;
  contact_points(tree, cons, p, q, d, contact);
  for (const int index : contact.touching) {
    const TouchingPair& pair = cons.pairs[index];
    const S margin = contact_margin(tree, pair.geoms, p);
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      const std::size_t at = pair.point + slot;
      const S r = contact.points[at].dist - margin;
      const mask_t<S> present = point_in_play(contact.modes[at], r);
      visit(pair, slot, select(present, r, S(0)), present);
    }
  }
}

template <class S>
PenaltyLaw<S> law_of(const Tree& tree, const S* p, const ContactParameters<S>& par) {
  const PenaltyParameters& at = tree.p.penalty;
  return {p[at.stiffness], p[at.damping], p[at.slip_speed], par.friction};
}

}  // namespace

template <class S>
void penalty_forces(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v,
                    const Data<S>& d, ConstraintData<S>& c, S* tau) {
  for_each_touching(
      tree, cons, p, q, d, c, [&](const TouchingPair& pair, int slot, const S& r, const mask_t<S>& present) {
        if (!any(present)) return;
        const std::size_t at = pair.point + slot;
        const ConstraintGroup& g = cons.groups[pair.group + slot];
        const int n = int(g.dofs.size());
        S *J = c.J.data() + g.jacobian, w[kMostRows], f[kMostRows];
        contact_jacobian(tree, pair, g, c.contact.points[at].point, c.contact.frames[at], p, q, v, d, J, w);
        ContactParameters<S> par;
        contact_parameters(tree, pair.geoms, p, par);
        penalty_force(g.rows, law_of(tree, p, par), r, w, f);
        for (int i = 0; i < g.rows; ++i) {
          for (int k = 0; k < n; ++k) tau[g.dofs[k]] += J[i * n + k] * f[i];
        }
      });
}

template <class S>
void penalty_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const S* nu,
                 const Wanted& wanted, const ConstraintBar<S>& bar, Data<S>& d, ConstraintData<S>& c) {
  const PenaltyParameters& to = tree.p.penalty;
  for_each_touching(tree, cons, p, q, static_cast<const Data<S>&>(d), c,
                    [&](const TouchingPair& pair, int slot, const S& r, const mask_t<S>& present) {
                      const std::size_t at = pair.point + slot;
                      RowsBar<S>& rows = c.contact.rows_bar[at];
                      rows = RowsBar<S>::zero();
                      const ConstraintGroup& g = cons.groups[pair.group + slot];
                      c.zone[g.row] = select(present, S(1), S(0));
                      if (!any(present)) return;
                      rows.any_world = true;
                      const int n = int(g.dofs.size());
                      S *J = c.J.data() + g.jacobian, w[kMostRows], m[kMostRows];
                      contact_jacobian(tree, pair, g, c.contact.points[at].point, c.contact.frames[at], p, q,
                                       v, static_cast<const Data<S>&>(d), J, w);
                      for (int i = 0; i < g.rows; ++i) {
                        m[i] = S(0);
                        for (int k = 0; k < n; ++k) m[i] += J[i * n + k] * nu[g.dofs[k]];
                        m[i] = select(present, m[i], S(0));
                      }
                      ContactParameters<S> par;
                      contact_parameters(tree, pair.geoms, p, par);
                      const PenaltyLaw<S> law = law_of(tree, p, par);
                      penalty_force(g.rows, law, r, w, rows.f);
                      PenaltyBar<S> out;
                      penalty_force_vjp(g.rows, law, r, w, rows.f, m, out);
                      rows.r = out.r;
                      for (int i = 0; i < g.rows; ++i) {
                        rows.h[i] = out.w[i];
                        rows.friction[i] = out.mu[i];
                      }
                      if (wanted(to.stiffness)) bar.p[to.stiffness] += out.stiffness;
                      if (wanted(to.damping)) bar.p[to.damping] += out.damping;
                      if (wanted(to.slip_speed)) bar.p[to.slip_speed] += out.slip_speed;
                    });
  contact_points_vjp<S>(tree, cons, p, q, v, d.zeros.data(), nu, wanted, bar, d, c.contact);
}

#if !defined(COSTATE_ON_DEVICE)
#define COSTATE_INSTANTIATE(S)                                                                       \
  template void penalty_forces(const Tree&, const Constraints&, const S*, const S*, const S*,        \
                               const Data<S>&, ConstraintData<S>&, S*);                              \
  template void penalty_vjp(const Tree&, const Constraints&, const S*, const S*, const S*, const S*, \
                            const Wanted&, const ConstraintBar<S>&, Data<S>&, ConstraintData<S>&);
COSTATE_INSTANTIATE(double)
COSTATE_INSTANTIATE(NativePack<double>)
COSTATE_INSTANTIATE(NativePack<float>)
COSTATE_INSTANTIATE(Dual<NativePack<double>>)
COSTATE_INSTANTIATE(Dual<NativePack<float>>)
#endif

}  // namespace costate::rigid

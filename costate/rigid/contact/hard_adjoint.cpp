#include "costate/rigid/contact/hard_lists.h"
#include "costate/rigid/contact/restitution.h"

namespace costate::rigid {
namespace {

template <class S>
using Lists = HardLists<S>;

using Index = std::size_t;

// lambda_bar = J M^-1 V + theta J nu_s, of all rows.
template <class S>
void impulses_bar(const Tree& tree, const Constraints& cons, const S* V, const std::vector<S>& moved_bar,
                  const Data<S>& d, const ConstraintData<S>& c, Lists<S>& w) {
  if (w.any_bounce) {
    for (Index k = 0; k < w.nu_shift.size(); ++k) w.nu_shift[k] = -moved_bar[k];
    solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), w.nu_shift.data());
  }
  for (const auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    for (int i = 0; i < at.rows; ++i) {
      const std::size_t row = at.row + i;
      const S* column = w.columns.data() + row * Index(tree.nv);
      S sum(0);
      for (int k = 0; k < tree.nv; ++k) sum += column[k] * V[k];
      if (w.any_bounce) sum += at.theta * row_times(g, c, i, static_cast<const S*>(w.nu_shift.data()));
      w.lambda_bar[row] = sum;
    }
  }
}

// The law of one world, in w.problem, and once more while there are points at rest that would better be left.
template <class S>
void law_vjp(bool aware, int l, Lists<S>& w) {
  using T = typename Lists<S>::T;
  w.solver.vjp(w.problem, w.lane_bar, w.bar);
  for (bool leaves = aware; leaves;) {
    leaves = false;
    for (Index m = 0; m < w.members.size(); ++m) {
      auto& at = w.problem.points[m];
      const bool rests = at.mode != HardMode::open && !lane_holds<S>(w.points[w.members[m]].bounces, l);
      if (!rests || !(w.bar.Y[at.row] > T(0))) continue;
      at.mode = HardMode::open;
      leaves = true;
    }
    if (leaves) w.solver.vjp(w.problem, w.lane_bar, w.bar);
  }
}

// Y, and the cotangents of friction and of the share, of all worlds.
template <class S>
void laws_vjp(const Constraints& cons, Lists<S>& w) {
  using T = typename Lists<S>::T;
  for (auto* rows : {&w.Y, &w.mu_bar, &w.share_bar, &w.share})
    std::fill(rows->begin(), rows->begin() + w.rows, S(0));
  w.any_share = false;
  for (int l = 0; l < lanes_in<S>() && !w.points.empty(); ++l) {
    gather_solved<S>(w, l, w.problem, w.members);
    if (w.members.empty()) continue;
    w.lane_bar.resize(w.problem.size);
    for (Index m = 0; m < w.members.size(); ++m) {
      const auto& at = w.points[w.members[m]];
      for (int i = 0; i < at.rows; ++i)
        w.lane_bar[w.problem.points[m].row + i] = lane_of(w.lambda_bar[at.row + i], l);
    }
    law_vjp<S>(cons.hard.aware, l, w);
    w.any_share |= w.bar.shares;
    for (Index m = 0; m < w.members.size(); ++m) {
      const auto& at = w.points[w.members[m]];
      for (int i = 0; i < at.rows; ++i) {
        const auto row = Index(w.problem.points[m].row + i), to = Index(at.row + i);
        set_lane(w.Y[to], l, w.bar.Y[row]);
        set_lane(w.mu_bar[to], l, w.bar.mu[row]);
        if (!w.bar.shares) continue;
        set_lane(w.share_bar[to], l, T(w.bar.share_bar[row]));
        set_lane(w.share[to], l, T(w.bar.share[row]));
      }
    }
  }
}

// What gaps, velocities before the step and restitution get: the rows of contact_adjoint.h, and D. Adds to
// p_bar and h_bar.
template <class S>
void targets_vjp(const Tree& tree, const Constraints& cons, const S* p, const Wanted& wanted, S* p_bar,
                 S& h_bar, ConstraintData<S>& c, Lists<S>& w) {
  const S h = p[tree.p.dt];
  std::fill(w.surplus.begin(), w.surplus.begin() + w.rows, S(0));
  for (const auto& at : w.points) {
    const TouchingPair& pair = cons.pairs[at.pair];
    const ConstraintGroup& g = group_of<S>(cons, at);
    RowsBar<S>& rows = c.contact.rows_bar[pair.point + at.slot];
    rows = RowsBar<S>::zero();
    rows.any_world = true;
    const mask_t<S> present = at.play > S(0);
    S theta_bar(0);
    for (int i = 0; i < at.rows; ++i) {
      const std::size_t row = at.row + i;
      rows.f[i] = w.lambda[row] / h;
      rows.g[i] = -w.Y[row];
      rows.friction[i] = w.mu_bar[row];
      if (w.any_bounce)
        theta_bar += w.lambda[row] * row_times(g, c, i, static_cast<const S*>(w.nu_shift.data()));
    }
    // A bounce: b_0 = (1 + e) (w_0 + theta (w*_0 - w_0)).
    const S Y = w.Y[at.row], speed = w.before[at.row], once = (S(1) + at.e) * Y;
    const mask_t<S> rests = present & (!at.bounces) & (!at.recovers);
    const S moves =
        select(at.bounces & (at.theta > S(-1)), theta_bar + once * (w.free[at.row] - speed), S(0));
    const S per = S(1) / select(at.bounces, speed, S(1));
    rows.r = select(rests, Y / h, -(moves * per / h));
    rows.h[0] = select(at.bounces, once * (S(1) - at.theta) - moves * at.theta * per, S(0));
    h_bar -= select(rests, Y * at.gap / (h * h), moves * at.theta / h);
    w.surplus[at.row] = select(at.bounces, once * at.theta - Y, S(0));
    restitution_vjp(tree, pair.geoms, p, select(at.bounces, at.meets * Y, S(0)), wanted, p_bar);
  }
}

// a'_bar = h (V + J' (Y + D)) in d.lambda, and nu_D. Adds to v_bar and h_bar: v* = v + h a'.
template <class S>
void free_motion_vjp(const Tree& tree, const Constraints& cons, const S& h, const S* V, S* v_bar, S& h_bar,
                     Data<S>& d, const ConstraintData<S>& c, Lists<S>& w) {
  S* pulled = d.lambda.data();
  std::copy(V, V + tree.nv, pulled);
  add_rows(cons, w, c, static_cast<const S*>(w.Y.data()), pulled);
  if (w.any_bounce) {
    std::fill(w.nu_surplus.begin(), w.nu_surplus.end(), S(0));
    add_rows(cons, w, c, static_cast<const S*>(w.surplus.data()), w.nu_surplus.data());
    for (int k = 0; k < tree.nv; ++k) {
      pulled[k] += w.nu_surplus[k];
      w.nu_surplus[k] = -w.nu_surplus[k];
    }
    solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), w.nu_surplus.data());
  }
  for (int k = 0; k < tree.nv; ++k) {
    v_bar[k] += pulled[k] - V[k];
    h_bar += (d.qacc[k] - w.change[k] / h) * pulled[k];
    pulled[k] *= h;
  }
}

}  // namespace

template <class S>
S hard_impulses_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* V, const Wanted& wanted,
                    S* v_bar, S* p_bar, Data<S>& d, ConstraintData<S>& c, HardWork<S>& work) {
  Lists<S>& w = *work.lists;
  impulses_bar<S>(tree, cons, V, work.moved_bar, d, c, w);
  laws_vjp<S>(cons, w);
  S h_bar(0);
  targets_vjp<S>(tree, cons, p, wanted, p_bar, h_bar, c, w);
  free_motion_vjp<S>(tree, cons, p[tree.p.dt], V, v_bar, h_bar, d, c, w);
  return h_bar;
}

namespace {

// The rows of c.contact.rows_bar with nu, and -<nu, M x>.
template <class S>
void sweep(const Tree& tree, const Constraints& cons, const S* p, const StateIn<S>& in, const S* v_next,
           const S* nu, const S* x, const Wanted& wanted, const StateBar<S>& bar, Data<S>& d,
           ConstraintData<S>& c) {
  const S* zeros = d.zeros.data();
  for (int i = 0; i < tree.nv; ++i) d.minus_lambda[i] = -nu[i];
  for (auto* forces : {&d.wrench, &d.axis_bar, &d.v_bar, &d.a_bar, &d.w_bar})
    std::fill(forces->begin(), forces->end(), Force<S>::zero());
  rnea_forward<S>(tree, Vec3<S>::zero(), in.v, zeros, d);
  virtual_velocities<S>(tree, d.minus_lambda.data(), d);
  contact_points_vjp<S>(tree, cons, p, in.q, in.v, v_next, nu, wanted, {bar.q, bar.v, bar.p}, d, c.contact);
  for (const TreeJoint& joint : tree.joints) {
    if (!wanted(joint.p.armature)) continue;
    for (int i = joint.dof; i < joint.dof + dof_size(joint.type); ++i)
      bar.p[joint.p.armature] -= nu[i] * x[i];
  }
  rnea_forward<S>(tree, Vec3<S>::zero(), zeros, x, d);
  rnea_vjp<S>(tree, p, in.q, zeros, x, static_cast<const S*>(d.minus_lambda.data()), true, wanted,
              {bar.q, d.unused.data(), nullptr, bar.p, nullptr}, d);
}

}  // namespace

template <class S>
void hard_points_vjp(const Tree& tree, const Constraints& cons, Implicit implicit, const S* p,
                     const StateIn<S>& in, const Wanted& wanted, const StateBar<S>& bar, Data<S>& d,
                     ConstraintData<S>& c, HardWork<S>& work) {
  Lists<S>& w = *work.lists;
  for (const auto& at : w.points) {
    const mask_t<S> present = at.play > S(0);
    c.zone[group_of<S>(cons, at).row] = select(present, at.play + select(at.bounces, S(4), S(0)), S(0));
  }
  if (w.points.empty()) return;
  std::copy(d.lambda.begin(), d.lambda.end(), w.mu_all.begin());
  sweep<S>(tree, cons, p, in, w.v_next.data(), w.mu_all.data(), d.zeros.data(), wanted, bar, d, c);
  if (w.any_share) {  // J_bar += share_bar a', a = M^-1 J' share
    std::fill(w.even.begin(), w.even.end(), S(0));
    for (const auto& at : w.points) {
      RowsBar<S>& rows = c.contact.rows_bar[cons.pairs[at.pair].point + at.slot];
      rows = RowsBar<S>::zero();
      rows.any_world = true;
      for (int i = 0; i < at.rows; ++i) {
        rows.g[i] = -w.share_bar[at.row + i];
        const S* column = w.columns.data() + Index(at.row + i) * Index(tree.nv);
        for (int k = 0; k < tree.nv; ++k) w.even[k] += w.share[at.row + i] * column[k];
      }
    }
    sweep<S>(tree, cons, p, in, w.even.data(), d.zeros.data(), d.zeros.data(), wanted, bar, d, c);
  }
  if (!w.any_bounce) return;
  // What the shift and the velocity of the impact add: rows f nu' - g a', and -<nu, M x>.
  const auto add = [&](const S* nu, std::vector<S>& x, const S* a, const auto& f_of, const auto& g_of) {
    for (const auto& at : w.points) {
      RowsBar<S>& rows = c.contact.rows_bar[cons.pairs[at.pair].point + at.slot];
      rows = RowsBar<S>::zero();
      rows.any_world = true;
      for (int i = 0; i < at.rows; ++i) rows.f[i] = f_of(at) * w.lambda[at.row + i];
      rows.g[0] = g_of(at);
    }
    sweep<S>(tree, cons, p, in, a, nu, x.data(), wanted, bar, d, c);
    S* accelerations = d.qacc.data();
    d.qacc.lie_at(x.data());
    clear_tendon_cotangents(d);
    add_implicit_vjp(tree, implicit, p, in, nu, wanted, bar.p, d);
    d.qacc.lie_at(accelerations);
    if (implicit != Implicit::damping_and_actuators) return;
    virtual_velocities<S>(tree, d.zeros.data(), d);
    actuation_vjp<S>(tree, p, in.q, in.v, in.act, in.u, d.zeros.data(), w.no_actuation.data(),
                     d.slope_bar.data(), wanted, {bar.q, bar.v, bar.act, bar.u, bar.p}, d);
    tendon_lengths_vjp<S>(tree, p, in.q, wanted, bar.q, bar.p, d);  // fixed ones: make_stepper refuses others
  };
  using Point = typename Lists<S>::Point;
  add(
      w.nu_shift.data(), w.shift, w.v_free.data(), [](const Point& at) { return at.theta; },
      [](const Point&) { return S(0); });
  add(
      w.nu_surplus.data(), w.change, w.v_free.data(), [](const Point&) { return S(1); },
      [&](const Point& at) { return -w.surplus[at.row]; });
}

#define COSTATE_INSTANTIATE(S)                                                                             \
  template S hard_impulses_vjp(const Tree&, const Constraints&, const S*, const S*, const Wanted&, S*, S*, \
                               Data<S>&, ConstraintData<S>&, HardWork<S>&);                                \
  template void hard_points_vjp(const Tree&, const Constraints&, Implicit, const S*, const StateIn<S>&,    \
                                const Wanted&, const StateBar<S>&, Data<S>&, ConstraintData<S>&,           \
                                HardWork<S>&);
COSTATE_INSTANTIATE(NativePack<double>)
COSTATE_INSTANTIATE(NativePack<float>)
COSTATE_INSTANTIATE(Dual<NativePack<double>>)
COSTATE_INSTANTIATE(Dual<NativePack<float>>)

}  // namespace costate::rigid

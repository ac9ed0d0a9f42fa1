#include "costate/rigid/hard_contact.h"

#include "costate/rigid/contact_jacobian.h"
#include "costate/rigid/hard_law.h"
#include "costate/rigid/impact_law.h"
#include "costate/rigid/restitution.h"

namespace costate::rigid {

template <class S>
struct HardWork<S>::Lists {
  using T = std::conditional_t<is_dual<S>, Dual<double>, double>;

  Lists(const Tree& tree, const Constraints& cons);
  void reserve(const Tree& tree, int count);  // room for so many rows

  // A point that some world of the pack has; first of its rows among those of all.
  struct Point {
    int pair, slot, row, rows;
    S gap, e, target, theta, meets;      // meets: u
    S weight;                            // of both bodies, inverse
    S play;                              // 1 in the worlds that have it, else 0; in the transpose its mode
    mask_t<S> bounces, recovers, alone;  // alone: its world has no other near
  };
  std::vector<Point> points;
  int rows = 0;
  bool any_bounce = false;

  // Of each row: M^-1 J' and J M^-1 J'; J v, J v*, impulses, coefficients of friction (1 for normals); cotangents, surplus: D.
  std::vector<S> columns, A;
  std::vector<S> before, free, lambda, mu;
  std::vector<S> lambda_bar, Y, mu_bar, surplus;

  // Of each dof: v*, v+, s, v+ - v*, nu_s, nu_D, mu.
  std::vector<S> v_free, v_next, shift, change, nu_shift, nu_surplus, mu_all;
  std::vector<S> no_actuation;

  // The world at hand.
  HardProblem<T> problem;
  HardBar<T> bar;
  std::vector<T> lane_bar;
  std::vector<int> members;  // its points
  HardSolver solver;
};

namespace {

template <class S>
using Lists = typename HardWork<S>::Lists;

using Index = std::size_t;

constexpr int kUsualRows = 48;

// What the tape says of a point, added to its mode.
constexpr int kBounces = 4, kRecovers = 8, kAlone = 16;

// One world of a pack.
template <class S>
auto lane_of(const S& x, int l) {
  if constexpr (is_dual<S>)
    return Dual<double>(double(lane(x.v, l)), double(lane(x.d[0], l)));
  else
    return double(lane(x, l));
}
template <class S, class T>
void set_lane(S& x, int l, const T& value) {
  using R = value_t<S>;
  if constexpr (is_dual<S>) {
    x.v.set(l, R(value.v));
    x.d[0].set(l, R(value.d[0]));
  } else {
    x.set(l, R(value));
  }
}
template <class S>
double value_in(const S& x, int l) {
  if constexpr (is_dual<S>)
    return double(lane(x.v, l));
  else
    return double(lane(x, l));
}
template <class S>
int lane_case(const S& x, int l) {
  return int(value_in(x, l));
}
template <class S>
bool lane_holds(const mask_t<S>& m, int l) {
  return lane_case(S(select(m, S(1), S(0))), l) > 0;
}
template <class S>
constexpr int lanes_in() {
  if constexpr (is_dual<S>)
    return lanes_of<typename S::Inner>;
  else
    return lanes_of<S>;
}

template <class S>
const ConstraintGroup& group_of(const Constraints& cons, const typename Lists<S>::Point& at) {
  const TouchingPair& pair = cons.pairs[Index(at.pair)];
  return cons.groups[Index(pair.group + at.slot)];
}

// sum_k J_ik x_k of row i of a point
template <class S>
S row_times(const ConstraintGroup& g, const ConstraintData<S>& c, int i, const S* x) {
  const int n = int(g.dofs.size());
  const S* J = c.J.data() + g.jacobian + i * n;
  S sum(0);
  for (int k = 0; k < n; ++k) sum += J[k] * x[g.dofs[Index(k)]];
  return sum;
}

// out += J' f
template <class S>
void add_rows(const Constraints& cons, const Lists<S>& w, const ConstraintData<S>& c, const S* f, S* out) {
  for (const auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    const int n = int(g.dofs.size());
    const S* J = c.J.data() + g.jacobian;
    for (int i = 0; i < at.rows; ++i) {
      for (int k = 0; k < n; ++k) out[g.dofs[Index(k)]] += J[i * n + k] * f[at.row + i];
    }
  }
}

// Makes room for the rows of w.points, and fills J, J v, mu, M^-1 J' and A.
template <class S>
void assemble(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const Data<S>& d,
              ConstraintData<S>& c, Lists<S>& w) {
  w.rows = 0;
  for (auto& at : w.points) {
    at.row = w.rows;
    w.rows += at.rows;
  }
  const auto rows = Index(w.rows);
  if (w.before.size() < rows) w.reserve(tree, w.rows);
  for (auto& at : w.points) {
    const TouchingPair& pair = cons.pairs[Index(at.pair)];
    const ConstraintGroup& g = group_of<S>(cons, at);
    const auto point = Index(pair.point + at.slot);
    const int n = int(g.dofs.size());
    S* J = c.J.data() + g.jacobian;
    contact_jacobian(tree, pair, g, c.contact.points[point].point, c.contact.frames[point], p, q, v, d, J,
                     w.before.data() + at.row);
    ContactParameters<S> par;
    contact_parameters(tree, pair.geoms, p, par);
    at.gap = c.contact.points[point].dist - contact_margin(tree, pair.geoms, p);
    at.e = restitution_of(tree, pair.geoms, p);
    at.weight = contact_weight(tree, pair, p);
    for (int i = 0; i < at.rows; ++i) {
      w.mu[Index(at.row + i)] = i == 0 ? S(1) : par.friction[i];
      S* column = w.columns.data() + Index(at.row + i) * Index(tree.nv);
      std::fill(column, column + tree.nv, S(0));
      for (int k = 0; k < n; ++k) column[g.dofs[Index(k)]] = J[i * n + k];
      solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), column);
    }
  }
  for (const auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    for (int i = 0; i < at.rows; ++i) {
      const auto row = Index(at.row + i);
      for (Index j = 0; j <= row; ++j)
        w.A[row * rows + j] = w.A[j * rows + row] =
            row_times(g, c, i, static_cast<const S*>(w.columns.data()) + j * Index(tree.nv));
    }
  }
}

// The target of a point's normal, and from when on its impulse moves positions. bounces and recovers are known, w_0 before the step and w*_0.
template <class S>
void set_target(const Constraints& cons, const S& h, const Lists<S>& w, typename Lists<S>::Point& at) {
  const S before = w.before[Index(at.row)], free = w.free[Index(at.row)];
  const S per = S(1) / select(at.bounces, h * before, S(-1));
  const S theta = -(at.gap * per);
  at.theta = select(at.bounces, select(theta > S(-1), theta, S(-1)), S(0));
  const S rest = select(at.recovers, S(value_t<S>(cons.hard.recovery_speed)), -(at.gap / h));
  at.meets = before + at.theta * (free - before);
  at.target = select(at.bounces, free - (S(1) + at.e) * at.meets, rest);
}

// s = M^-1 sum theta J' lambda, and with it the velocity of positions.
template <class S>
void set_moved(const Tree& tree, Lists<S>& w, std::vector<S>& moved) {
  std::fill(w.shift.begin(), w.shift.end(), S(0));
  if (w.any_bounce) {
    for (const auto& at : w.points) {
      for (int i = 0; i < at.rows; ++i) {
        const S weight = at.theta * w.lambda[Index(at.row + i)];
        const S* column = w.columns.data() + Index(at.row + i) * Index(tree.nv);
        for (int k = 0; k < tree.nv; ++k) w.shift[Index(k)] += weight * column[k];
      }
    }
  }
  for (Index k = 0; k < moved.size(); ++k) moved[k] = w.v_next[k] - w.shift[k];
}

// The problem of lane l: its points are those that `takes_part`. b is J v* - target.
template <class S, class TakesPart>
void gather(const Lists<S>& w, int l, const TakesPart& takes_part, HardProblem<typename Lists<S>::T>& problem,
            std::vector<int>& members) {
  problem.clear();
  members.clear();
  for (Index k = 0; k < w.points.size(); ++k) {
    if (!takes_part(w.points[k])) continue;
    problem.add_point(w.points[k].rows, value_in(w.points[k].weight, l));
    members.push_back(int(k));
  }
  problem.make_room();
  const auto all = Index(w.rows);
  for (Index m = 0; m < members.size(); ++m) {
    const auto& at = w.points[Index(members[m])];
    const int to = problem.points[m].row;
    for (int i = 0; i < at.rows; ++i) {
      const auto row = Index(at.row + i);
      problem.mu[Index(to + i)] = lane_of(w.mu[row], l);
      problem.b[Index(to + i)] = lane_of(i == 0 ? S(w.free[row] - at.target) : w.free[row], l);
      for (Index other = 0; other < members.size(); ++other) {
        const auto& with = w.points[Index(members[other])];
        for (int j = 0; j < with.rows; ++j)
          problem.a(to + i, problem.points[other].row + j) = lane_of(w.A[row * all + Index(with.row + j)], l);
      }
    }
  }
}

// How far the laws may be off (hard_law.h).
template <class S>
double ridge_of(bool alone) {
  const bool fine = sizeof(value_t<S>) == 8;
  return alone ? (fine ? 1e-13 : 1e-7) : (fine ? 1e-8 : 1e-4);
}

// Something can move the sides of the point apart.
template <class S>
bool normal_moves(const Lists<S>& w, const typename Lists<S>::Point& at, int l) {
  const auto diagonal = [&](int i) { return value_in(w.A[Index(at.row + i) * Index(w.rows + 1)], l); };
  double others = 0;
  for (int i = 1; i < at.rows && i < 3; ++i) others += diagonal(i);
  return diagonal(0) > 1e-10 * others;
}

}  // namespace

template <class S>
HardWork<S>::HardWork(const Tree& tree, const Constraints& cons) {
  if (!hard_contacts(cons)) return;
  lists = std::make_unique<Lists>(tree, cons);
  moved.assign(Index(tree.nv), S(0));
  moved_bar = moved;
}
template <class S>
HardWork<S>::~HardWork() = default;

template <class S>
HardWork<S>::Lists::Lists(const Tree& tree, const Constraints& cons) {
  points.reserve(Index(cons.points));
  for (auto* values : {&v_free, &v_next, &shift, &nu_shift, &nu_surplus, &change, &mu_all})
    values->assign(Index(tree.nv), S(0));
  no_actuation.assign(Index(tree.na), S(0));
  // As many points as bodies usually have at once; more make the scratch grow.
  int most = 0;
  for (const TouchingPair& pair : cons.pairs) most += pair.geoms.slots * pair.geoms.condim;
  most = std::min(most, kUsualRows);
  reserve(tree, most);
  problem.reserve(most);
  bar.reserve(most);
  lane_bar.reserve(Index(most));
  members.reserve(Index(cons.points));
  solver.reserve(most, is_dual<S>);
}

template <class S>
void HardWork<S>::Lists::reserve(const Tree& tree, int count) {
  const auto n = Index(count);
  for (auto* values : {&before, &free, &lambda, &mu, &lambda_bar, &Y, &mu_bar, &surplus}) values->resize(n);
  columns.resize(n * Index(tree.nv));
  A.resize(n * n);
}

template <class S>
void hard_contact(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, Data<S>& d,
                  ConstraintData<S>& c, HardWork<S>& work, S* tape) {
  Lists<S>& w = *work.lists;
  const S h = p[tree.p.dt];
  for (int i = 0; i < tree.nv; ++i) w.v_free[Index(i)] = v[i] + h * d.qacc[Index(i)];
  near_points(tree, cons, p, q, static_cast<const S*>(w.v_free.data()), h, static_cast<const Data<S>&>(d),
              c.contact);
  w.points.clear();
  for (const int index : c.contact.touching) {
    const TouchingPair& pair = cons.pairs[Index(index)];
    const S reach = contact_margin(tree, pair.geoms, p) + c.contact.slack[Index(index)];
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      const mask_t<S> near = c.contact.points[Index(pair.point + slot)].dist < reach;
      if (!any(near)) continue;
      typename Lists<S>::Point at{};
      at.pair = index;
      at.slot = slot;
      at.rows = pair.geoms.condim;
      at.play = select(near, S(1), S(0));
      w.points.push_back(at);
    }
  }
  assemble(tree, cons, p, q, v, static_cast<const Data<S>&>(d), c, w);
  w.any_bounce = false;
  for (auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    const S speed = w.before[Index(at.row)];
    const mask_t<S> fast =
        (speed < S(0)) & (-(at.e * speed) > S(value_t<S>(cons.rest_speed))) & (at.play > S(0));
    at.bounces = fast & (at.gap + h * speed < S(0));
    at.recovers = (!at.bounces) & (at.gap < -(S(value_t<S>(cons.hard.recovery_speed)) * h));
    at.play = select(fast & (!at.bounces), S(0), at.play);
    w.any_bounce |= any(at.bounces);
    for (int i = 0; i < at.rows; ++i)
      w.free[Index(at.row + i)] = row_times(g, c, i, static_cast<const S*>(w.v_free.data()));
    set_target<S>(cons, h, w, at);
  }
  if (tape) {
    std::fill(tape, tape + cons.rows + cons.points, S(0));
    std::copy(c.contact.slack.begin(), c.contact.slack.end(), tape + cons.rows + cons.points);
  }
  std::fill(w.lambda.begin(), w.lambda.begin() + w.rows, S(0));
  for (int l = 0; l < lanes_in<S>() && !w.points.empty(); ++l) {
    gather<S>(
        w, l, [&](const auto& at) { return lane_case(at.play, l) > 0 && normal_moves<S>(w, at, l); },
        w.problem, w.members);
    if (w.members.empty()) continue;
    const bool alone = w.members.size() == 1;
    w.problem.ridge = ridge_of<S>(alone);
    w.solver.solve(w.problem);
    for (Index m = 0; m < w.members.size(); ++m) {
      const auto& at = w.points[Index(w.members[m])];
      const auto& solved = w.problem.points[m];
      if (solved.mode == HardMode::open) continue;
      for (int i = 0; i < at.rows; ++i) {
        const auto row = Index(solved.row + i);
        set_lane(w.lambda[Index(at.row + i)], l, w.problem.mu[row] * w.problem.l[row]);
      }
      if (!tape) continue;
      const int kind = int(solved.mode) + (lane_holds<S>(at.bounces, l) ? kBounces : 0) +
                       (lane_holds<S>(at.recovers, l) ? kRecovers : 0) + (alone ? kAlone : 0);
      S& record = tape[cons.rows + cons.pairs[Index(at.pair)].point + at.slot];
      set_lane(record, l, typename Lists<S>::T(double(kind)));
    }
  }
  for (const auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    for (int i = 0; i < at.rows; ++i) {
      const S& impulse = w.lambda[Index(at.row + i)];
      if (tape) tape[g.row + i] = impulse;
      const S* column = w.columns.data() + Index(at.row + i) * Index(tree.nv);
      const S force = impulse / h;
      for (int k = 0; k < tree.nv; ++k) d.qacc[Index(k)] += force * column[k];
    }
  }
  for (int k = 0; k < tree.nv; ++k) w.v_next[Index(k)] = v[k] + h * d.qacc[Index(k)];
  set_moved<S>(tree, w, work.moved);
}

template <class S>
void recall_hard_contact(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v,
                         const S* tape, Data<S>& d, ConstraintData<S>& c, HardWork<S>& work) {
  Lists<S>& w = *work.lists;
  const S h = p[tree.p.dt];
  const S *kinds = tape + cons.rows, *slack = kinds + cons.points;
  kinematics(tree, p, q, d);
  std::copy(slack, slack + cons.pairs.size(), c.contact.slack.begin());
  w.points.clear();
  c.contact.touching.clear();
  for (Index index = 0; index < cons.pairs.size(); ++index) {
    const TouchingPair& pair = cons.pairs[index];
    const Index before = w.points.size();
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      const S& kind = kinds[pair.point + slot];
      c.contact.rows_bar[Index(pair.point + slot)].any_world = false;
      if (!any(kind > S(0))) continue;
      typename Lists<S>::Point at{};
      at.pair = int(index);
      at.slot = slot;
      at.rows = pair.geoms.condim;
      at.play = held(kind);
      w.points.push_back(at);
    }
    if (w.points.size() > before) c.contact.touching.push_back(int(index));
  }
  listed_points(tree, cons, p, q, static_cast<const Data<S>&>(d), c.contact);
  assemble(tree, cons, p, q, v, static_cast<const Data<S>&>(d), c, w);
  for (int k = 0; k < tree.nv; ++k) w.v_next[Index(k)] = v[k] + h * d.qacc[Index(k)];
  w.any_bounce = false;
  std::fill(w.change.begin(), w.change.end(), S(0));
  for (auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    const auto take = [&](int flag) {
      const S number = S(static_cast<value_t<S>>(flag));
      const mask_t<S> has = at.play >= number;
      at.play = select(has, at.play - number, at.play);
      return has;
    };
    at.alone = take(kAlone);
    at.recovers = take(kRecovers);
    at.bounces = take(kBounces);
    w.any_bounce |= any(at.bounces);
    for (int i = 0; i < at.rows; ++i) {
      const S impulse = tape[g.row + i];
      w.lambda[Index(at.row + i)] = impulse;
      const S* column = w.columns.data() + Index(at.row + i) * Index(tree.nv);
      for (int k = 0; k < tree.nv; ++k) w.change[Index(k)] += impulse * column[k];
    }
  }
  for (int k = 0; k < tree.nv; ++k) w.v_free[Index(k)] = w.v_next[Index(k)] - w.change[Index(k)];
  for (auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    for (int i = 0; i < at.rows; ++i)
      w.free[Index(at.row + i)] = row_times(g, c, i, static_cast<const S*>(w.v_free.data()));
    set_target<S>(cons, h, w, at);
  }
  set_moved<S>(tree, w, work.moved);
}

template <class S>
S hard_impulses_vjp(const Tree& tree, const Constraints& cons, const S* p, const S* V, const Wanted& wanted,
                    S* v_bar, S* p_bar, Data<S>& d, ConstraintData<S>& c, HardWork<S>& work) {
  Lists<S>& w = *work.lists;
  using T = typename Lists<S>::T;
  const S h = p[tree.p.dt];
  if (w.any_bounce) {
    for (Index k = 0; k < w.nu_shift.size(); ++k) w.nu_shift[k] = -work.moved_bar[k];
    solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), w.nu_shift.data());
  }
  for (const auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    for (int i = 0; i < at.rows; ++i) {
      const auto row = Index(at.row + i);
      const S* column = w.columns.data() + row * Index(tree.nv);
      S sum(0);
      for (int k = 0; k < tree.nv; ++k) sum += column[k] * V[k];
      if (w.any_bounce) sum += at.theta * row_times(g, c, i, static_cast<const S*>(w.nu_shift.data()));
      w.lambda_bar[row] = sum;
    }
  }
  std::fill(w.Y.begin(), w.Y.begin() + w.rows, S(0));
  std::fill(w.mu_bar.begin(), w.mu_bar.begin() + w.rows, S(0));
  for (int l = 0; l < lanes_in<S>() && !w.points.empty(); ++l) {
    gather<S>(
        w, l, [&](const auto& at) { return lane_case(at.play, l) > 0; }, w.problem, w.members);
    if (w.members.empty()) continue;
    w.lane_bar.resize(Index(w.problem.size));
    for (Index m = 0; m < w.members.size(); ++m) {
      const auto& at = w.points[Index(w.members[m])];
      auto& to = w.problem.points[m];
      to.mode = HardMode(lane_case(at.play, l));
      for (int i = 0; i < at.rows; ++i) {
        const auto from = Index(at.row + i), row = Index(to.row + i);
        w.problem.l[row] = lane_of(w.lambda[from], l) / w.problem.mu[row];
        w.lane_bar[row] = lane_of(w.lambda_bar[from], l);
      }
    }
    w.problem.ridge = ridge_of<S>(lane_holds<S>(w.points[Index(w.members[0])].alone, l));
    w.solver.vjp(w.problem, w.lane_bar, w.bar);
    for (bool leaves = cons.hard.aware; leaves;) {
      leaves = false;
      for (Index m = 0; m < w.members.size(); ++m) {
        auto& at = w.problem.points[m];
        const bool rests =
            at.mode != HardMode::open && !lane_holds<S>(w.points[Index(w.members[m])].bounces, l);
        if (!rests || !(w.bar.Y[Index(at.row)] > T(0))) continue;
        at.mode = HardMode::open;
        leaves = true;
      }
      if (leaves) w.solver.vjp(w.problem, w.lane_bar, w.bar);
    }
    for (Index m = 0; m < w.members.size(); ++m) {
      const auto& at = w.points[Index(w.members[m])];
      for (int i = 0; i < at.rows; ++i) {
        const auto row = Index(w.problem.points[m].row + i);
        set_lane(w.Y[Index(at.row + i)], l, w.bar.Y[row]);
        set_lane(w.mu_bar[Index(at.row + i)], l, w.bar.mu[row]);
      }
    }
  }

  // What gaps, velocities before the step and restitution get; the rows of contact_adjoint.h.
  S h_bar(0);
  std::fill(w.surplus.begin(), w.surplus.begin() + w.rows, S(0));
  for (const auto& at : w.points) {
    const TouchingPair& pair = cons.pairs[Index(at.pair)];
    const ConstraintGroup& g = group_of<S>(cons, at);
    RowsBar<S>& rows = c.contact.rows_bar[Index(pair.point + at.slot)];
    rows = RowsBar<S>::zero();
    rows.any_world = true;
    const mask_t<S> present = at.play > S(0);
    S theta_bar(0);
    for (int i = 0; i < at.rows; ++i) {
      const auto row = Index(at.row + i);
      rows.f[i] = w.lambda[row] / h;
      rows.g[i] = -w.Y[row];
      rows.friction[i] = w.mu_bar[row];
      if (w.any_bounce)
        theta_bar += w.lambda[row] * row_times(g, c, i, static_cast<const S*>(w.nu_shift.data()));
    }
    // A bounce: b_0 = (1 + e) (w_0 + theta (w*_0 - w_0)).
    const S Y = w.Y[Index(at.row)], speed = w.before[Index(at.row)], once = (S(1) + at.e) * Y;
    const mask_t<S> rests = present & (!at.bounces) & (!at.recovers);
    const S moves =
        select(at.bounces & (at.theta > S(-1)), theta_bar + once * (w.free[Index(at.row)] - speed), S(0));
    const S per = S(1) / select(at.bounces, speed, S(1));
    rows.r = select(rests, Y / h, -(moves * per / h));
    rows.h[0] = select(at.bounces, once * (S(1) - at.theta) - moves * at.theta * per, S(0));
    h_bar -= select(rests, Y * at.gap / (h * h), moves * at.theta / h);
    w.surplus[Index(at.row)] = select(at.bounces, once * at.theta - Y, S(0));
    restitution_vjp(tree, pair.geoms, p, select(at.bounces, at.meets * Y, S(0)), wanted, p_bar);
  }
  // a'_bar, and h in v* = v + h a'.
  S* pulled = d.lambda.data();
  std::copy(V, V + tree.nv, pulled);
  add_rows(cons, w, c, static_cast<const S*>(w.Y.data()), pulled);
  if (w.any_bounce) {
    std::fill(w.nu_surplus.begin(), w.nu_surplus.end(), S(0));
    add_rows(cons, w, c, static_cast<const S*>(w.surplus.data()), w.nu_surplus.data());
    for (int k = 0; k < tree.nv; ++k) {
      pulled[k] += w.nu_surplus[Index(k)];
      w.nu_surplus[Index(k)] = -w.nu_surplus[Index(k)];
    }
    solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), w.nu_surplus.data());
  }
  for (int k = 0; k < tree.nv; ++k) {
    v_bar[k] += pulled[k] - V[k];
    h_bar += (d.qacc[Index(k)] - w.change[Index(k)] / h) * pulled[k];
    pulled[k] *= h;
  }
  return h_bar;
}

namespace {

// The rows of c.contact.rows_bar with nu, and -<nu, M x>.
template <class S>
void sweep(const Tree& tree, const Constraints& cons, const S* p, const StateIn<S>& in, const S* v_next,
           const S* nu, const S* x, const Wanted& wanted, const StateBar<S>& bar, Data<S>& d,
           ConstraintData<S>& c) {
  const S* zeros = d.zeros.data();
  for (int i = 0; i < tree.nv; ++i) d.minus_lambda[Index(i)] = -nu[i];
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
    c.zone[Index(group_of<S>(cons, at).row)] =
        select(present, at.play + select(at.bounces, S(4), S(0)), S(0));
  }
  if (w.points.empty()) return;
  std::copy(d.lambda.begin(), d.lambda.end(), w.mu_all.begin());
  sweep<S>(tree, cons, p, in, w.v_next.data(), w.mu_all.data(), d.zeros.data(), wanted, bar, d, c);
  if (!w.any_bounce) return;
  // What the shift and the velocity of the impact add: rows f nu' - g a', and -<nu, M x>.
  const auto add = [&](const S* nu, std::vector<S>& x, const S* a, const auto& f_of, const auto& g_of) {
    for (const auto& at : w.points) {
      RowsBar<S>& rows = c.contact.rows_bar[Index(cons.pairs[Index(at.pair)].point + at.slot)];
      rows = RowsBar<S>::zero();
      rows.any_world = true;
      for (int i = 0; i < at.rows; ++i) rows.f[i] = f_of(at) * w.lambda[Index(at.row + i)];
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
      [&](const Point& at) { return -w.surplus[Index(at.row)]; });
}

#define COSTATE_INSTANTIATE(S)                                                                               \
  template class HardWork<S>;                                                                                \
  template void hard_contact(const Tree&, const Constraints&, const S*, const S*, const S*, Data<S>&,        \
                             ConstraintData<S>&, HardWork<S>&, S*);                                          \
  template void recall_hard_contact(const Tree&, const Constraints&, const S*, const S*, const S*, const S*, \
                                    Data<S>&, ConstraintData<S>&, HardWork<S>&);                             \
  template S hard_impulses_vjp(const Tree&, const Constraints&, const S*, const S*, const Wanted&, S*, S*,   \
                               Data<S>&, ConstraintData<S>&, HardWork<S>&);                                  \
  template void hard_points_vjp(const Tree&, const Constraints&, Implicit, const S*, const StateIn<S>&,      \
                                const Wanted&, const StateBar<S>&, Data<S>&, ConstraintData<S>&,             \
                                HardWork<S>&);
COSTATE_INSTANTIATE(NativePack<double>)
COSTATE_INSTANTIATE(NativePack<float>)
COSTATE_INSTANTIATE(Dual<NativePack<double>>)
COSTATE_INSTANTIATE(Dual<NativePack<float>>)

}  // namespace costate::rigid

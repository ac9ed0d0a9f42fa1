#include "costate/rigid/contact/contact_jacobian.h"
#include "costate/rigid/contact/hard_lists.h"
#include "costate/rigid/contact/impact_law.h"
#include "costate/rigid/contact/restitution.h"

namespace costate::rigid {
namespace {

template <class S>
using Lists = HardLists<S>;

using Index = std::size_t;

constexpr int kUsualRows = 48;

// Makes room for the rows of w.points, and fills J, J v, mu, M^-1 J' and A.
template <class S>
void assemble(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, const Data<S>& d,
              ConstraintData<S>& c, Lists<S>& w) {
  w.rows = 0;
  for (auto& at : w.points) {
    at.row = w.rows;
    w.rows += at.rows;
  }
  const std::size_t rows = w.rows;
  if (w.before.size() < rows) w.reserve(tree, w.rows);
  for (auto& at : w.points) {
    const TouchingPair& pair = cons.pairs[at.pair];
    const ConstraintGroup& g = group_of<S>(cons, at);
    const std::size_t point = pair.point + at.slot;
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
      w.mu[at.row + i] = i == 0 ? S(1) : par.friction[i];
      S* column = w.columns.data() + Index(at.row + i) * Index(tree.nv);
      std::fill(column, column + tree.nv, S(0));
      for (int k = 0; k < n; ++k) column[g.dofs[k]] = J[i * n + k];
      solve_factored(tree.dofs, d.M.data(), d.inverse_D.data(), column);
    }
  }
  for (const auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    for (int i = 0; i < at.rows; ++i) {
      const std::size_t row = at.row + i;
      for (Index j = 0; j <= row; ++j)
        w.A[row * rows + j] = w.A[j * rows + row] =
            row_times(g, c, i, static_cast<const S*>(w.columns.data()) + j * Index(tree.nv));
    }
  }
}

// The target of a point's normal, and from when on its impulse moves positions. bounces and recovers are
// known, w_0 before the step and w*_0.
template <class S>
void set_target(const Constraints& cons, const S& h, const Lists<S>& w, typename Lists<S>::Point& at) {
  const S before = w.before[at.row], free = w.free[at.row];
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
        const S weight = at.theta * w.lambda[at.row + i];
        const S* column = w.columns.data() + Index(at.row + i) * Index(tree.nv);
        for (int k = 0; k < tree.nv; ++k) w.shift[k] += weight * column[k];
      }
    }
  }
  for (Index k = 0; k < moved.size(); ++k) moved[k] = w.v_next[k] - w.shift[k];
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
  moved.assign(tree.nv, S(0));
  moved_bar = moved;
}
template <class S>
HardWork<S>::~HardWork() = default;

template <class S>
HardWork<S>::Lists::Lists(const Tree& tree, const Constraints& cons) {
  points.reserve(cons.points);
  for (auto* values : {&v_free, &v_next, &shift, &nu_shift, &nu_surplus, &change, &mu_all, &even})
    values->assign(tree.nv, S(0));
  no_actuation.assign(tree.na, S(0));
  // As many points as bodies usually have at once; more make the scratch grow.
  int most = 0;
  for (const TouchingPair& pair : cons.pairs) most += pair.geoms.slots * pair.geoms.condim;
  most = std::min(most, kUsualRows);
  reserve(tree, most);
  problem.reserve(most);
  bar.reserve(most);
  lane_bar.reserve(most);
  members.reserve(cons.points);
  solver.reserve(most, is_dual<S>);
}

template <class S>
void HardWork<S>::Lists::reserve(const Tree& tree, int count) {
  const std::size_t n = count;
  for (auto* values : {&before, &free, &lambda, &mu, &lambda_bar, &Y, &mu_bar, &surplus, &share_bar, &share})
    values->resize(n);
  columns.resize(n * Index(tree.nv));
  A.resize(n * n);
}

namespace {

// The points that bodies may close within the step, into w.points.
template <class S>
void list_near_points(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S& h,
                      const Data<S>& d, ContactData<S>& contact, Lists<S>& w) {
  near_points(tree, cons, p, q, static_cast<const S*>(w.v_free.data()), h, d, contact);
  w.points.clear();
  for (const int index : contact.touching) {
    const TouchingPair& pair = cons.pairs[index];
    const S reach = contact_margin(tree, pair.geoms, p) + contact.slack[index];
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      const mask_t<S> near = contact.points[pair.point + slot].dist < reach;
      if (!any(near)) continue;
      typename Lists<S>::Point at{};
      at.pair = index;
      at.slot = slot;
      at.rows = pair.geoms.condim;
      at.play = select(near, S(1), S(0));
      w.points.push_back(at);
    }
  }
}

// Which of them bounce, and which recover. What is fast enough to bounce but not there yet does not take
// part.
template <class S>
void set_cases(const Constraints& cons, const S& h, Lists<S>& w) {
  w.any_bounce = false;
  for (auto& at : w.points) {
    const S speed = w.before[at.row];
    const mask_t<S> fast =
        (speed < S(0)) & (-(at.e * speed) > S(value_t<S>(cons.rest_speed))) & (at.play > S(0));
    at.bounces = fast & (at.gap + h * speed < S(0));
    at.recovers = (!at.bounces) & (at.gap < -(S(value_t<S>(cons.hard.recovery_speed)) * h));
    at.play = select(fast & (!at.bounces), S(0), at.play);
    w.any_bounce |= any(at.bounces);
  }
}

// The points that had an impulse, into w.points with their cases, from a tape. Tape: S, or S without
// tangents.
template <class S, class Tape>
void list_taped_points(const Constraints& cons, const Tape* tape, ContactData<S>& contact, Lists<S>& w) {
  const Tape *kinds = tape + cons.rows, *slack = kinds + cons.points;
  for (Index index = 0; index < cons.pairs.size(); ++index) contact.slack[index] = S(slack[index]);
  w.points.clear();
  contact.touching.clear();
  w.any_bounce = false;
  for (Index index = 0; index < cons.pairs.size(); ++index) {
    const TouchingPair& pair = cons.pairs[index];
    const Index before = w.points.size();
    for (int slot = 0; slot < pair.geoms.slots; ++slot) {
      const Tape& kind = kinds[pair.point + slot];
      contact.rows_bar[pair.point + slot].any_world = false;
      if (!any(kind > Tape(0))) continue;
      typename Lists<S>::Point at{};
      at.pair = int(index);
      at.slot = slot;
      at.rows = pair.geoms.condim;
      at.play = held(S(kind));
      const auto take = [&](int flag) {
        const S number = S(static_cast<value_t<S>>(flag));
        const mask_t<S> has = at.play >= number;
        at.play = select(has, at.play - number, at.play);
        return has;
      };
      take(kTied);
      at.ridged = take(kRidged);
      at.recovers = take(kRecovers);
      at.bounces = take(kBounces);
      w.any_bounce |= any(at.bounces);
      w.points.push_back(at);
    }
    if (w.points.size() > before) contact.touching.push_back(int(index));
  }
}

// A pair with a point whose mode rounding has decided, in some world of the tape, or -1.
template <class S>
int tied_pair(const Constraints& cons, const S* tape) {
  const S least(static_cast<value_t<S>>(kTied)), open(static_cast<value_t<S>>(kOpenTied));
  for (Index index = 0; index < cons.pairs.size(); ++index) {
    const S* kinds = tape + cons.rows + cons.pairs[index].point;
    for (int slot = 0; slot < cons.pairs[index].geoms.slots; ++slot)
      if (any((kinds[slot] >= least) | (kinds[slot] == open))) return int(index);
  }
  return -1;
}

// J v* of all rows, and the targets of normals.
template <class S>
void set_free_motion(const Constraints& cons, const S& h, const ConstraintData<S>& c, Lists<S>& w) {
  for (auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    for (int i = 0; i < at.rows; ++i)
      w.free[at.row + i] = row_times(g, c, i, static_cast<const S*>(w.v_free.data()));
    set_target<S>(cons, h, w, at);
  }
}

// Impulses of all worlds from the laws, into w.lambda, and the case of each point that has one.
template <class S>
void solve_laws(const Constraints& cons, Lists<S>& w, S* tape) {
  for (int l = 0; l < lanes_in<S>() && !w.points.empty(); ++l) {
    gather<S>(
        w, l, [&](const auto& at) { return lane_case(at.play, l) > 0 && normal_moves<S>(w, at, l); },
        w.problem, w.members);
    if (w.members.empty()) continue;
    w.solver.solve(w.problem);
    if (tape) w.solver.note_ties(w.problem);
    for (Index m = 0; m < w.members.size(); ++m) {
      const auto& at = w.points[w.members[m]];
      const auto& solved = w.problem.points[m];
      const bool open = solved.mode == HardMode::open;
      for (int i = 0; i < at.rows && !open; ++i) {
        const std::size_t row = solved.row + i;
        set_lane(w.lambda[at.row + i], l, w.problem.mu[row] * w.problem.l[row]);
      }
      if (!tape || (open && !solved.tied)) continue;
      const int kind = int(solved.mode) + (lane_holds<S>(at.bounces, l) ? kBounces : 0) +
                       (lane_holds<S>(at.recovers, l) ? kRecovers : 0) + (w.problem.ridge > 0 ? kRidged : 0) +
                       (solved.tied ? kTied : 0);
      S& record = tape[cons.rows + cons.pairs[at.pair].point + at.slot];
      set_lane(record, l, double(open ? kOpenTied : kind));
    }
  }
}

// Impulses of a plain step's tape, with the tangents that the laws give them.
template <class S>
void solve_tangents(const Constraints& cons, const plain_t<S>* tape, Lists<S>& w) {
  for (const auto& at : w.points) {
    for (int i = 0; i < at.rows; ++i) w.lambda[at.row + i] = S(tape[group_of<S>(cons, at).row + i]);
  }
  for (int l = 0; l < lanes_in<S>() && !w.points.empty(); ++l) {
    gather_solved<S>(w, l, w.problem, w.members);
    if (w.members.empty()) continue;
    w.solver.tangent(w.problem);
    for (Index m = 0; m < w.members.size(); ++m) {
      const auto& at = w.points[w.members[m]];
      for (int i = 0; i < at.rows; ++i) {
        const std::size_t row = w.problem.points[m].row + i;
        w.lambda[at.row + i].d[0].set(l, value_t<S>((w.problem.mu[row] * w.problem.l[row]).d[0]));
      }
    }
  }
}

}  // namespace

template <class S>
void hard_contact(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v, Data<S>& d,
                  ConstraintData<S>& c, HardWork<S>& work, S* tape) {
  Lists<S>& w = *work.lists;
  const Data<S>& pose = d;
  const S h = p[tree.p.dt];
  for (int i = 0; i < tree.nv; ++i) w.v_free[i] = v[i] + h * d.qacc[i];
  if constexpr (is_dual<S>) {
    list_taped_points<S>(cons, work.plain.tape, c.contact, w);
    listed_points(tree, cons, p, q, pose, work.plain.shapes, c.contact);
    assemble<S>(tree, cons, p, q, v, pose, c, w);
  } else {
    list_near_points<S>(tree, cons, p, q, h, pose, c.contact, w);
    assemble<S>(tree, cons, p, q, v, pose, c, w);
    set_cases<S>(cons, h, w);
  }
  set_free_motion<S>(cons, h, c, w);
  std::fill(w.lambda.begin(), w.lambda.begin() + w.rows, S(0));
  if constexpr (is_dual<S>) {
    if (tape) std::copy(work.plain.tape, work.plain.tape + hard_tape_size(cons), tape);
    solve_tangents<S>(cons, work.plain.tape, w);
  } else {
    if (tape) {
      std::fill(tape, tape + cons.rows + cons.points, S(0));
      std::copy(c.contact.slack.begin(), c.contact.slack.end(), tape + cons.rows + cons.points);
    }
    solve_laws<S>(cons, w, tape);
  }
  for (const auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    for (int i = 0; i < at.rows; ++i) {
      const S& impulse = w.lambda[at.row + i];
      if (tape) tape[g.row + i] = impulse;
      const S* column = w.columns.data() + Index(at.row + i) * Index(tree.nv);
      const S force = impulse / h;
      for (int k = 0; k < tree.nv; ++k) d.qacc[k] += force * column[k];
    }
  }
  for (int k = 0; k < tree.nv; ++k) w.v_next[k] = v[k] + h * d.qacc[k];
  set_moved<S>(tree, w, work.moved);
}

template <class S>
void recall_hard_contact(const Tree& tree, const Constraints& cons, const S* p, const S* q, const S* v,
                         const S* tape, Data<S>& d, ConstraintData<S>& c, HardWork<S>& work) {
  Lists<S>& w = *work.lists;
  const Data<S>& pose = d;
  const S h = p[tree.p.dt];
  kinematics(tree, p, q, d);
  list_taped_points<S>(cons, tape, c.contact, w);
  listed_points(tree, cons, p, q, pose, work.plain.shapes, c.contact);
  assemble<S>(tree, cons, p, q, v, pose, c, w);
  for (int k = 0; k < tree.nv; ++k) w.v_next[k] = v[k] + h * d.qacc[k];
  work.contradicts = false;
  work.tied = tied_pair(cons, tape);
  std::fill(w.change.begin(), w.change.end(), S(0));
  for (const auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    work.contradicts |= any(at.ridged);
    for (int i = 0; i < at.rows; ++i) {
      const S impulse = tape[g.row + i];
      w.lambda[at.row + i] = impulse;
      const S* column = w.columns.data() + Index(at.row + i) * Index(tree.nv);
      for (int k = 0; k < tree.nv; ++k) w.change[k] += impulse * column[k];
    }
  }
  for (int k = 0; k < tree.nv; ++k) w.v_free[k] = w.v_next[k] - w.change[k];
  set_free_motion<S>(cons, h, c, w);
  set_moved<S>(tree, w, work.moved);
}

#define COSTATE_INSTANTIATE(S)                                                                               \
  template class HardWork<S>;                                                                                \
  template void hard_contact(const Tree&, const Constraints&, const S*, const S*, const S*, Data<S>&,        \
                             ConstraintData<S>&, HardWork<S>&, S*);                                          \
  template void recall_hard_contact(const Tree&, const Constraints&, const S*, const S*, const S*, const S*, \
                                    Data<S>&, ConstraintData<S>&, HardWork<S>&);
COSTATE_INSTANTIATE(NativePack<double>)
COSTATE_INSTANTIATE(NativePack<float>)
COSTATE_INSTANTIATE(Dual<NativePack<double>>)
COSTATE_INSTANTIATE(Dual<NativePack<float>>)

}  // namespace costate::rigid

// What hard contact keeps of a pack of worlds while it works: shared by hard_contact.cpp and
// hard_adjoint.cpp.
#pragma once

#include "costate/rigid/contact/contact_mixing.h"
#include "costate/rigid/contact/hard_contact.h"
#include "costate/rigid/contact/hard_law.h"

namespace costate::rigid {

template <class S>
struct HardWork<S>::Lists {
  using T = std::conditional_t<is_dual<S>, Dual<double>, double>;

  Lists(const Tree& tree, const Constraints& cons);
  void reserve(const Tree& tree, int count);  // room for so many rows

  // A point that some world of the pack has; first of its rows among those of all.
  struct Point {
    int pair, slot, row, rows;
    S gap, e, target, theta, meets;       // meets: u
    S weight;                             // of both bodies, inverse
    S play;                               // 1 in the worlds that have it, else 0; in the transpose its mode
    mask_t<S> bounces, recovers, ridged;  // ridged: the laws of its world contradict each other
  };
  std::vector<Point> points;
  int rows = 0;
  bool any_bounce = false;

  // Of each row: M^-1 J' and J M^-1 J'; J v, J v*, impulses, coefficients of friction (1 for normals);
  // cotangents, surplus: D.
  std::vector<S> columns, A;
  std::vector<S> before, free, lambda, mu;
  std::vector<S> lambda_bar, Y, mu_bar, surplus;
  // Where the motion depends on who carries what: cotangent of the rows, and what they carry.
  std::vector<S> share_bar, share;
  bool any_share = false;

  // Of each dof: v*, v+, s, v+ - v*, nu_s, nu_D, mu, a.
  std::vector<S> v_free, v_next, shift, change, nu_shift, nu_surplus, mu_all, even;
  std::vector<S> no_actuation;

  // The world at hand.
  HardProblem<T> problem;
  HardBar<T> bar;
  std::vector<T> lane_bar;
  std::vector<int> members;  // its points
  HardSolver solver;
};

template <class S>
using HardLists = typename HardWork<S>::Lists;

// What the tape says of a point, added to its mode. An open point is not on it, unless it is tied.
inline constexpr int kBounces = 4, kRecovers = 8, kRidged = 16, kTied = 32, kOpenTied = -1;

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
const ConstraintGroup& group_of(const Constraints& cons, const typename HardLists<S>::Point& at) {
  const TouchingPair& pair = cons.pairs[at.pair];
  return cons.groups[pair.group + at.slot];
}

// sum_k J_ik x_k of row i of a point
template <class S>
S row_times(const ConstraintGroup& g, const ConstraintData<S>& c, int i, const S* x) {
  const int n = int(g.dofs.size());
  const S* J = c.J.data() + g.jacobian + i * n;
  S sum(0);
  for (int k = 0; k < n; ++k) sum += J[k] * x[g.dofs[k]];
  return sum;
}

// out += J' f
template <class S>
void add_rows(const Constraints& cons, const HardLists<S>& w, const ConstraintData<S>& c, const S* f,
              S* out) {
  for (const auto& at : w.points) {
    const ConstraintGroup& g = group_of<S>(cons, at);
    const int n = int(g.dofs.size());
    const S* J = c.J.data() + g.jacobian;
    for (int i = 0; i < at.rows; ++i) {
      for (int k = 0; k < n; ++k) out[g.dofs[k]] += J[i * n + k] * f[at.row + i];
    }
  }
}

// The problem of lane l: its points are those that `takes_part`. b is J v* - target.
template <class S, class TakesPart>
void gather(const HardLists<S>& w, int l, const TakesPart& takes_part,
            HardProblem<typename HardLists<S>::T>& problem, std::vector<int>& members) {
  problem.clear();
  members.clear();
  for (std::size_t k = 0; k < w.points.size(); ++k) {
    if (!takes_part(w.points[k])) continue;
    problem.add_point(w.points[k].rows, value_in(w.points[k].weight, l));
    members.push_back(int(k));
  }
  problem.make_room();
  problem.rounding = sizeof(value_t<S>) == 8 ? 1e-16 : 1e-8;
  const std::size_t all = w.rows;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const auto& at = w.points[members[m]];
    const int to = problem.points[m].row;
    for (int i = 0; i < at.rows; ++i) {
      const std::size_t row = at.row + i;
      problem.mu[to + i] = lane_of(w.mu[row], l);
      problem.b[to + i] = lane_of(i == 0 ? S(w.free[row] - at.target) : w.free[row], l);
      for (std::size_t other = 0; other < members.size(); ++other) {
        const auto& with = w.points[members[other]];
        for (int j = 0; j < with.rows; ++j)
          problem.a(to + i, problem.points[other].row + j) =
              lane_of(w.A[row * all + std::size_t(with.row + j)], l);
      }
    }
  }
}

// The problem of lane l and its solution: the points that have an impulse, in the modes that `play` names.
template <class S>
void gather_solved(const HardLists<S>& w, int l, HardProblem<typename HardLists<S>::T>& problem,
                   std::vector<int>& members) {
  gather<S>(
      w, l, [&](const auto& at) { return lane_case(at.play, l) > 0; }, problem, members);
  for (std::size_t m = 0; m < members.size(); ++m) {
    const auto& at = w.points[members[m]];
    auto& to = problem.points[m];
    to.mode = HardMode(lane_case(at.play, l));
    for (int i = 0; i < at.rows; ++i) {
      const std::size_t row = to.row + i;
      problem.l[row] = lane_of(w.lambda[at.row + i], l) / problem.mu[row];
    }
  }
  problem.ridge = !members.empty() && lane_holds<S>(w.points[members[0]].ridged, l) ? kHardPull : 0;
}

}  // namespace costate::rigid

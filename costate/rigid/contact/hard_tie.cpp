// Ties of hard contact: points whose mode rounding could have decided otherwise.
//
// The pieces of hard_law.h meet where, at the solution,
//
//   open and closed     |l_0 / r - w_0| = 0        neither an impulse nor a speed at which the sides part
//   stick and slip      ||y| - s| / r = 0          the impulse is on its cone, and nothing slides
//
// There the slopes to the two sides differ, and the transpose is that of one of them. Both are velocities,
// and "zero" is small against V = max |c_0| + sum_j |C_0j l_j| over the normals of the world.
//
// A point that others hold where it is has no such tie: its velocity is a combination of velocities that stay
// zero whatever moves, and its mode changes nothing. That is so for a corner on the floor while three others
// carry the box. With E the rows that points without a tie hold (all of a sticking point, the normal of a
// slipping one), row o is held by others where C_oo - C_oE C_EE^-1 C_Eo = 0.
//
// Tests: tests/rigid/contact/hard_tie_test.cpp.
#include <algorithm>
#include <cmath>

#include "costate/rigid/contact/hard_law.h"

namespace costate::rigid {
namespace {

using Index = std::size_t;

constexpr double kShift = 1e-8;  // of the largest diagonal: C_EE may be singular
constexpr double kHeld = 1e-5;   // of C_oo: more than kShift and rounding make of 0

// s = l_0 - r w_0 and |y|, in units of velocity.
struct Edges {
  double closing, sliding;
};
Edges edges_of(const HardProblem<double>& p, const HardProblem<double>::Point& at) {
  double square = 0;
  for (int k = 1; k < at.rows; ++k) {
    const double y = p.l[at.row + k] / at.step - p.w[at.row + k];
    square += y * y;
  }
  return {p.l[at.row] / at.step - p.w[at.row], std::sqrt(square)};
}

}  // namespace

// Factorises C_EE, from the points whose ties_ say so.
bool HardSolver::factor_held(const HardProblem<double>& p) {
  const std::size_t n = p.size;
  rows_.clear();
  for (Index m = 0; m < p.points.size(); ++m) {
    const auto& at = p.points[m];
    if (at.mode == HardMode::open || ties_[m] == Tie::parts) continue;
    const bool all = at.mode == HardMode::stick && ties_[m] == Tie::none;
    for (int k = 0; k < (all ? at.rows : 1); ++k) rows_.push_back(at.row + k);
  }
  const std::size_t held = rows_.size();
  double most = 0;
  for (const int row : rows_) most = std::max(most, p.C[Index(row) * (n + 1)]);
  G_.resize(held * held);
  for (Index i = 0; i < held; ++i) {
    for (Index j = 0; j < held; ++j)
      G_[i * held + j] = p.C[Index(rows_[i]) * n + Index(rows_[j])] + (i == j ? kShift * most : 0);
  }
  factor_.resize(int(held));
  return held > 0 && factor_.factorise(G_.data());
}

bool HardSolver::held_by_others(const HardProblem<double>& p, int row) {
  const std::size_t n = p.size, o = row;
  double left = p.C[o * (n + 1)];
  start_.resize(rows_.size());
  for (Index i = 0; i < rows_.size(); ++i) start_[i] = p.C[Index(rows_[i]) * n + o];
  factor_.solve(start_.data(), start_.data());
  for (Index i = 0; i < rows_.size(); ++i) left -= p.C[o * n + Index(rows_[i])] * start_[i];
  return left <= kHeld * p.C[o * (n + 1)];
}

void HardSolver::note_ties(HardProblem<double>& p) {
  const std::size_t n = p.size;
  p.velocities();
  double fastest = 0;
  for (const auto& at : p.points) {
    double terms = std::abs(p.c[at.row]);
    for (Index j = 0; j < n; ++j) terms += std::abs(p.C[Index(at.row) * n + j] * p.l[j]);
    fastest = std::max(fastest, terms);
  }
  const double zero = 0.1 * std::sqrt(p.rounding) * fastest;
  bool any = false;
  ties_.resize(p.points.size());
  for (Index m = 0; m < p.points.size(); ++m) {
    auto& at = p.points[m];
    const Edges edges = edges_of(p, at);
    const bool slides = at.mode != HardMode::open && std::abs(edges.sliding - edges.closing) <= zero;
    ties_[m] = std::abs(edges.closing) <= zero ? Tie::parts : slides ? Tie::slides : Tie::none;
    at.tied = ties_[m] != Tie::none;
    any |= at.tied;
  }
  if (!any || !factor_held(p)) return;
  for (Index m = 0; m < p.points.size(); ++m) {
    auto& at = p.points[m];
    if (!at.tied) continue;
    const int first = ties_[m] == Tie::parts ? 0 : 1, end = ties_[m] == Tie::parts ? 1 : at.rows;
    bool held = true;
    for (int k = first; k < end && held; ++k) held = held_by_others(p, at.row + k);
    at.tied = !held;
  }
}

}  // namespace costate::rigid

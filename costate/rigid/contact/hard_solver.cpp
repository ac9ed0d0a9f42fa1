// The solution of hard_law.h: five ways of coming nearer that hand over to each other.
//
//   sweep      Each point exactly, given the others [3]. The start: who carries what. Slow in stacks.
//   polish     Newton's method on F, steps halved. The end: exact in one step once every mode is right.
//   approach   polish, with 4, 8, 16, ... sweeps between tries. One pull and one centre: most problems need
//              no more than this.
//   descend    approach with ever narrower pulls. For points that friction couples so strongly that Newton's
//              method goes round in circles: a wide pull makes them independent, each answer starts the next.
//   tighten    approach with a centre that follows l [4]. Takes the pull's own part off the answer, a factor
//              of the pull each pass; says whether the laws hold, or what is left no longer changes.
//
//   solve      3 sweeps, approach, else descend; then tighten. Not settled: again from points pressed
//              together, harder each time, since friction has several answers and some paths end before they
//              reach one. Not settled then: no impulses obey, and the first answer keeps its pull, the ridge.
//
// Constants, in units of what they are compared with:
//
//   kHardPull 1e-3    Three digits each pass of tighten; the factor of G loses no more than these three.
//   kWidest 100       The pull outweighs all couplings: a diagonal of A is a sum of a few inverse weights.
//   kLeast 1e-9       The narrowest pull of tighten: rounding grows by the inverse.
//   kNear 1e-6        The first answer need only have the modes; tighten makes it exact.
//   goal 1e3          Roundings of A and b, times the impulses: sums of n terms, and what the factor loses.
//   kNothing 1e4      Roundings: what a pull of 1e-3 makes of one in a velocity, and ten to be safe.
//   kHardSlack 1e-6   Above the heights of corners that settle together, below what one sees (hard_law.h).
//   kRunAway 1e5      Times the impulses that stop each point alone: a body between walls, two passes on.
//   0.25              A pass that gains less than a factor of four is slow: the next pull is narrower.
//
// Tests: tests/rigid/contact/hard_law_test.cpp.
#include <algorithm>
#include <cmath>

#include "costate/rigid/contact/hard_piece.h"
#include "costate/rigid/contact/impact_law.h"

namespace costate::rigid {
namespace {

using Index = std::size_t;

constexpr double kWidest = 100;   // pulls of descend() begin here,
constexpr double kLeast = 1e-9;   // and those of tighten() end here
constexpr double kNear = 1e-6;    // of the impulses: where Newton's method may take over
constexpr double kRunAway = 1e5;  // times the impulses: nothing that acts at the points can do it
constexpr double kNothing = 1e4;  // times rounding: the pull's inverse, and ten to be safe
constexpr int kRestarts = 4;
constexpr int kWidenings = 6;  // of pulls that were too narrow

double largest(const std::vector<double>& x) {
  double m = 0;
  for (const double v : x) m = std::max(m, std::abs(v));
  return m;
}

double largest_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double m = 0;
  for (Index i = 0; i < x.size(); ++i) m = std::max(m, std::abs(x[i] - y[i]));
  return m;
}

// One point given the others: l from (C + rho P) l = -q, q what it does without an impulse of its own.
void solve_point(const HardProblem<double>& p, double ridge, const HardProblem<double>::Point& at,
                 const double* q, double* l) {
  const auto C = [&](int i, int j) {
    const double entry = p.C[Index(at.row + i) * Index(p.size) + Index(at.row + j)];
    return i == j ? entry + ridge * p.R[at.row + i] : entry;
  };
  std::fill(l, l + at.rows, 0.0);
  if (q[0] >= 0) return;
  ImpactSystem<double> s;
  s.rows = at.rows;
  for (int i = 0; i < at.rows; ++i) {
    for (int j = 0; j < at.rows; ++j) s.A[i][j] = C(i, j);
    s.b[i] = -q[i];
    s.mu[i] = 1;
  }
  solve_impact(s);
  bool good = s.l[0] > 0;
  double square = 0;
  for (int k = 0; k < at.rows; ++k) good &= std::isfinite(s.l[k]);
  for (int k = 1; k < at.rows; ++k) square += s.l[k] * s.l[k];
  if (!good || square > 1.01 * s.l[0] * s.l[0]) {  // no impulse on the cone stops it: the normal alone
    l[0] = -q[0] / C(0, 0);
    return;
  }
  std::copy(s.l, s.l + at.rows, l);
}

}  // namespace

double HardSolver::natural_map(HardProblem<double>& p) {
  p.velocities();
  for (Index i = 0; i < p.w.size(); ++i) p.w[i] += pull_ * p.R[i] * (p.l[i] - centre_[i]);
  for (auto& at : p.points) {
    const double *l = p.l.data() + at.row, *w = p.w.data() + at.row;
    const double s = l[0] - at.step * w[0];
    double square = 0;
    for (int k = 1; k < at.rows; ++k) {
      const double y = l[k] - at.step * w[k];
      square += y * y;
    }
    at.mode = s <= at.nothing ? HardMode::open : square <= s * s ? HardMode::stick : HardMode::slip;
  }
  residual(p, F_);
  return largest(F_);
}

// What rounding can make of an impulse that is none: that of its normal velocity, which a pull turns into an
// impulse.
void HardSolver::note_rounding(HardProblem<double>& p) {
  const std::size_t n = p.size;
  for (auto& at : p.points) {
    const std::size_t i = at.row;
    double terms = std::abs(p.c[i]);
    for (Index j = 0; j < n; ++j) terms += std::abs(p.C[i * n + j] * p.l[j]);
    at.nothing = kNothing * p.rounding * at.step * terms;
  }
}

void HardSolver::sweep(HardProblem<double>& p) {
  const std::size_t n = p.size;
  for (const auto& at : p.points) {
    double q[kMostRows];
    for (int k = 0; k < at.rows; ++k) {
      const std::size_t i = at.row + k;
      q[k] = p.c[i] - pull_ * p.R[i] * centre_[i];
      for (Index j = 0; j < n; ++j) q[k] += p.C[i * n + j] * p.l[j];
      for (int j = 0; j < at.rows; ++j) q[k] -= p.C[i * n + Index(at.row + j)] * p.l[at.row + j];
    }
    solve_point(p, p.ridge + pull_, at, q, p.l.data() + at.row);
  }
}

// Newton's method from p.l; the best l in best_, with |F| there in the last entry. Whether it is below the
// goal.
bool HardSolver::polish(HardProblem<double>& p, double goal) {
  constexpr int kSteps = 20;
  double now = natural_map(p);
  const auto note = [&] {
    if (now >= best_.back()) return;
    std::copy(p.l.begin(), p.l.end(), best_.begin());
    best_.back() = now;
  };
  note();
  for (int i = 0; i < kSteps && now > 0.01 * goal; ++i) {
    if (!factor_piece(p, pull_)) break;
    start_ = F_;
    factor_.solve(start_.data(), start_.data());
    before_ = p.l;
    double then = now;
    for (double part = 1; part > 0.1; part /= 2) {
      for (Index k = 0; k < start_.size(); ++k) p.l[k] = before_[k] - part * start_[k];
      then = natural_map(p);
      if (then < now) break;
    }
    if (!(then < now)) break;
    now = then;
    note();
  }
  return best_.back() <= goal;
}

double HardSolver::approach(HardProblem<double>& p, int rounds, double goal) {
  best_.back() = 1e300;
  if (!polish(p, goal)) {
    swept_ = p.l;
    std::copy(best_.begin(), best_.end() - 1, swept_.begin());
    int sweeps = 4;
    for (int round = 0; round < rounds; ++round, sweeps *= 2) {
      p.l = swept_;
      for (int i = 0; i < sweeps; ++i) sweep(p);
      swept_ = p.l;
      if (polish(p, goal)) break;
    }
  }
  std::copy(best_.begin(), best_.end() - 1, p.l.begin());
  return natural_map(p);
}

// From wide pulls to narrow ones, in steps that shrink where one fails. Whether it got there.
bool HardSolver::descend(HardProblem<double>& p, double goal) {
  double wide = kWidest, factor = 0.1;
  p.l = kept_ = centre_;
  while (factor < 0.98) {
    pull_ = std::max(kHardPull, wide * factor);
    p.l = kept_;
    if (approach(p, 4, goal) > goal) {
      factor = std::sqrt(factor);
      continue;
    }
    if (pull_ <= kHardPull) return true;
    kept_ = p.l;
    wide = pull_;
    factor = std::max(0.1, factor * factor);
  }
  return false;
}

// Centres that follow l, until the laws hold without a pull: to rounding, or to `slack` where what is left no
// longer changes.
double HardSolver::tighten(HardProblem<double>& p, double goal, double slack, double runs_away) {
  double before = 1e300;
  int wider = 0;
  bool reached = true;
  for (int pass = 0;; ++pass) {
    centre_ = p.l;
    const double now = natural_map(p), size = largest(p.l);
    const double rounding = std::max(goal, 10 * p.rounding * size);
    const double change = pass > 0 ? largest_difference(F_, last_) : 1e300;
    settled_ = now <= rounding || (reached && change <= rounding && now <= slack);
    if (settled_ || pass == 30 || wider == kWidenings || size > runs_away) return now;
    if (pass > 1 && change > 0.25 * before) pull_ = std::max(0.1 * pull_, kLeast);
    before = change;
    last_ = F_;
    kept_ = p.l;
    const double next = std::max(goal, 1e-3 * std::min(now, change));
    while (!(reached = approach(p, 3, next) <= next) && wider < kWidenings) {
      ++wider;
      pull_ *= 10;
      p.l = kept_;
    }
  }
}

double HardSolver::solve(HardProblem<double>& p) {
  std::fill(p.l.begin(), p.l.end(), 0.0);
  if (p.size == 0) return 0;
  best_.assign(Index(p.size) + 1, 0.0);
  for (auto& at : p.points) at.nothing = 0;
  p.scale();
  double scale = 1e-300;
  for (const auto& at : p.points) {
    for (int k = 0; k < at.rows; ++k) scale = std::max(scale, at.step * std::abs(p.c[at.row + k]));
  }
  const double near = kNear * scale, goal = 1e3 * p.rounding * scale,
               slack = std::max(goal, kHardSlack * scale), runs_away = kRunAway * scale;
  p.ridge = 0;
  centre_ = p.l;
  pull_ = kHardPull;
  for (int i = 0; i < 3; ++i) sweep(p);
  if (approach(p, 3, near) > near) descend(p, near);
  pulled_ = p.l;
  note_rounding(p);
  double error = tighten(p, goal, slack, runs_away), press = scale;
  for (int i = 0; i < kRestarts && !settled_ && largest(p.l) < runs_away; ++i) {
    std::fill(centre_.begin(), centre_.end(), 0.0);
    for (const auto& at : p.points) centre_[at.row] = press;
    press *= 3;
    descend(p, near);
    error = tighten(p, goal, slack, runs_away);
  }
  if (!settled_) {  // no answer: the first one with a pull is that with a ridge
    p.ridge = kHardPull;
    pull_ = 0;
    p.l = pulled_;
    error = approach(p, 4, goal);
  }
  return error / scale;
}

}  // namespace costate::rigid

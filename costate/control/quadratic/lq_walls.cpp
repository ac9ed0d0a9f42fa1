#include "costate/control/quadratic/lq_walls.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "costate/core/error.h"
#include "costate/core/interrupt.h"

namespace costate::control {
namespace {

constexpr int kIterations = 200, kTries = 20;
constexpr double kSmallestPrice = 1e-14;
constexpr double kRounding = 1e-10;    // of states, in units of themselves
constexpr double kLargestPush = 1e15;  // what pushes harder moves nothing

// The bound of each state of each step, none for the first row of x, which is given.
struct Bounds {
  std::vector<double> lower, upper;

  explicit Bounds(const LinearQuadratic& p)
      : lower(spread(p, p.x_lower, -std::numeric_limits<double>::infinity())),
        upper(spread(p, p.x_upper, std::numeric_limits<double>::infinity())) {
    const auto n = std::size_t(p.states);
    for (std::size_t i = 0; i < lower.size(); ++i)
      if (!(lower[i] <= upper[i]))
        throw Error("the bounds of state " + std::to_string(i % n) +
                    " contradict each other: no state lies between " + std::to_string(lower[i]) + " and " +
                    std::to_string(upper[i]));
  }
  static std::vector<double> spread(const LinearQuadratic& p, const std::vector<double>& from, double none) {
    const auto n = std::size_t(p.states), rows = std::size_t(p.steps);
    std::vector<double> to((rows + 1) * n, none);
    for (std::size_t i = 0; i < rows * n && !from.empty(); ++i)
      to[n + i] = from[from.size() == n ? i % n : i];
    return to;
  }
  // How far x is behind the wall that y pushes against, or that it has passed: 0 where there is none.
  double behind(std::size_t i, double x, double y) const {
    if (y > 0) return x - upper[i];
    if (y < 0) return x - lower[i];
    return x > upper[i] ? x - upper[i] : x < lower[i] ? x - lower[i] : 0;
  }
};

// The problem with y as linear terms of its states.
LinearQuadratic pushed(const LinearQuadratic& p, const std::vector<double>& y) {
  LinearQuadratic with = p;
  const auto n = std::size_t(p.states), rows = std::size_t(p.steps);
  with.x_lower.clear(), with.x_upper.clear();
  with.q.assign(rows * n, 0.0), with.qf.assign(n, 0.0);
  for (std::size_t i = 0; i < rows * n; ++i)
    with.q[i] = y[i] + (p.q.empty() ? 0.0 : p.q[p.q.size() == n ? i % n : i]);
  for (std::size_t i = 0; i < n; ++i) with.qf[i] = y[rows * n + i] + (p.qf.empty() ? 0.0 : p.qf[i]);
  return with;
}

// A point of the dual: its value, and the solution it belongs to.
struct Dual {
  std::vector<double> y;
  LinearQuadraticSolution s;
  double value = 0;

  void evaluate(const LinearQuadratic& p, const Bounds& bounds, const std::vector<double>& controls) {
    s = solve_box(pushed(p, y), controls);
    value = s.value;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (y[i] != 0) value -= y[i] * (y[i] > 0 ? bounds.upper[i] : bounds.lower[i]);
  }
};

// S: how the states of these rows answer to pushes at them.
Eigen::MatrixXd answers_of(LqPass& pass, const LinearQuadratic& p, const std::vector<int>& rows) {
  const auto count = Eigen::Index(rows.size()), all = Eigen::Index(p.steps + 1) * p.states;
  std::vector<double> q(std::size_t(all), 0.0), v(std::size_t(p.steps * p.controls)), w(q.size());
  Eigen::MatrixXd S(count, count);
  for (Eigen::Index j = 0; j < count; ++j) {
    q[std::size_t(rows[std::size_t(j)])] = 1;
    pass.solve({q.data(), nullptr, nullptr, nullptr}, v.data(), w.data(), nullptr);
    q[std::size_t(rows[std::size_t(j)])] = 0;
    for (Eigen::Index i = 0; i < count; ++i) S(i, j) = -w[std::size_t(rows[std::size_t(i)])];
  }
  return S;
}

// (S + price)^-1 off, the price a part of the largest diagonal. Walls that say the same thing twice share the
// push.
Eigen::VectorXd pushes_of(const Eigen::MatrixXd& S, double price, const Eigen::VectorXd& off) {
  Eigen::MatrixXd priced = S;
  priced.diagonal().array() += price * std::max(S.diagonal().maxCoeff(), 1e-100);
  return priced.ldlt().solve(off);
}

[[noreturn]] void cannot_be_met(const LinearQuadratic& p, const Bounds& bounds, const Dual& at) {
  // Of the walls that are pushed as hard as any, the first that is passed all the same.
  double hardest = 0, most = 0;
  for (const double y : at.y) hardest = std::max(hardest, std::abs(y));
  std::size_t worst = 0;
  for (std::size_t i = 0; i < at.y.size() && most == 0; ++i)
    if (std::abs(at.y[i]) >= 1e-6 * hardest) worst = i, most = std::abs(bounds.behind(i, at.s.x[i], 0));
  const auto n = std::size_t(p.states);
  throw Error({"the bounds of the states cannot be met: state " + std::to_string(worst % n) + " after step " +
                   std::to_string(worst / n - 1) + " is off by " + std::to_string(most),
               "control::solve", "widen them, or the bounds of the controls"},
              Error::Kind::numerics);
}

// One climb. False: there is nothing more to gain. Where the controls that could move a state are at their
// bounds D is a line and Newton's step endless. With all controls free D would be curved the most, and a step
// of that curvature does not go too far; often some times its length is better, and where walls that stop
// pushing change the direction a price shortens it.
bool climb(const LinearQuadratic& p, const Bounds& bounds, const std::vector<int>& rows,
           const Eigen::VectorXd& off, Dual& at) {
  LqPass pass(p);
  Eigen::MatrixXd S;
  double price = kSmallestPrice, length = 1;
  for (int i = 0; i < kTries; ++i) {
    if (i < 2) pass.factorise(i == 0 ? at.s.held.data() : nullptr), S = answers_of(pass, p, rows);
    length = i == 1 ? 16 : i == 2 ? 4 : 1;
    if (i > 3) price = std::max(10 * price, 1e-2);
    const Eigen::VectorXd dy = length * pushes_of(S, price, off);
    if (!dy.allFinite()) return false;
    Dual next = at;
    double promised = 0;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const auto r = std::size_t(rows[j]);
      const double before = at.y[r], after = before + dy[Eigen::Index(j)];
      const bool upper = before != 0 ? before > 0 : off[Eigen::Index(j)] > 0;
      next.y[r] = upper ? std::max(after, 0.0) : std::min(after, 0.0);  // a wall pushes, it does not pull
      promised += off[Eigen::Index(j)] * (next.y[r] - before);
    }
    next.evaluate(p, bounds, at.s.u);
    if (next.value >= at.value + 1e-4 * promised - 1e-14 * std::abs(at.value)) {
      at = std::move(next);
      return true;
    }
  }
  return false;
}

}  // namespace

bool has_walls(const LinearQuadratic& p) { return !p.x_lower.empty() || !p.x_upper.empty(); }

LinearQuadraticSolution solve_walls(const LinearQuadratic& p) {
  const Bounds bounds(p);
  Dual at;
  at.y.assign(bounds.lower.size(), 0.0);
  at.evaluate(p, bounds, {});
  double before = std::numeric_limits<double>::infinity();
  for (int i = 0;; ++i) {
    stop_if_interrupted();
    std::vector<int> rows;
    std::vector<double> offs;
    double worst = 0;
    for (std::size_t r = 0; r < at.y.size(); ++r) {
      const double off = bounds.behind(r, at.s.x[r], at.y[r]);
      if (off == 0 && at.y[r] == 0) continue;
      rows.push_back(int(r)), offs.push_back(off);
      worst = std::max(worst, std::abs(off) / (1 + std::abs(at.s.x[r])));
    }
    // Rounding may leave a little: as long as each climb takes most of it away, go on.
    if (worst == 0 || (worst < kRounding && !(worst < 0.1 * before))) break;
    before = worst;
    const Eigen::VectorXd off = Eigen::Map<const Eigen::VectorXd>(offs.data(), Eigen::Index(offs.size()));
    const auto [least, most] = std::minmax_element(at.y.begin(), at.y.end());
    const bool hopeless = i == kIterations || *most > kLargestPush || *least < -kLargestPush;
    if (hopeless || !climb(p, bounds, rows, off, at)) {
      if (worst < kRounding) break;
      cannot_be_met(p, bounds, at);
    }
  }
  LinearQuadraticSolution s = std::move(at.s);
  for (std::size_t i = 0; i < at.y.size(); ++i) s.value -= at.y[i] * s.x[i];
  s.push = std::move(at.y);
  return s;
}

std::vector<int> held_states(const LinearQuadratic& p, const LinearQuadraticSolution& s) {
  std::vector<int> rows;
  if (!has_walls(p)) return rows;
  for (std::size_t i = 0; i < s.push.size(); ++i)
    if (s.push[i] != 0) rows.push_back(int(i));
  return rows;
}

std::vector<double> solve_held(LqPass& pass, const LinearQuadratic& p, const std::vector<int>& rows,
                               const std::vector<double>& at, const LqPass::Terms& t, double* v, double* w,
                               double* mu) {
  const std::size_t all = std::size_t(p.steps + 1) * std::size_t(p.states);
  std::vector<double> own;
  if (!w) own.resize(all), w = own.data();
  pass.solve(t, v, w, mu);
  if (rows.empty()) return {};
  Eigen::VectorXd off(Eigen::Index(rows.size()));
  for (std::size_t j = 0; j < rows.size(); ++j)
    off[Eigen::Index(j)] = w[rows[j]] - (at.empty() ? 0.0 : at[j]);
  const Eigen::VectorXd nu = pushes_of(answers_of(pass, p, rows), kSmallestPrice, off);
  std::vector<double> q(all, 0.0);
  if (t.q) std::copy_n(t.q, all, q.begin());
  for (std::size_t j = 0; j < rows.size(); ++j) q[std::size_t(rows[j])] += nu[Eigen::Index(j)];
  pass.solve({q.data(), t.r, t.c, t.x0}, v, w, mu);
  return {nu.data(), nu.data() + nu.size()};
}

}  // namespace costate::control

#include "costate/control/plan/constrained.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "costate/control/quadratic/lq_pass.h"
#include "costate/core/error.h"
#include "costate/core/text.h"

namespace costate::control {
namespace {

constexpr int kOuter = 40, kInner = 60, kPolish = 12;
constexpr double kPriceGrowth = 10, kLargestRho = 1e9, kNearEnough = 1e-4;

// A constraint at a step that takes part: its value and gradient.
struct Row {
  std::size_t constraint;
  std::int64_t k;
  double value;
  Vector x, u;
};

std::vector<Row> active_rows(const DdpSolver& s) {
  const Plant& plant = s.expansion.plant();
  const std::int64_t N = s.problem.steps, n = plant.states(), m = plant.controls();
  auto block = plant.take();
  std::vector<Row> rows;
  for (std::size_t j = 0; j < s.problem.constraints.size(); ++j) {
    const Constraint& c = s.problem.constraints[j];
    for (std::int64_t k = c.of->next(0, N); k <= N; k = c.of->next(k + 1, N)) {
      const double *x = &s.x[std::size_t(k * n)], *u = k < N ? &s.u[std::size_t(k * m)] : nullptr;
      Row row{j, k, plant.value(*c.of, k, N, x, u, *block), Vector::Zero(plant.tangents()), Vector::Zero(m)};
      const double y = s.multipliers.y[j][std::size_t(k)];
      if (c.equality || y + s.multipliers.rho * row.value > 0) {
        plant.add_gradient(*c.of, k, N, x, u, 1, {row.x.data(), row.u.data(), nullptr, nullptr, nullptr},
                           *block);
        rows.push_back(std::move(row));
      }
      if (k == N) break;
    }
  }
  plant.give_back(std::move(block));
  return rows;
}

void move_multipliers(DdpSolver& s) {
  const Plant& plant = s.expansion.plant();
  const std::int64_t N = s.problem.steps, n = plant.states(), m = plant.controls();
  auto block = plant.take();
  for (std::size_t j = 0; j < s.problem.constraints.size(); ++j) {
    const Constraint& c = s.problem.constraints[j];
    for (std::int64_t k = c.of->next(0, N); k <= N; k = c.of->next(k + 1, N)) {
      double& y = s.multipliers.y[j][std::size_t(k)];
      y = next_multiplier(c.equality, y, s.multipliers.rho,
                          plant.value(*c.of, k, N, &s.x[std::size_t(k * n)],
                                      k < N ? &s.u[std::size_t(k * m)] : nullptr, *block));
      if (k == N) break;
    }
  }
  plant.give_back(std::move(block));
}

// One control or state of every row of a solution.
double along(const Row& row, const std::vector<double>& w, const std::vector<double>& v) {
  const auto n = row.x.size(), m = row.u.size();
  double sum = row.x.dot(VectorIn(&w[std::size_t(row.k * n)], n));
  if (row.k * m < Eigen::Index(v.size())) sum += row.u.dot(VectorIn(&v[std::size_t(row.k * m)], m));
  return sum;
}

// Held: at a bound and pushed against it.
std::vector<char> held_controls(const DdpSolver& s) {
  std::vector<char> held(s.u.size());
  const std::size_t m = std::size_t(s.expansion.lq.controls);
  for (std::size_t i = 0; i < s.u.size(); ++i) {
    const double g = s.expansion.gradient[i];
    if (!s.problem.lower.empty() && s.u[i] <= s.problem.lower[i % m] && g > 0) held[i] = -1;
    if (!s.problem.upper.empty() && s.u[i] >= s.problem.upper[i % m] && g < 0) held[i] = 1;
  }
  return held;
}

// The step (w, v) of states and controls, and the change of the active multipliers.
struct NewtonStep {
  std::vector<double> w, v;
  Vector dy;
};

NewtonStep newton_step(DdpSolver& s, const std::vector<Row>& rows) {
  const LinearQuadratic& lq = s.expansion.lq;
  const auto n = std::size_t(lq.states), m = std::size_t(lq.controls), N = std::size_t(lq.steps);
  const auto count = Eigen::Index(rows.size());
  LqPass pass(lq);
  const std::vector<char> held = held_controls(s);
  pass.factorise(held.data());
  std::vector<double> q = lq.q;
  q.insert(q.end(), lq.qf.begin(), lq.qf.end());
  NewtonStep step{std::vector<double>((N + 1) * n), std::vector<double>(N * m), Vector::Zero(count)};
  pass.solve({q.data(), lq.r.data(), lq.c.data(), nullptr}, step.v.data(), step.w.data(), nullptr);
  // Each active constraint pulls the solution; together they meet C z = -c.
  std::vector<std::vector<double>> w(rows.size(), std::vector<double>(step.w.size())),
      v(rows.size(), std::vector<double>(step.v.size()));
  Matrix schur(count, count);
  Vector missing(count);
  std::vector<double> at_x(step.w.size()), at_u(step.v.size());
  for (std::size_t j = 0; j < rows.size(); ++j) {
    const auto k = std::size_t(rows[j].k);
    std::copy_n(rows[j].x.data(), n, &at_x[k * n]);
    if (k < N) std::copy_n(rows[j].u.data(), m, &at_u[k * m]);
    pass.solve({at_x.data(), at_u.data(), nullptr, nullptr}, v[j].data(), w[j].data(), nullptr);
    std::fill_n(&at_x[k * n], n, 0.0);
    if (k < N) std::fill_n(&at_u[k * m], m, 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i)
      schur(Eigen::Index(i), Eigen::Index(j)) = along(rows[i], w[j], v[j]);
    missing[Eigen::Index(j)] = -rows[j].value - along(rows[j], step.w, step.v);
  }
  if (count > 0) step.dy = Eigen::ColPivHouseholderQR<Matrix>(schur).solve(missing);
  for (std::size_t j = 0; j < rows.size(); ++j) {
    const double dy = step.dy[Eigen::Index(j)];
    for (std::size_t i = 0; i < step.w.size(); ++i) step.w[i] += dy * w[j][i];
    for (std::size_t i = 0; i < step.v.size(); ++i) step.v[i] += dy * v[j][i];
  }
  return step;
}

// Moves the trajectory and the multipliers; returns the largest change and the largest gap that is left.
double take_step(DdpSolver& s, const std::vector<Row>& rows, const NewtonStep& step) {
  const Plant& plant = s.expansion.plant();
  const auto n = std::size_t(plant.states()), nt = std::size_t(plant.tangents()),
             m = std::size_t(plant.controls()), N = std::size_t(s.problem.steps);
  double largest = 0;
  for (std::size_t i = 0; i < s.u.size(); ++i) {
    const double before = s.u[i];
    s.u[i] += step.v[i];
    if (!s.problem.lower.empty()) s.u[i] = std::max(s.u[i], s.problem.lower[i % m]);
    if (!s.problem.upper.empty()) s.u[i] = std::min(s.u[i], s.problem.upper[i % m]);
    largest = std::max(largest, std::abs(s.u[i] - before));
  }
  std::vector<double> y(n);
  for (std::size_t k = 1; k <= N; ++k) {
    plant.space().move(&s.x[k * n], &step.w[k * nt], y.data());
    std::copy(y.begin(), y.end(), &s.x[k * n]);
  }
  auto block = plant.take();
  for (std::size_t k = 0; k < N; ++k) {
    plant.step(std::int64_t(k), &s.x[k * n], &s.u[k * m], y.data(), *block);
    plant.space().difference(y.data(), &s.x[(k + 1) * n], &s.gaps[k * nt]);
  }
  plant.give_back(std::move(block));
  for (const double gap : s.gaps) largest = std::max(largest, std::abs(gap));
  for (std::size_t j = 0; j < rows.size(); ++j) {
    double& multiplier = s.multipliers.y[rows[j].constraint][std::size_t(rows[j].k)];
    multiplier += step.dy[Eigen::Index(j)];
    if (!s.problem.constraints[rows[j].constraint].equality) multiplier = std::max(0.0, multiplier);
  }
  return largest;
}

bool exhausted(const DdpSolver& s) {
  return s.outcome == Outcome::budget || s.outcome == Outcome::callback ||
         (s.outcome == Outcome::iterations && s.iterations >= s.options.iterations);
}

}  // namespace

bool polish(DdpSolver& s) {
  const auto x = s.x, u = s.u;
  const Multipliers before = s.multipliers;
  const bool second_order = s.problem.system->capabilities().second_order;
  double last = HUGE_VAL;
  bool converged = false;
  try {
    for (int i = 0; i < kPolish && !converged; ++i) {
      s.expansion.about(s.problem, s.multipliers, s.x.data(), s.u.data(), second_order);
      s.expansion.lq.c = s.gaps;
      if (second_order)
        s.expansion.curve(s.x.data(), s.u.data(), s.expansion.lambda.data()), s.expansion.add_curvature(1);
      const std::vector<Row> rows = active_rows(s);
      const double moved = take_step(s, rows, newton_step(s, rows));
      if (!(moved < 1e3) || (i > 4 && moved > last)) break;
      converged = moved < 1e-11 || (i > 1 && moved < 1e-9 && moved >= 0.5 * last);
      last = moved;
    }
  } catch (const Error&) {  // not convex on the active constraints
  }
  const std::vector<double> polished = s.u;
  const std::vector<double> x0(s.x.begin(), s.x.begin() + std::ptrdiff_t(s.problem.x0.size()));
  s.forget_expansion();
  if (converged) {
    const Multipliers found = s.multipliers;
    s.start(x0, polished, {});  // the states that the controls lead to, without gaps
    if (s.violation() <= s.options.constraint_tolerance) return true;
    s.multipliers = found;
  }
  s.multipliers = before, s.x = x, s.u = u;
  std::fill(s.gaps.begin(), s.gaps.end(), 0.0);
  s.evaluate();
  return false;
}

void solve_constrained(DdpSolver& s) {
  const double wanted = s.options.constraint_tolerance;
  double before = HUGE_VAL, tolerance = 1e-2;
  for (int outer = 0; outer < kOuter; ++outer) {
    s.iteration_limit = s.iterations + kInner;
    s.descend(std::max(tolerance, s.options.gradient_tolerance), s.options.value_tolerance);
    const double violation = s.violation();
    if (exhausted(s)) return;
    if (violation < kNearEnough) {
      const bool near = violation <= wanted && tolerance <= s.options.gradient_tolerance;
      if (near || polish(s)) {
        s.outcome = Outcome::converged;
        s.reason = "constraints met to " + number(s.violation(), 3);
        return;
      }
    }
    move_multipliers(s);
    if (violation > 0.25 * before) s.multipliers.rho *= kPriceGrowth;
    before = violation, tolerance = std::max(s.options.gradient_tolerance, 0.1 * tolerance);
    s.forget_expansion();
    s.evaluate();
    if (s.multipliers.rho > kLargestRho) break;
  }
  s.outcome = Outcome::infeasible;
  s.reason = "the constraints cannot be met: the largest violation stays at " + number(s.violation(), 3);
}

}  // namespace costate::control

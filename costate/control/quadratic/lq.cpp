#include "costate/control/quadratic/lq.h"

#include <cmath>
#include <limits>
#include <string>

#include "costate/control/quadratic/lq_pass.h"
#include "costate/control/quadratic/lq_walls.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"

namespace costate::control {
namespace {

constexpr int kIterations = 200, kLengths = 40;

void expect_numbers(const char* name, const std::vector<double>& v, std::size_t once, int steps,
                    bool may_be_empty) {
  if (v.size() == once || v.size() == once * std::size_t(steps) || (may_be_empty && v.empty())) return;
  throw Error(std::string(name) + " has " + std::to_string(v.size()) + " numbers instead of " +
              std::to_string(once) + " for all steps, or " + std::to_string(once) + " for each of " +
              std::to_string(steps) + " steps");
}

// The controls between their bounds.
struct Box {
  std::vector<double> lower, upper;  // of every control of every step

  explicit Box(const LinearQuadratic& p) : lower(spread(p, p.lower, -1)), upper(spread(p, p.upper, 1)) {
    for (std::size_t i = 0; i < lower.size(); ++i)
      if (!(lower[i] <= upper[i]))
        throw Error("the bounds of control " + std::to_string(i % std::size_t(p.controls)) +
                    " contradict each other: no control lies between " + std::to_string(lower[i]) + " and " +
                    std::to_string(upper[i]));
  }
  static std::vector<double> spread(const LinearQuadratic& p, const std::vector<double>& from, int side) {
    const auto m = std::size_t(p.controls), count = std::size_t(p.steps) * m;
    std::vector<double> to(count, side * std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < count && !from.empty(); ++i) to[i] = from[from.size() == m ? i % m : i];
    return to;
  }
  double clamp(std::size_t i, double v) const { return std::min(std::max(v, lower[i]), upper[i]); }
};

// x, lambda, the gradient of the controls, and the value, at given controls.
struct Sweep {
  std::vector<double> gradient;

  double states_and_value(const LinearQuadratic& p, LinearQuadraticSolution& s) const {
    const int n = p.states, m = p.controls;
    std::copy_n(p.x0.begin(), n, s.x.begin());
    double value = 0;
    for (int k = 0; k < p.steps; ++k) {
      const StageData d = stage(p, k);
      const VectorIn x(&s.x[std::size_t(k * n)], n), u(&s.u[std::size_t(k * m)], m);
      VectorOut y(&s.x[std::size_t((k + 1) * n)], n);
      y.noalias() = MatrixIn(d.A, n, n) * x + MatrixIn(d.B, n, m) * u;
      if (d.c) y += VectorIn(d.c, n);
      value += 0.5 * x.dot(MatrixIn(d.Q, n, n) * x) + 0.5 * u.dot(MatrixIn(d.R, m, m) * u);
      if (d.S) value += u.dot(MatrixIn(d.S, m, n) * x);
      if (d.q) value += VectorIn(d.q, n).dot(x);
      if (d.r) value += VectorIn(d.r, m).dot(u);
    }
    const VectorIn x(&s.x[std::size_t(p.steps * n)], n);
    if (!p.Qf.empty()) value += 0.5 * x.dot(MatrixIn(p.Qf.data(), n, n) * x);
    if (!p.qf.empty()) value += VectorIn(p.qf.data(), n).dot(x);
    return value;
  }
  void costates_and_gradient(const LinearQuadratic& p, LinearQuadraticSolution& s) {
    const int n = p.states, m = p.controls;
    VectorOut last(&s.lambda[std::size_t(p.steps * n)], n);
    last.setZero();
    if (!p.Qf.empty()) last = MatrixIn(p.Qf.data(), n, n) * VectorIn(&s.x[std::size_t(p.steps * n)], n);
    if (!p.qf.empty()) last += VectorIn(p.qf.data(), n);
    for (int k = p.steps - 1; k >= 0; --k) {
      const StageData d = stage(p, k);
      const VectorIn x(&s.x[std::size_t(k * n)], n), u(&s.u[std::size_t(k * m)], m),
          after(&s.lambda[std::size_t((k + 1) * n)], n);
      VectorOut lambda(&s.lambda[std::size_t(k * n)], n), g(&gradient[std::size_t(k * m)], m);
      lambda.noalias() = MatrixIn(d.Q, n, n) * x + MatrixIn(d.A, n, n).transpose() * after;
      g.noalias() = MatrixIn(d.R, m, m) * u + MatrixIn(d.B, n, m).transpose() * after;
      if (d.S) {
        lambda += MatrixIn(d.S, m, n).transpose() * u;
        g += MatrixIn(d.S, m, n) * x;
      }
      if (d.q) lambda += VectorIn(d.q, n);
      if (d.r) g += VectorIn(d.r, m);
    }
  }
};

// Which controls a bound holds: at it, and pushed against it. Returns how far the gradient is from zero on
// the others.
double mark_held(const Box& box, const std::vector<double>& gradient, LinearQuadraticSolution& s) {
  double largest = 0;
  for (std::size_t i = 0; i < s.u.size(); ++i) {
    s.held[i] = s.u[i] == box.lower[i] && gradient[i] > 0   ? -1
                : s.u[i] == box.upper[i] && gradient[i] < 0 ? 1
                                                            : 0;
    if (box.lower[i] == box.upper[i]) s.held[i] = gradient[i] > 0 ? -1 : 1;
    if (s.held[i] == 0) largest = std::max(largest, std::abs(gradient[i]));
  }
  return largest;
}

LinearQuadraticSolution first_guess(const LinearQuadratic& p, const Box& box,
                                    const std::vector<double>& controls) {
  LinearQuadraticSolution s;
  const auto rows = std::size_t(p.steps);
  s.u.resize(rows * std::size_t(p.controls));
  for (std::size_t i = 0; i < s.u.size(); ++i) s.u[i] = box.clamp(i, controls.empty() ? 0 : controls[i]);
  s.x.resize((rows + 1) * std::size_t(p.states)), s.lambda.resize(s.x.size());
  s.held.resize(s.u.size());
  return s;
}

// The controls after a step of the given length along d, each kept between its bounds.
void move_controls(const Box& box, const std::vector<double>& from, const std::vector<double>& d,
                   double length, std::vector<double>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = box.clamp(i, from[i] + length * d[i]);
}

}  // namespace

void check(const LinearQuadratic& p) {
  if (p.states < 1 || p.controls < 1 || p.steps < 1)
    throw Error("a linear-quadratic problem needs at least one state, one control and one step");
  const auto n = std::size_t(p.states), m = std::size_t(p.controls);
  const auto expect = [&](const char* name, const std::vector<double>& v, std::size_t once, bool empty) {
    expect_numbers(name, v, once, p.steps, empty);
  };
  expect("A", p.A, n * n, false), expect("B", p.B, n * m, false), expect("Q", p.Q, n * n, false);
  expect("R", p.R, m * m, false), expect("S", p.S, m * n, true), expect("c", p.c, n, true);
  expect("q", p.q, n, true), expect("r", p.r, m, true);
  expect("lower", p.lower, m, true), expect("upper", p.upper, m, true);
  expect("x_lower", p.x_lower, n, true), expect("x_upper", p.x_upper, n, true);
  const auto expect_once = [](const char* name, const std::vector<double>& v, std::size_t once, bool empty) {
    expect_numbers(name, v, once, 1, empty);
  };
  expect_once("x0", p.x0, n, false), expect_once("Qf", p.Qf, n * n, true), expect_once("qf", p.qf, n, true);
  for (const auto* part : {&p.A, &p.B, &p.c, &p.Q, &p.R, &p.S, &p.q, &p.r, &p.Qf, &p.qf, &p.x0})
    for (const double number : *part)
      if (!std::isfinite(number)) throw Error("a linear-quadratic problem has a number that is not finite");
}

LinearQuadraticSolution solve(const LinearQuadratic& p) {
  check(p);
  return has_walls(p) ? solve_walls(p) : solve_box(p, {});
}

LinearQuadraticSolution solve_box(const LinearQuadratic& p, const std::vector<double>& controls) {
  const Box box(p);
  LinearQuadraticSolution s = first_guess(p, box, controls), trial = s;
  Sweep sweep{std::vector<double>(s.u.size())};
  LqPass pass(p);
  std::vector<double> direction(s.u.size());
  std::vector<char> factored;
  s.value = sweep.states_and_value(p, s);
  double before = std::numeric_limits<double>::infinity();
  for (s.iterations = 0; s.iterations < kIterations; ++s.iterations) {
    sweep.costates_and_gradient(p, s);
    const double slope = mark_held(box, sweep.gradient, s);
    // The step of the last set of held controls was whole, and does not get better: this is the solution.
    if (factored == s.held && !(slope < 0.1 * before)) break;
    if (factored != s.held) pass.factorise(s.held.data()), factored = s.held;
    before = slope;
    pass.solve({nullptr, sweep.gradient.data(), nullptr, nullptr}, direction.data(), nullptr, nullptr);
    bool fell = false;
    double length = 1;
    for (int i = 0; i < kLengths && !fell; ++i, length /= 2) {
      move_controls(box, s.u, direction, length, trial.u);
      double promised = 0;
      for (std::size_t j = 0; j < s.u.size(); ++j) promised += sweep.gradient[j] * (trial.u[j] - s.u[j]);
      trial.value = sweep.states_and_value(p, trial);
      // Rounding may hide the last of the descent.
      fell = trial.value <= s.value + 1e-4 * promised + 1e-15 * std::abs(s.value);
    }
    if (!fell) break;
    s.u.swap(trial.u), s.x.swap(trial.x), s.value = trial.value;
  }
  if (factored != s.held) pass.factorise(s.held.data());
  pass.export_gains(s);
  return s;
}

std::vector<LinearQuadraticSolution> solve(const std::vector<LinearQuadratic>& problems) {
  std::vector<LinearQuadraticSolution> solutions(problems.size());
  parallel_for(std::int64_t(problems.size()), 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) solutions[std::size_t(i)] = solve(problems[std::size_t(i)]);
  });
  return solutions;
}

}  // namespace costate::control

// The tangent of lq.cpp: the stationarity conditions, differentiated with the held controls at their bounds.
//
//   x'+ = A x' + B u' + [A. x + B. u + c.]                         x'_0 = x0.
//   l'  = Q x' + S'u' + A'l'+ + [Q. x + S.'u + q. + A.'l+]         on the free controls
//   0   = R u' + S x' + B'l'+ + [R. u + S. x + r. + B.'l+]         held: u' = that of its bound
//
// A dot marks what the problem moves along, l is the costate. The held controls' own motion joins the
// brackets, and what is left is one pass over vectors with the factors of the solution (lq_pass.h).
// Tests: tests/control/lq_test.cpp.
#include <algorithm>

#include "costate/control/quadratic/lq_pass.h"
#include "costate/control/quadratic/lq_walls.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"

namespace costate::control {
namespace {

// The rows of all terms, and of how the held controls move.
struct Moved {
  std::vector<double> q, r, c, held;
};

void check_dot(const char* name, const std::vector<double>& dot, const std::vector<double>& of) {
  if (!dot.empty() && dot.size() != of.size())
    throw Error("the tangent of " + std::string(name) + " has " + std::to_string(dot.size()) +
                " numbers instead of " + std::to_string(of.size()));
}
void check_dots(const LinearQuadratic& d, const LinearQuadratic& p) {
  check_dot("A", d.A, p.A), check_dot("B", d.B, p.B), check_dot("c", d.c, p.c), check_dot("Q", d.Q, p.Q);
  check_dot("R", d.R, p.R), check_dot("S", d.S, p.S), check_dot("q", d.q, p.q), check_dot("r", d.r, p.r);
  check_dot("Qf", d.Qf, p.Qf), check_dot("qf", d.qf, p.qf), check_dot("x0", d.x0, p.x0);
  check_dot("lower", d.lower, p.lower), check_dot("upper", d.upper, p.upper);
  check_dot("x_lower", d.x_lower, p.x_lower), check_dot("x_upper", d.x_upper, p.x_upper);
}

double of_bound(const std::vector<double>& dot, int m, int k, int i) {
  if (dot.empty()) return 0;
  return dot[std::size_t(int(dot.size()) == m ? i : k * m + i)];
}

// What the motion of the problem does to the conditions of step k, and to its cost.
double move_step(const LinearQuadratic& p, const LinearQuadratic& dot, const LinearQuadraticSolution& s,
                 int k, Moved& to) {
  const int n = p.states, m = p.controls;
  const StageData stay = stage(p, k), d = stage(dot, k);
  const VectorIn x(&s.x[std::size_t(k * n)], n), u(&s.u[std::size_t(k * m)], m),
      after(&s.lambda[std::size_t((k + 1) * n)], n);
  VectorOut q(&to.q[std::size_t(k * n)], n), r(&to.r[std::size_t(k * m)], m), c(&to.c[std::size_t(k * n)], n),
      held(&to.held[std::size_t(k * m)], m);
  double cost = 0;
  const auto matrix = [](const double* numbers, int rows, int columns) {
    return MatrixIn(numbers, rows, columns);
  };
  if (d.A) c += matrix(d.A, n, n) * x, q += matrix(d.A, n, n).transpose() * after;
  if (d.B) c += matrix(d.B, n, m) * u, r += matrix(d.B, n, m).transpose() * after;
  if (d.c) c += VectorIn(d.c, n);
  if (d.Q) q += matrix(d.Q, n, n) * x, cost += 0.5 * x.dot(matrix(d.Q, n, n) * x);
  if (d.R) r += matrix(d.R, m, m) * u, cost += 0.5 * u.dot(matrix(d.R, m, m) * u);
  if (d.S) {
    q += matrix(d.S, m, n).transpose() * u, r += matrix(d.S, m, n) * x;
    cost += u.dot(matrix(d.S, m, n) * x);
  }
  if (d.q) q += VectorIn(d.q, n), cost += VectorIn(d.q, n).dot(x);
  if (d.r) r += VectorIn(d.r, m), cost += VectorIn(d.r, m).dot(u);
  for (int i = 0; i < m; ++i) {
    const char at = s.held[std::size_t(k * m + i)];
    if (at != 0) held[i] = of_bound(at < 0 ? dot.lower : dot.upper, m, k, i);
  }
  c += matrix(stay.B, n, m) * held, r += matrix(stay.R, m, m) * held;
  if (stay.S) q += matrix(stay.S, m, n).transpose() * held;
  return cost;
}

// The cost's own slope along the solution's motion at step k.
double slope(const LinearQuadratic& p, const LinearQuadraticSolution& s, int k, const double* x_dot,
             const double* u_dot) {
  const int n = p.states, m = p.controls;
  const StageData d = stage(p, k);
  const VectorIn x(&s.x[std::size_t(k * n)], n), u(&s.u[std::size_t(k * m)], m), xd(x_dot, n), ud(u_dot, m);
  double sum = xd.dot(MatrixIn(d.Q, n, n) * x) + ud.dot(MatrixIn(d.R, m, m) * u);
  if (d.S) sum += ud.dot(MatrixIn(d.S, m, n) * x) + u.dot(MatrixIn(d.S, m, n) * xd);
  if (d.q) sum += VectorIn(d.q, n).dot(xd);
  if (d.r) sum += VectorIn(d.r, m).dot(ud);
  return sum;
}

}  // namespace

LinearQuadraticTangent solve_jvp(const LinearQuadratic& p, const LinearQuadraticSolution& s,
                                 const LinearQuadratic& dot_in) {
  check(p);
  check_dots(dot_in, p);
  LinearQuadratic dot = dot_in;
  dot.states = p.states, dot.controls = p.controls, dot.steps = p.steps;
  const int n = p.states, m = p.controls, N = p.steps;
  Moved moved{std::vector<double>(s.x.size()), std::vector<double>(s.u.size()),
              std::vector<double>(std::size_t(N * n)), std::vector<double>(s.u.size())};
  LinearQuadraticTangent to{0, std::vector<double>(s.x.size()), std::vector<double>(s.u.size())};
  for (int k = 0; k < N; ++k) to.value += move_step(p, dot, s, k, moved);
  const VectorIn end(&s.x[std::size_t(N * n)], n);
  VectorOut q_end(&moved.q[std::size_t(N * n)], n);
  if (!dot.Qf.empty()) {
    const Vector bent = MatrixIn(dot.Qf.data(), n, n) * end;
    q_end += bent, to.value += 0.5 * end.dot(bent);
  }
  if (!dot.qf.empty()) q_end += VectorIn(dot.qf.data(), n), to.value += VectorIn(dot.qf.data(), n).dot(end);
  LqPass pass(p);
  pass.factorise(s.held.data());
  const std::vector<int> rows = held_states(p, s);
  std::vector<double> walls;  // how those that hold a state move
  for (const int row : rows)
    walls.push_back(
        of_bound(s.push[std::size_t(row)] > 0 ? dot.x_upper : dot.x_lower, n, row / n - 1, row % n));
  solve_held(pass, p, rows, walls,
             {moved.q.data(), moved.r.data(), moved.c.data(), dot.x0.empty() ? nullptr : dot.x0.data()},
             to.u.data(), to.x.data(), nullptr);
  for (std::size_t i = 0; i < to.u.size(); ++i) to.u[i] += moved.held[i];
  for (int k = 0; k < N; ++k)
    to.value += slope(p, s, k, &to.x[std::size_t(k * n)], &to.u[std::size_t(k * m)]);
  const VectorIn end_dot(&to.x[std::size_t(N * n)], n);
  if (!p.Qf.empty()) to.value += end_dot.dot(MatrixIn(p.Qf.data(), n, n) * end);
  if (!p.qf.empty()) to.value += VectorIn(p.qf.data(), n).dot(end_dot);
  return to;
}

std::vector<LinearQuadraticTangent> solve_jvp(const std::vector<LinearQuadratic>& problems,
                                              const std::vector<LinearQuadraticSolution>& solutions,
                                              const std::vector<LinearQuadratic>& dots) {
  std::vector<LinearQuadraticTangent> to(problems.size());
  parallel_for(std::int64_t(problems.size()), 4, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i)
      to[i] = solve_jvp(problems[i], solutions[i], dots[i]);
  });
  return to;
}

}  // namespace costate::control

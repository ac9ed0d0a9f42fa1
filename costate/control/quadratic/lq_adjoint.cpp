// The transpose of lq.cpp: see lq.h for its equations.
#include <algorithm>
#include <string>

#include "costate/control/quadratic/lq_pass.h"
#include "costate/control/quadratic/lq_walls.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"

namespace costate::control {
namespace {

// Where a cotangent of step k goes: null where there is nothing that it could be the cotangent of.
struct Bar {
  std::vector<double>& to;
  std::size_t once;
  double* at(int k) const {
    return to.empty() ? nullptr : &to[to.size() == once ? 0 : std::size_t(k) * once];
  }
};

void expect_rows(const char* name, const std::vector<double>& v, std::size_t size) {
  if (!v.empty() && v.size() != size)
    throw Error("the cotangent of " + std::string(name) + " has " + std::to_string(v.size()) +
                " numbers instead of " + std::to_string(size));
}

// Everything that one step adds. w, v, mu: how the solution answers to the cotangents; value: of the value.
struct StepBar {
  int n, m;
  double value;
  const double *x, *u, *lambda_next, *w, *v, *mu_next;

  void add(double* A, double* B, double* c, double* Q, double* R, double* S, double* q, double* r) const {
    const VectorIn xs(x, n), us(u, m), lambda(lambda_next, n), ws(w, n), vs(v, m), mu(mu_next, n);
    const Vector in_x = ws + value * xs,
                 in_u = vs + value * us;  // of the value: as if the solution moved along itself
    MatrixOut(A, n, n) += lambda * in_x.transpose() + mu * xs.transpose();
    MatrixOut(B, n, m) += lambda * in_u.transpose() + mu * us.transpose();
    if (c) VectorOut(c, n) += mu + value * lambda;
    const Vector half_x = ws + 0.5 * value * xs, half_u = vs + 0.5 * value * us;
    MatrixOut(Q, n, n) += 0.5 * (half_x * xs.transpose() + xs * half_x.transpose());
    MatrixOut(R, m, m) += 0.5 * (half_u * us.transpose() + us * half_u.transpose());
    if (S) MatrixOut(S, m, n) += vs * xs.transpose() + us * ws.transpose() + value * us * xs.transpose();
    if (q) VectorOut(q, n) += in_x;
    if (r) VectorOut(r, m) += in_u;
  }
};

// The cotangent of the bounds that hold controls of step k: what the free controls leave over.
void add_bounds(const LinearQuadratic& p, const LinearQuadraticSolution& s, int k, const double* u_bar,
                const Vector& rest, LinearQuadratic& bar) {
  const int m = p.controls;
  const Bar lower{bar.lower, std::size_t(m)}, upper{bar.upper, std::size_t(m)};
  for (int i = 0; i < m; ++i) {
    const char held = s.held[std::size_t(k * m + i)];
    double* to = held < 0 ? lower.at(k) : held > 0 ? upper.at(k) : nullptr;
    if (to) to[i] += rest[i] + (u_bar ? u_bar[k * m + i] : 0.0);
  }
}

// The cotangent of the bounds that hold states.
void add_walls(const LinearQuadratic& p, const LinearQuadraticSolution& s, const std::vector<int>& rows,
               const std::vector<double>& nu, double value_bar, LinearQuadratic& bar) {
  const int n = p.states;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    const double y = s.push[std::size_t(rows[j])];
    const Bar wall{y > 0 ? bar.x_upper : bar.x_lower, std::size_t(n)};
    wall.at(rows[j] / n - 1)[rows[j] % n] -= (nu.empty() ? 0.0 : nu[j]) + value_bar * y;
  }
}

LinearQuadratic zeros_like(const LinearQuadratic& p) {
  LinearQuadratic bar = p;
  for (auto* v : {&bar.A, &bar.B, &bar.c, &bar.Q, &bar.R, &bar.S, &bar.q, &bar.r, &bar.Qf, &bar.qf, &bar.x0,
                  &bar.lower, &bar.upper, &bar.x_lower, &bar.x_upper})
    std::fill(v->begin(), v->end(), 0.0);
  return bar;
}

}  // namespace

LinearQuadratic solve_vjp(const LinearQuadratic& p, const LinearQuadraticSolution& s,
                          const std::vector<double>& x_bar, const std::vector<double>& u_bar,
                          double value_bar) {
  check(p);
  expect_rows("x", x_bar, s.x.size()), expect_rows("u", u_bar, s.u.size());
  const int n = p.states, m = p.controls;
  std::vector<double> v(s.u.size()), w(s.x.size()), mu(s.x.size()), nu;
  const std::vector<int> rows = held_states(p, s);
  if (!x_bar.empty() || !u_bar.empty()) {
    LqPass pass(p);
    pass.factorise(s.held.data());
    nu = solve_held(
        pass, p, rows, {},
        {x_bar.empty() ? nullptr : x_bar.data(), u_bar.empty() ? nullptr : u_bar.data(), nullptr, nullptr},
        v.data(), w.data(), mu.data());
  }
  LinearQuadratic bar = zeros_like(p);
  add_walls(p, s, rows, nu, value_bar, bar);
  const auto size = [&](int a, int b) { return std::size_t(a) * std::size_t(b); };
  const Bar A{bar.A, size(n, n)}, B{bar.B, size(n, m)}, c{bar.c, size(n, 1)}, Q{bar.Q, size(n, n)},
      R{bar.R, size(m, m)}, S{bar.S, size(m, n)}, q{bar.q, size(n, 1)}, r{bar.r, size(m, 1)};
  for (int k = 0; k < p.steps; ++k) {
    const double *mu_next = &mu[size(k + 1, n)], *lambda_next = &s.lambda[size(k + 1, n)];
    StepBar{
        n,      m, value_bar, &s.x[size(k, n)], &s.u[size(k, m)], lambda_next, &w[size(k, n)], &v[size(k, m)],
        mu_next}
        .add(A.at(k), B.at(k), c.at(k), Q.at(k), R.at(k), S.at(k), q.at(k), r.at(k));
    // Of a bound: what a move of the held control would change, in the solution and, by lambda, in the value.
    const StageData d = stage(p, k);
    const VectorIn x(&s.x[size(k, n)], n), u(&s.u[size(k, m)], m), wk(&w[size(k, n)], n),
        vk(&v[size(k, m)], m);
    Vector rest =
        MatrixIn(d.R, m, m) * (vk + value_bar * u) +
        MatrixIn(d.B, n, m).transpose() * (VectorIn(mu_next, n) + value_bar * VectorIn(lambda_next, n));
    if (d.S) rest += MatrixIn(d.S, m, n) * (wk + value_bar * x);
    if (d.r) rest += value_bar * VectorIn(d.r, m);
    add_bounds(p, s, k, u_bar.empty() ? nullptr : u_bar.data(), rest, bar);
  }
  const VectorIn end(&s.x[size(p.steps, n)], n), end_w(&w[size(p.steps, n)], n);
  const Vector half = end_w + 0.5 * value_bar * end;
  if (!p.Qf.empty())
    MatrixOut(bar.Qf.data(), n, n) += 0.5 * (half * end.transpose() + end * half.transpose());
  if (!p.qf.empty()) VectorOut(bar.qf.data(), n) += end_w + value_bar * end;
  VectorOut(bar.x0.data(), n) = VectorIn(mu.data(), n) + value_bar * VectorIn(s.lambda.data(), n);
  return bar;
}

std::vector<LinearQuadratic> solve_vjp(const std::vector<LinearQuadratic>& problems,
                                       const std::vector<LinearQuadraticSolution>& solutions,
                                       const std::vector<LinearQuadraticCotangent>& bars) {
  std::vector<LinearQuadratic> to(problems.size());
  parallel_for(std::int64_t(problems.size()), 4, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i)
      to[i] = solve_vjp(problems[i], solutions[i], bars[i].x, bars[i].u, bars[i].value);
  });
  return to;
}

}  // namespace costate::control

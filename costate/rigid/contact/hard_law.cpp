#include "costate/rigid/contact/hard_law.h"

#include <algorithm>
#include <cmath>

#include "costate/rigid/contact/hard_piece.h"

namespace costate::rigid {
namespace {

using Index = std::size_t;

// Rows of a point whose equation is linear in l: w = 0.
template <class Point>
int linear_rows(const Point& at) {
  return at.mode == HardMode::open ? 0 : at.mode == HardMode::stick ? at.rows : 1;
}

double value_of(double x) { return x; }
double value_of(const Dual<double>& x) { return x.v; }

}  // namespace

template <class T>
void HardProblem<T>::reserve(int rows) {
  const std::size_t n = rows;
  points.reserve(n);
  for (auto* matrix : {&A, &C}) matrix->reserve(n * n);
  for (auto* values : {&b, &mu, &l, &c, &w}) values->reserve(n);
}

template <class T>
void HardProblem<T>::clear() {
  size = 0;
  points.clear();
}

template <class T>
void HardProblem<T>::add_point(int rows, double weight) {
  points.push_back({size, rows, HardMode::open, 1, weight});
  size += rows;
}

template <class T>
void HardProblem<T>::make_room() {
  const std::size_t n = size;
  A.assign(n * n, T(0));
  for (auto* values : {&b, &mu, &l}) values->assign(n, T(0));
}

template <class T>
void HardProblem<T>::scale() {
  const std::size_t n = size;
  C.resize(n * n);
  c.resize(n);
  R.resize(n);
  for (Index i = 0; i < n; ++i) {
    c[i] = mu[i] * b[i];
    for (Index j = 0; j < n; ++j) C[i * n + j] = mu[i] * mu[j] * A[i * n + j];
  }
  for (Point& at : points) {
    double most = 0;
    for (int k = 0; k < at.rows; ++k) {
      const std::size_t i = at.row + k;
      const double m = value_of(mu[i]);
      R[i] = at.weight * m * m;
      most = std::max(most, value_of(C[i * (n + 1)]));
    }
    at.step = 1 / most;
  }
}

template <class T>
void HardProblem<T>::velocities() {
  w = c;
  const std::size_t n = size;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) w[i] += C[i * n + j] * l[j];
    w[i] += T(ridge * R[i]) * l[i];
  }
}

template struct HardProblem<double>;
template struct HardProblem<Dual<double>>;

void HardSolver::reserve(int rows, bool dual) {
  const std::size_t n = rows;
  factor_.resize(rows);
  for (auto* matrix : {&G_, &exact_}) matrix->reserve(n * n);
  for (auto* values :
       {&F_, &start_, &before_, &swept_, &centre_, &kept_, &pulled_, &left_, &last_, &unmet_, &even_, &load_})
    values->reserve(n);
  best_.reserve(n + 1);
  rows_.reserve(n);
  ties_.reserve(n);
  if (!dual) return;
  value_.reserve(rows);
  F_dual_.reserve(n);
  G_dual_.reserve(n * n);
}

bool HardSolver::factor_piece(const HardProblem<double>& p, double pull) {
  jacobian(p, pull, G_);
  factor_.resize(p.size);
  return factor_.factorise(G_.data());
}

void HardSolver::keep_value(const HardProblem<Dual<double>>& p) {
  value_.size = p.size;
  value_.ridge = p.ridge;
  value_.rounding = p.rounding;
  value_.points.clear();
  for (const auto& at : p.points)
    value_.points.push_back({at.row, at.rows, at.mode, at.step, at.weight, at.nothing, at.tied});
  const auto copy = [](const std::vector<Dual<double>>& from, std::vector<double>& to) {
    to.resize(from.size());
    for (Index i = 0; i < from.size(); ++i) to[i] = from[i].v;
  };
  copy(p.A, value_.A);
  copy(p.b, value_.b);
  copy(p.mu, value_.mu);
  copy(p.l, value_.l);
}

// x += what is left, solved with a pull, until what is left no longer changes. `left` writes it to left_;
// terms: how large the numbers are that it is made of. Returns the size of these numbers.
template <class Left, class Solve>
double HardSolver::refine_once(const HardProblem<double>& p, double terms, const Left& left,
                               const Solve& solve, int stride, double* x) {
  constexpr double kLeast = 1e-6;  // rounding grows by its inverse
  double pull = p.ridge > 0 ? 0 : kHardPull, size = terms, before = 0, most = 0;
  if (!factor_piece(p, pull)) return 0;
  for (int pass = 0; pass < 40; ++pass) {
    left();
    double change = 0;
    for (Index i = 0; i < left_.size(); ++i) {
      left_[i] -= unmet_[i];
      change = std::max(change, std::abs(left_[i] - (pass == 0 ? 0 : last_[i])));
    }
    if (pass == 0) size = std::max(size, change);
    if (change <= p.rounding * (size + 10 * most)) break;
    if (pass > 1 && change > 0.25 * before) {  // slow, unless this is rounding
      pull *= 0.1;
      if (change < 1e4 * p.rounding * (size + most) || pull < kLeast || !factor_piece(p, pull)) break;
    }
    before = change;
    start_ = last_ = left_;
    solve(start_.data());
    for (Index i = 0; i < start_.size(); ++i) {
      x[i * Index(stride)] += start_[i];
      most = std::max(most, std::abs(x[i * Index(stride)]));
    }
  }
  return size + most;
}

// The same, and once more for what can be met.
template <class Left, class Solve>
void HardSolver::refine(const HardProblem<double>& p, double terms, const Left& left, const Solve& solve,
                        int stride, double* x) {
  unmet_.assign(left_.size(), 0.0);
  const double size = refine_once(p, terms, left, solve, stride, x);
  double unmet = 0;
  for (const double value : left_) unmet = std::max(unmet, std::abs(value));
  if (unmet <= 1e3 * p.rounding * size) return;  // rounding
  unmet_ = left_;
  for (Index i = 0; i < left_.size(); ++i) x[i * Index(stride)] = 0;
  refine_once(p, terms, left, solve, stride, x);
}

// G m = (dF/dw) R l. A jacobian with a pull of 1 has (dF/dw) R in it.
void HardSolver::even_share(const HardProblem<double>& p) {
  const std::size_t n = p.size;
  load_.assign(n, 0.0);
  even_.assign(n, 0.0);
  left_.resize(n);
  jacobian(p, 0, exact_);
  jacobian(p, 1, G_);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) load_[i] += (G_[i * n + j] - exact_[i * n + j]) * p.l[j];
  }
  const auto left = [&] {
    for (Index i = 0; i < n; ++i) {
      left_[i] = load_[i];
      for (Index j = 0; j < n; ++j) left_[i] -= exact_[i * n + j] * even_[j];
    }
  };
  refine(
      p, 0, left, [&](double* x) { factor_.solve(x, x); }, 1, even_.data());
}

void HardSolver::tangent(HardProblem<Dual<double>>& p) {
  p.scale();
  if (p.size == 0) return;
  keep_value(p);
  HardProblem<double>& value = value_;
  value.scale();
  value.velocities();
  for (Dual<double>& l : p.l) l = Dual<double>(l.v);
  const std::size_t n = p.size;
  if (p.ridge == 0) even_share(value);
  left_.resize(n);
  double terms = 0;
  for (const auto& at : p.points) {
    for (Index i = Index(at.row); i < Index(at.row + at.rows); ++i) {
      double sum = std::abs(p.c[i].d[0]);
      for (Index j = 0; j < n; ++j) sum += std::abs(p.C[i * n + j].d[0] * value.l[j]);
      terms = std::max(terms, at.step * sum);
    }
  }
  const auto left = [&] {
    p.velocities();
    residual(p, F_dual_);
    for (Index i = 0; i < F_dual_.size(); ++i) left_[i] = -F_dual_[i].d[0];
  };
  const auto solve = [&](double* x) { factor_.solve(x, x); };
  refine(value, terms, left, solve, 2, &p.l[0].d[0]);
  if (p.ridge > 0 || !factor_piece(value, kHardPull)) return;
  load_.assign(n, 0.0);
  for (const auto& at : p.points) {
    for (int k = 0; k < linear_rows(at); ++k) {
      const std::size_t i = at.row + k;
      double sum = -2 * at.weight * p.mu[i].v * p.mu[i].d[0] * value.l[i];
      for (Index j = 0; j < n; ++j) sum += p.C[i * n + j].d[0] * even_[j];
      load_[i] = kHardPull * at.step * sum;
    }
  }
  solve(load_.data());
  for (Index i = 0; i < n; ++i) p.l[i].d[0] += load_[i];
  refine_once(value, terms, left, solve, 2, &p.l[0].d[0]);
}

// After a refine() with the transposed matrix: q from what is left, and with it the share's part.
template <class T>
void HardSolver::share_vjp(const HardProblem<double>& p, HardBar<T>& out) {
  out.shares = p.ridge == 0 && std::any_of(unmet_.begin(), unmet_.end(), [](double x) { return x != 0; }) &&
               factor_piece(p, kHardPull);
  if (!out.shares) return;
  const std::size_t n = p.size;
  out.share_bar.resize(n);
  factor_.solve_transposed(unmet_.data(), out.share_bar.data());
  for (const auto& at : p.points) {
    for (int k = 0; k < at.rows; ++k) {
      const std::size_t i = at.row + k;
      out.share_bar[i] *= k < linear_rows(at) ? kHardPull * at.step * p.mu[i] : 0;
    }
  }
  even_share(p);
  out.share = even_;
  for (Index i = 0; i < n; ++i) out.share[i] *= p.mu[i];
}

template <class T>
void HardSolver::vjp(HardProblem<T>& p, const std::vector<T>& lambda_bar, HardBar<T>& out) {
  const std::size_t n = p.size;
  p.scale();
  p.velocities();
  for (auto* values : {&out.Y, &out.mu, &out.z}) values->assign(n, T(0));
  out.shares = false;
  if (n == 0) return;
  // z solves G' z = E lambda_bar. Tangents of duals follow the values.
  std::vector<T>& z = out.z;
  left_.resize(n);
  const auto solve = [&](double* x) { factor_.solve_transposed(x, x); };
  if constexpr (is_dual<T>) {
    keep_value(p);
    value_.scale();
    value_.velocities();
    jacobian(p, 0, G_dual_);
    const auto left_of = [&](auto part) {
      return [&, part] {
        for (Index j = 0; j < n; ++j) {
          T sum = p.mu[j] * lambda_bar[j];
          for (Index i = 0; i < n; ++i) sum -= G_dual_[i * n + j] * z[i];
          left_[j] = part(sum);
        }
      };
    };
    refine(value_, 0, left_of([](const T& x) { return x.v; }), solve, 2, &z[0].v);
    share_vjp(value_, out);
    left_.resize(n);
    refine(value_, 0, left_of([](const T& x) { return x.d[0]; }), solve, 2, &z[0].d[0]);
  } else {
    jacobian(p, 0, exact_);
    const auto left = [&] {
      for (Index j = 0; j < n; ++j) {
        left_[j] = p.mu[j] * lambda_bar[j];
        for (Index i = 0; i < n; ++i) left_[j] -= exact_[i * n + j] * z[i];
      }
    };
    refine(p, 0, left, solve, 1, z.data());
    share_vjp(p, out);
  }
  std::vector<T>& w_bar = z;  // overwritten point by point
  for (const auto& at : p.points) {
    const T r(at.step);
    T* zs = z.data() + at.row;
    if (at.mode == HardMode::open) {
      std::fill(zs, zs + at.rows, T(0));
    } else if (at.mode == HardMode::stick) {
      for (int k = 0; k < at.rows; ++k) zs[k] = -(r * zs[k]);
    } else {
      const Slip<T> slip = slip_of(p, at);
      T along(0);
      for (int k = 1; k < at.rows; ++k) along += slip.n[k] * zs[k];
      zs[0] = -(r * (zs[0] + along));
      for (int k = 1; k < at.rows; ++k) zs[k] = -(r * slip.ratio * (zs[k] - slip.n[k] * along));
    }
  }
  for (Index i = 0; i < n; ++i) out.Y[i] = p.mu[i] * w_bar[i];
  for (const auto& at : p.points) {
    out.mu[at.row] = T(0);
    for (int k = 1; k < at.rows; ++k) {
      const std::size_t i = at.row + k;
      T u = p.b[i], AY(0);
      for (Index j = 0; j < n; ++j) {
        u += p.A[i * n + j] * p.mu[j] * p.l[j];
        AY += p.A[i * n + j] * out.Y[j];
      }
      out.mu[i] = w_bar[i] * u + p.l[i] * (AY + lambda_bar[i]);
      if (out.shares) out.mu[i] -= T(at.weight * value_of(p.l[i]) * out.share_bar[i]);
    }
  }
}

template void HardSolver::vjp(HardProblem<double>&, const std::vector<double>&, HardBar<double>&);
template void HardSolver::vjp(HardProblem<Dual<double>>&, const std::vector<Dual<double>>&,
                              HardBar<Dual<double>>&);

}  // namespace costate::rigid

#include "costate/rigid/hard_law.h"

#include <algorithm>
#include <cmath>

#include "costate/rigid/impact_law.h"

namespace costate::rigid {
namespace {

double value_of(double x) { return x; }
double value_of(const Dual<double>& x) { return x.v; }

using Index = std::size_t;

constexpr double kFirstRidge = 1e-4;
constexpr int kPasses = 3;  // of refinement: the ridge leaves G ill conditioned

// What a slipping point's piece of F is made of.
template <class T>
struct Slip {
  T s, n[kMostRows], ratio;  // n = y / |y|, ratio = s / |y|
};
template <class T>
Slip<T> slip_of(const HardProblem<T>& p, const typename HardProblem<T>::Point& at) {
  const T r(at.step);
  const T *l = p.l.data() + at.row, *w = p.w.data() + at.row;
  Slip<T> out;
  out.s = l[0] - r * w[0];
  T square(0);
  for (int k = 1; k < at.rows; ++k) {
    out.n[k] = l[k] - r * w[k];
    square += out.n[k] * out.n[k];
  }
  const T inverse = T(1) / sqrt(square);
  for (int k = 1; k < at.rows; ++k) out.n[k] *= inverse;
  out.ratio = out.s * inverse;
  return out;
}

// F on the piece that the modes name.
template <class T>
void residual(const HardProblem<T>& p, std::vector<T>& F) {
  F.resize(Index(p.size));
  for (const auto& at : p.points) {
    const T r(at.step);
    const T *l = p.l.data() + at.row, *w = p.w.data() + at.row;
    T* f = F.data() + at.row;
    if (at.mode == HardMode::open) {
      std::copy(l, l + at.rows, f);
      continue;
    }
    f[0] = r * w[0];
    if (at.mode == HardMode::stick) {
      for (int k = 1; k < at.rows; ++k) f[k] = r * w[k];
      continue;
    }
    const Slip<T> slip = slip_of(p, at);
    for (int k = 1; k < at.rows; ++k) f[k] = l[k] - slip.s * slip.n[k];
  }
}

// G = dF/dl there.
template <class T>
void jacobian(const HardProblem<T>& p, std::vector<T>& G) {
  const int n = p.size;
  G.assign(Index(n) * Index(n), T(0));
  for (const auto& at : p.points) {
    const T r(at.step);
    const auto row = [&](int k) { return G.data() + Index(at.row + k) * Index(n); };
    const auto of_w = [&](int k) { return p.C.data() + Index(at.row + k) * Index(n); };
    if (at.mode == HardMode::open) {
      for (int k = 0; k < at.rows; ++k) row(k)[at.row + k] = T(1);
      continue;
    }
    for (int j = 0; j < n; ++j) row(0)[j] = r * of_w(0)[j];
    if (at.mode == HardMode::stick) {
      for (int k = 1; k < at.rows; ++k) {
        for (int j = 0; j < n; ++j) row(k)[j] = r * of_w(k)[j];
      }
      continue;
    }
    // l_t - s n: ds = dl_0 - r dw_0, dn = (1 - n n') (dl_t - r dw_t) / |y|
    const Slip<T> slip = slip_of(p, at);
    for (int j = 0; j < n; ++j) {
      const auto dy = [&](int k) { return (j == at.row + k ? T(1) : T(0)) - r * of_w(k)[j]; };
      const T ds = dy(0);
      T along(0);
      for (int k = 1; k < at.rows; ++k) along += slip.n[k] * dy(k);
      for (int k = 1; k < at.rows; ++k)
        row(k)[j] =
            (j == at.row + k ? T(1) : T(0)) - slip.n[k] * ds - slip.ratio * (dy(k) - slip.n[k] * along);
    }
  }
}

double largest(const std::vector<double>& x) {
  double m = 0;
  for (const double v : x) m = std::max(m, std::abs(v));
  return m;
}

// One point given the others: l from (C + rho P) l = -q, q what it does without an impulse of its own.
void solve_point(const HardProblem<double>& p, const HardProblem<double>::Point& at, const double* q,
                 double* l) {
  const auto C = [&](int i, int j) { return p.C[Index(at.row + i) * Index(p.size) + Index(at.row + j)]; };
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

template <class T>
void HardProblem<T>::reserve(int rows) {
  const auto n = Index(rows);
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
  const auto n = Index(size);
  A.assign(n * n, T(0));
  for (auto* values : {&b, &mu, &l}) values->assign(n, T(0));
}

template <class T>
void HardProblem<T>::scale() {
  const auto n = Index(size);
  C.resize(n * n);
  c.resize(n);
  for (Index i = 0; i < n; ++i) {
    c[i] = mu[i] * b[i];
    for (Index j = 0; j < n; ++j) C[i * n + j] = mu[i] * mu[j] * A[i * n + j];
  }
  for (Point& at : points) {
    double most = 0;
    for (int k = 0; k < at.rows; ++k) {
      const auto i = Index(at.row + k);
      const double m = value_of(mu[i]);
      C[i * (n + 1)] += T(ridge * at.weight * m * m);
      most = std::max(most, value_of(C[i * (n + 1)]));
    }
    at.step = 1 / most;
  }
}

template <class T>
void HardProblem<T>::velocities() {
  w = c;
  const auto n = Index(size);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) w[i] += C[i * n + j] * l[j];
  }
}

template struct HardProblem<double>;
template struct HardProblem<Dual<double>>;

void DenseFactor::reserve(int size) {
  LU_.reserve(Index(size) * Index(size));
  row_.reserve(Index(size));
  scratch_.reserve(Index(size));
}

bool DenseFactor::factor(const std::vector<double>& matrix, int size) {
  n_ = size;
  LU_ = matrix;
  row_.resize(Index(n_));
  scratch_.resize(Index(n_));
  for (int k = 0; k < n_; ++k) row_[Index(k)] = k;
  const auto at = [&](int i, int j) -> double& { return LU_[Index(i) * Index(n_) + Index(j)]; };
  for (int k = 0; k < n_; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n_; ++i) {
      if (std::abs(at(i, k)) > std::abs(at(pivot, k))) pivot = i;
    }
    if (!(std::abs(at(pivot, k)) > 0)) return false;
    if (pivot != k) {
      std::swap_ranges(&at(k, 0), &at(k, 0) + n_, &at(pivot, 0));
      std::swap(row_[Index(k)], row_[Index(pivot)]);
    }
    const double inverse = 1 / at(k, k);
    for (int i = k + 1; i < n_; ++i) {
      const double factor = at(i, k) * inverse;
      at(i, k) = factor;
      if (factor == 0) continue;
      for (int j = k + 1; j < n_; ++j) at(i, j) -= factor * at(k, j);
    }
  }
  return true;
}

void DenseFactor::solve(double* x) const {
  const auto at = [&](int i, int j) { return LU_[Index(i) * Index(n_) + Index(j)]; };
  for (int i = 0; i < n_; ++i) scratch_[Index(i)] = x[row_[Index(i)]];
  for (int i = 0; i < n_; ++i) {
    for (int j = 0; j < i; ++j) scratch_[Index(i)] -= at(i, j) * scratch_[Index(j)];
  }
  for (int i = n_ - 1; i >= 0; --i) {
    for (int j = i + 1; j < n_; ++j) scratch_[Index(i)] -= at(i, j) * scratch_[Index(j)];
    scratch_[Index(i)] /= at(i, i);
  }
  std::copy(scratch_.begin(), scratch_.end(), x);
}

void DenseFactor::solve_transposed(double* x) const {
  const auto at = [&](int i, int j) { return LU_[Index(i) * Index(n_) + Index(j)]; };
  for (int i = 0; i < n_; ++i) {
    for (int j = 0; j < i; ++j) x[i] -= at(j, i) * x[j];
    x[i] /= at(i, i);
  }
  for (int i = n_ - 1; i >= 0; --i) {
    for (int j = i + 1; j < n_; ++j) x[i] -= at(j, i) * x[j];
  }
  std::copy(x, x + n_, scratch_.begin());
  for (int i = 0; i < n_; ++i) x[row_[Index(i)]] = scratch_[Index(i)];
}

void HardSolver::reserve(int rows, bool dual) {
  const auto n = Index(rows);
  factor_.reserve(rows);
  G_.reserve(n * n);
  for (auto* values : {&F_, &start_, &before_, &swept_}) values->reserve(n);
  best_.reserve(n + 1);
  if (!dual) return;
  value_.reserve(rows);
  F_dual_.reserve(n);
  G_dual_.reserve(n * n);
}

double HardSolver::natural_map(HardProblem<double>& p) {
  p.velocities();
  for (auto& at : p.points) {
    const double *l = p.l.data() + at.row, *w = p.w.data() + at.row;
    const double s = l[0] - at.step * w[0];
    double square = 0;
    for (int k = 1; k < at.rows; ++k) {
      const double y = l[k] - at.step * w[k];
      square += y * y;
    }
    at.mode = s <= 0 ? HardMode::open : square <= s * s ? HardMode::stick : HardMode::slip;
  }
  residual(p, F_);
  return largest(F_);
}

void HardSolver::sweep(HardProblem<double>& p) {
  const auto n = Index(p.size);
  for (const auto& at : p.points) {
    double q[kMostRows];
    for (int k = 0; k < at.rows; ++k) {
      const auto i = Index(at.row + k);
      q[k] = p.c[i];
      for (Index j = 0; j < n; ++j) q[k] += p.C[i * n + j] * p.l[j];
      for (int j = 0; j < at.rows; ++j) q[k] -= p.C[i * n + Index(at.row + j)] * p.l[Index(at.row + j)];
    }
    solve_point(p, at, q, p.l.data() + at.row);
  }
}

bool HardSolver::factor_piece(const HardProblem<double>& p) {
  jacobian(p, G_);
  return factor_.factor(G_, p.size);
}

// Newton's method from p.l; the best l in best_, with |F| there in the last entry. Whether it is below the goal.
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
    if (!factor_piece(p)) break;
    start_ = F_;
    factor_.solve(start_.data());
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

double HardSolver::solve(HardProblem<double>& p) {
  std::fill(p.l.begin(), p.l.end(), 0.0);
  if (p.size == 0) return 0;
  best_.assign(Index(p.size) + 1, 0.0);
  const double ridge = p.ridge;
  p.ridge = kFirstRidge;
  p.scale();
  double scale = 1e-300;
  for (const auto& at : p.points) {
    for (int k = 0; k < at.rows; ++k) scale = std::max(scale, at.step * std::abs(p.c[Index(at.row + k)]));
  }
  if (p.points.size() > 1) {
    for (int i = 0; i < 3; ++i) sweep(p);
    approach(p, 3, 1e-8 * scale);
  }
  p.ridge = ridge;
  p.scale();
  if (p.points.size() == 1) sweep(p);
  return approach(p, 8, 1e-13 * scale) / scale;
}

void HardSolver::keep_value(const HardProblem<Dual<double>>& p) {
  value_.size = p.size;
  value_.ridge = p.ridge;
  value_.points.clear();
  for (const auto& at : p.points) value_.points.push_back({at.row, at.rows, at.mode, at.step, at.weight});
  const auto copy = [](const std::vector<Dual<double>>& from, std::vector<double>& to) {
    to.resize(from.size());
    for (Index i = 0; i < from.size(); ++i) to[i] = from[i].v;
  };
  copy(p.A, value_.A);
  copy(p.b, value_.b);
  copy(p.mu, value_.mu);
  copy(p.l, value_.l);
}

double HardSolver::solve(HardProblem<Dual<double>>& p) {
  p.scale();
  if (p.size == 0) return 0;
  keep_value(p);
  HardProblem<double>& value = value_;
  const double error = solve(value);
  for (Index i = 0; i < p.points.size(); ++i) p.points[i].mode = value.points[i].mode;
  for (Index i = 0; i < p.l.size(); ++i) p.l[i] = Dual<double>(value.l[i]);
  if (!factor_piece(value)) return error;
  for (int pass = 0; pass < kPasses; ++pass) {
    p.velocities();
    residual(p, F_dual_);
    start_.resize(F_dual_.size());
    for (Index i = 0; i < F_dual_.size(); ++i) start_[i] = F_dual_[i].d[0];
    factor_.solve(start_.data());
    for (Index i = 0; i < p.l.size(); ++i) p.l[i].d[0] -= start_[i];
  }
  return error;
}

template <class T>
void HardSolver::vjp(HardProblem<T>& p, const std::vector<T>& lambda_bar, HardBar<T>& out) {
  const auto n = Index(p.size);
  p.scale();
  p.velocities();
  for (auto* values : {&out.Y, &out.mu, &out.z}) values->assign(n, T(0));
  if (n == 0) return;
  std::vector<T>& z = out.z;
  bool regular;
  if constexpr (is_dual<T>) {
    keep_value(p);
    value_.scale();
    value_.velocities();
    regular = factor_piece(value_);
    jacobian(p, G_dual_);
  } else {
    regular = factor_piece(p);
  }
  if (!regular) return;
  // z solves G' z = E lambda_bar. Tangents of duals follow the values.
  for (int pass = 0; pass < (is_dual<T> ? 2 : 1) * kPasses; ++pass) {
    const auto G = [&](Index i, Index j) -> const T& {
      if constexpr (is_dual<T>)
        return G_dual_[i * n + j];
      else
        return G_[i * n + j];
    };
    std::vector<T>& left = out.mu;
    for (Index j = 0; j < n; ++j) {
      left[j] = p.mu[j] * lambda_bar[j];
      for (Index i = 0; i < n; ++i) left[j] -= G(i, j) * z[i];
    }
    const auto solve_part = [&](auto part) {
      start_.resize(n);
      for (Index i = 0; i < n; ++i) start_[i] = part(left[i]);
      factor_.solve_transposed(start_.data());
      for (Index i = 0; i < n; ++i) part(z[i]) += start_[i];
    };
    if constexpr (is_dual<T>) {
      solve_part([](Dual<double>& x) -> double& { return x.v; });
      if (pass >= kPasses) solve_part([](Dual<double>& x) -> double& { return x.d[0]; });
    } else {
      solve_part([](double& x) -> double& { return x; });
    }
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
    out.mu[Index(at.row)] = T(0);
    for (int k = 1; k < at.rows; ++k) {
      const auto i = Index(at.row + k);
      T u = p.b[i], AY(0);
      for (Index j = 0; j < n; ++j) {
        u += p.A[i * n + j] * p.mu[j] * p.l[j];
        AY += p.A[i * n + j] * out.Y[j];
      }
      out.mu[i] = w_bar[i] * u + p.l[i] * (AY + lambda_bar[i]);
    }
  }
}

template void HardSolver::vjp(HardProblem<double>&, const std::vector<double>&, HardBar<double>&);
template void HardSolver::vjp(HardProblem<Dual<double>>&, const std::vector<Dual<double>>&,
                              HardBar<Dual<double>>&);

}  // namespace costate::rigid

// Rigid bonds: distances that a step keeps, by SHAKE and RATTLE [1], whatever letters the word has.
//
// Every drift is followed by forces along the bonds that it started with, and every letter that changes
// velocities by their projection [2]. With d_c = x_a - x_b of bond c, J its rows (+d_c at a, -d_c at b):
//
//   drift       y = x + h v + P,  P = M^-1 J(x)' lambda  with  |d_c(y)|^2 = length_c^2
//               v' = v - M^-1 [lambda_c r_c],  r_c = (d_c(y) - d_c(x)) / h = (v + P / h)_c
//   project     v' = v - M^-1 J' kappa           with  J v' = 0
//
// A drift's impulse is P / h; its part along J(y)' is left out, because a projection at y follows and would
// take it off again. P / h is large where the bonds were open at the start, and so is every tangent of it:
// what remains of either after the projection would have lost its digits in single precision.
//
// lambda by Newton's method with A = J(y) M^-1 J(x)', kappa by solving J M^-1 J' kappa = J v. Both are solved
// bond group by bond group (bonds that share atoms), in the displacements: M^-1 enters as the coupling
// W_ce = sum over shared atoms of sign_c sign_e / m.
//
// Transposes, by the implicit function theorem, never through the iterations:
//
//   drift       q_c = -lambda_c (M^-1 v'_bar)_c,  A' mu = J(x) M^-1 (y_bar + [q_c] / h) - r_c.(M^-1 v'_bar)_c
//               w = y_bar - J(y)' mu,  u = w + [q_c] / h,  x_bar = w + [lambda_c (M^-1 u)_c]
//               v_bar = v'_bar + h w + [q_c],  length_bar += mu_c length_c,  h_bar += v.w - P.[q_c] / h^2
//               m_bar += (v - v').v'_bar / m - P.u / m
//   project     J M^-1 J' s = J M^-1 v'_bar,  v_bar = v'_bar - J' s,
//               x_bar -= [kappa_c (M^-1 v_bar)_c + s_c v'_c],  m_bar += v_bar.(v - v') / m
//
// [g_c] is +g_c at a and -g_c at b, summed over bonds, and (g)_c = g_a - g_b. In a box d_c is the nearest
// image.
// [1] Andersen: RATTLE: a "velocity" version of the SHAKE algorithm, J. Comput. Phys. 52 (1983).
// [2] Leimkuhler, Matthews: Efficient molecular dynamics using geodesic integration and solvent-solute
//     splitting, Proc. R. Soc. A 472 (2016).
// Tests: tests/md/constraint_test.cpp.
#pragma once

#include <array>
#include <limits>

#include "costate/md/integrator/part.h"

namespace costate::md {

// Bonds of one group, in one world (or pack of worlds). What solves is not inlined: g++ would see arrays of
// which only the first few are filled.
template <class S>
class BondGroup {
 public:
  static constexpr int kMost = kMostBonds, kNewton = 7;
  using Row = std::array<S, kMost>;
  using Matrix = std::array<Row, kMost>;

  BondGroup(const Part<S>& part, const Layout::Bonds& bonds)
      : c_(part), bonds_(bonds), n_(int(bonds.size())) {
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j) W_[at(i)][at(j)] = coupling(bonds_[at(i)], bonds_[at(j)]);
  }
  int size() const { return n_; }
  int from(int c) const { return bonds_[at(c)].b; }
  int to(int c) const { return bonds_[at(c)].a; }

  // Displacements of all bonds, of positions with their nearest images or of any other vectors.
  [[gnu::noinline]] void positions(const S* x) {
    using costate::round;
    for (int c = 0; c < n_; ++c)
      for (int k = 0; k < 3; ++k) {
        S& d = d_[at(c)][k];
        d = difference(c, k, x);
        images_[at(c)][k] = S(0);
        if (c_.at.box < 0 || k >= c_.at.dimensions) continue;
        const S& edge = c_.p[c_.at.box + k];
        images_[at(c)][k] = round(d / edge);
        d = d - images_[at(c)][k] * edge;
      }
  }
  S difference(int c, int k, const S* x) const {
    const int n = c_.at.dimensions;
    return k < n ? x[to(c) * n + k] - x[from(c) * n + k] : S(0);
  }
  // x_a += sign g / m (or without m), x_b -= ...
  void spread(int c, const S* g, bool per_mass, S* x) const {
    const int n = c_.at.dimensions;
    for (int k = 0; k < 3; ++k) {  // a bound that g++ knows: it would warn of g[3]
      if (k >= n) break;
      x[to(c) * n + k] += per_mass ? g[k] / c_.p[c_.at.mass + to(c)] : g[k];
      x[from(c) * n + k] -= per_mass ? g[k] / c_.p[c_.at.mass + from(c)] : g[k];
    }
  }

  // lambda and the displacements after the drift, from those before and those without forces.
  [[gnu::noinline]] void shake(const S* free) {
    for (int c = 0; c < n_; ++c) {
      lambda_[at(c)] = S(0);
      for (int k = 0; k < 3; ++k) {
        free_[at(c)][k] = difference(c, k, free);
        if (c_.at.box >= 0 && k < c_.at.dimensions)
          free_[at(c)][k] = free_[at(c)][k] - images_[at(c)][k] * c_.p[c_.at.box + k];
      }
    }
    for (int iteration = 0; iteration < kNewton; ++iteration) {
      Row residual = after();
      Matrix A = slope(false);
      solve(A, residual);
      for (int c = 0; c < n_; ++c) lambda_[at(c)] = lambda_[at(c)] - residual[at(c)];
    }
    // A bond that has not closed shows as a state that is not finite, which the rollout reports.
    const Row left = after();
    for (int c = 0; c < n_; ++c) {
      using V = value_t<S>;
      const S l2 = length(c) * length(c);
      const auto open = costate::abs(left[at(c)]) > S(V(sizeof(V) == 4 ? 1e-4 : 1e-8)) * l2;
      lambda_[at(c)] = select(open, S(std::numeric_limits<V>::quiet_NaN()), lambda_[at(c)]);
    }
  }
  // (|d_c(y)|^2 - length_c^2) / 2, with d_c(y) in y_.
  Row after() {
    Row g;
    for (int c = 0; c < n_; ++c) {
      y_[at(c)] = free_[at(c)];
      for (int e = 0; e < n_; ++e)
        for (int k = 0; k < 3; ++k) y_[at(c)][k] += W_[at(c)][at(e)] * lambda_[at(e)] * d_[at(e)][k];
      g[at(c)] = S(0.5) * (dot(y_[at(c)], y_[at(c)]) - length(c) * length(c));
    }
    return g;
  }
  // A = J(y) M^-1 J(x)', or its transpose.
  Matrix slope(bool transposed) const {
    Matrix A;
    for (int c = 0; c < n_; ++c)
      for (int e = 0; e < n_; ++e)
        (transposed ? A[at(e)][at(c)] : A[at(c)][at(e)]) = W_[at(c)][at(e)] * dot(y_[at(c)], d_[at(e)]);
    return A;
  }
  // J M^-1 J' kappa = J v.
  [[gnu::noinline]] Row project(const S* v, bool per_mass) const {
    Row r;
    Matrix A;
    for (int c = 0; c < n_; ++c) {
      r[at(c)] = along(c, d_[at(c)], v, per_mass);
      for (int e = 0; e < n_; ++e) A[at(c)][at(e)] = W_[at(c)][at(e)] * dot(d_[at(c)], d_[at(e)]);
    }
    solve(A, r);
    return r;
  }
  // A' mu = J(x) M^-1 Y + what lies in mu.
  [[gnu::noinline]] void pull_back(const S* Y, Row& mu) const {
    for (int c = 0; c < n_; ++c) mu[at(c)] += along(c, d_[at(c)], Y, true);
    Matrix A = slope(true);
    solve(A, mu);
  }
  // d . (v_a - v_b), or of v / m.
  S along(int c, const Vec<S, 3>& d, const S* v, bool per_mass) const {
    S sum(0);
    for (int k = 0; k < 3; ++k)
      if (k < c_.at.dimensions) sum += d[k] * apart(c, k, v, per_mass);
    return sum;
  }
  S apart(int c, int k, const S* v, bool per_mass) const {
    const int n = c_.at.dimensions;
    if (!per_mass) return v[to(c) * n + k] - v[from(c) * n + k];
    return v[to(c) * n + k] / c_.p[c_.at.mass + to(c)] - v[from(c) * n + k] / c_.p[c_.at.mass + from(c)];
  }
  Vec<S, 3> apart_of(int c, const S* v, bool per_mass) const {
    Vec<S, 3> r = Vec<S, 3>::zero();
    for (int k = 0; k < 3; ++k)
      if (k < c_.at.dimensions) r[k] = apart(c, k, v, per_mass);
    return r;
  }
  // What d_c = x_a - x_b - images box has received.
  void receive(int c, const S* g, S* x_bar) const {
    spread(c, g, false, x_bar);
    receive_box(c, g);
  }
  void receive_box(int c, const S* g) const {
    for (int k = 0; k < 3; ++k)
      if (c_.at.box >= 0 && k < c_.at.dimensions) c_.p_bar[c_.at.box + k] -= images_[at(c)][k] * g[k];
  }
  const S& h() const { return c_.h; }
  const S& length(int c) const { return c_.p[length_slot(c)]; }
  int length_slot(int c) const { return c_.at.length + (c_.at.lengths > 1 ? bonds_[at(c)].number : 0); }
  const S& lambda(int c) const { return lambda_[at(c)]; }
  const Vec<S, 3>& d(int c) const { return d_[at(c)]; }
  const Vec<S, 3>& y(int c) const { return y_[at(c)]; }

  // Elimination without pivots: both matrices are near to symmetric positive ones.
  void solve(Matrix& A, Row& b) const {
    for (int i = 0; i < n_; ++i) {
      const S inverse = S(1) / A[at(i)][at(i)];
      for (int r = i + 1; r < n_; ++r) {
        const S factor = A[at(r)][at(i)] * inverse;
        for (int k = i + 1; k < n_; ++k) A[at(r)][at(k)] = A[at(r)][at(k)] - factor * A[at(i)][at(k)];
        b[at(r)] = b[at(r)] - factor * b[at(i)];
      }
    }
    for (int i = n_; i-- > 0;) {
      for (int k = i + 1; k < n_; ++k) b[at(i)] = b[at(i)] - A[at(i)][at(k)] * b[at(k)];
      b[at(i)] = b[at(i)] / A[at(i)][at(i)];
    }
  }
  static std::size_t at(int i) { return std::size_t(i); }

 private:
  S coupling(const Layout::Bond& c, const Layout::Bond& e) const {
    S sum(0);
    const auto add = [&](int i, int j, int sign) {
      if (i == j) sum += S(value_t<S>(sign)) / c_.p[c_.at.mass + i];
    };
    add(c.a, e.a, 1), add(c.b, e.b, 1), add(c.a, e.b, -1), add(c.b, e.a, -1);
    return sum;
  }

  const Part<S>& c_;
  const Layout::Bonds& bonds_;
  int n_;
  Matrix W_;
  Row lambda_;
  std::array<Vec<S, 3>, kMost> d_, y_, free_, images_;
};

// Drift with the forces of rigid bonds; a projection follows.
struct RigidDrift {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    const int dof = c.at.dof;
    S *x = s + c.at.x, *v = s + c.at.v, *free = c.work, *P = c.work + dof, *turn = c.work + 2 * dof;
    for (int i = 0; i < dof; ++i) free[i] = x[i] + c.h * v[i], P[i] = turn[i] = S(0);
    for (const Layout::Bonds& bonds : c.at.groups) {
      BondGroup<S> group(c, bonds);
      group.positions(x);
      group.shake(free);
      push(group, P);
      turn_bonds(group, v, P, turn);
    }
    for (int i = 0; i < dof; ++i) {
      x[i] = free[i] + P[i];
      v[i] -= turn[i];
    }
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const int dof = c.at.dof;
    const S *x = s + c.at.x, *v = s + c.at.v;
    S *x_bar = bar + c.at.x, *v_bar = bar + c.at.v;
    S *free = c.work, *P = c.work + dof, *u = c.work + 2 * dof, *q = c.work + 3 * dof,
      *turn = c.work + 4 * dof;
    for (int i = 0; i < dof; ++i) {
      free[i] = x[i] + c.h * v[i], P[i] = q[i] = turn[i] = S(0);
      u[i] = x_bar[i];
    }
    for (const Layout::Bonds& bonds : c.at.groups) {
      BondGroup<S> group(c, bonds);
      group.positions(x);
      group.shake(free);
      push(group, P);
      turn_bonds(group, v, P, turn);
      pull_back(c, group, v, P, v_bar, x_bar, u, q);
      // [lambda_c (M^-1 u)_c] waits in `free`, which this group has used: x_bar must stay w for a while.
      each_number(c, bonds, [&](int i) { free[i] = S(0); });
      for (int b = 0; b < group.size(); ++b) {
        const Vec<S, 3> g = group.lambda(b) * group.apart_of(b, u, true);
        group.receive(b, g.e, free);
      }
    }
    S h_bar(0);
    for (int i = 0; i < dof; ++i) {
      c.mass_bar(i) += (turn[i] * v_bar[i] - P[i] * u[i]) / c.mass(i);
      h_bar += v[i] * x_bar[i] - P[i] * q[i] / (c.h * c.h);
      v_bar[i] += c.h * x_bar[i] + q[i];
    }
    c.h_bar += h_bar;
    for (const Layout::Bonds& bonds : c.at.groups)
      each_number(c, bonds, [&](int i) { x_bar[i] += free[i], free[i] = S(0); });
  }

 private:
  // f(i) for every coordinate of the atoms of a group; of an atom with two bonds twice.
  template <class S, class F>
  static void each_number(const Part<S>& c, const Layout::Bonds& bonds, const F& f) {
    const int n = c.at.dimensions;
    for (const Layout::Bond& bond : bonds)
      for (const int atom : {bond.a, bond.b})
        for (int i = atom * n; i < atom * n + n; ++i) f(i);
  }
  template <class S>
  static void push(const BondGroup<S>& group, S* y) {
    for (int b = 0; b < group.size(); ++b) {
      const S& l = group.lambda(b);
      const S g[3] = {l * group.d(b)[0], l * group.d(b)[1], l * group.d(b)[2]};
      group.spread(b, g, true, y);
    }
  }
  // r_c = (v + P / h)_c.
  template <class S>
  static Vec<S, 3> rate(const BondGroup<S>& group, int b, const S* v, const S* P) {
    return group.apart_of(b, v, false) + S(S(1) / group.h()) * group.apart_of(b, P, false);
  }
  // turn += M^-1 [lambda_c r_c]
  template <class S>
  static void turn_bonds(const BondGroup<S>& group, const S* v, const S* P, S* turn) {
    for (int b = 0; b < group.size(); ++b) {
      const Vec<S, 3> g = group.lambda(b) * rate(group, b, v, P);
      group.spread(b, g.e, true, turn);
    }
  }
  // From y_bar in x_bar and in u to w in x_bar, u = w + [q_c] / h, and q; the lengths receive theirs.
  template <class S>
  static void pull_back(const Part<S>& c, BondGroup<S>& group, const S* v, const S* P, const S* v_bar,
                        S* x_bar, S* u, S* q) {
    typename BondGroup<S>::Row mu;
    for (int b = 0; b < group.size(); ++b) {
      const Vec<S, 3> apart = group.apart_of(b, v_bar, true), g = S(-group.lambda(b)) * apart;
      mu[group.at(b)] = -dot(rate(group, b, v, P), apart);
      group.spread(b, g.e, false, q);
      const Vec<S, 3> per_h = S(S(1) / c.h) * g;
      group.spread(b, per_h.e, false, u);
    }
    group.pull_back(u, mu);
    for (int b = 0; b < group.size(); ++b) {
      const S& m = mu[group.at(b)];
      const Vec<S, 3> g = S(-m) * group.y(b);
      group.spread(b, g.e, false, u);
      group.spread(b, g.e, false, x_bar);
      group.receive_box(b, g.e);
      c.p_bar[group.length_slot(b)] += m * group.length(b);
    }
  }
};

// Velocities without what would stretch a rigid bond.
struct RigidProjection {
  template <class S>
  static void apply(const Part<S>& c, S* s) {
    for (const Layout::Bonds& bonds : c.at.groups) {
      BondGroup<S> group(c, bonds);
      group.positions(s + c.at.x);
      project(group, s + c.at.v);
    }
  }
  template <class S>
  static void apply_vjp(Part<S>& c, const S* s, S* bar) {
    const int dof = c.at.dof, n = c.at.dimensions;
    S *x_bar = bar + c.at.x, *v_bar = bar + c.at.v, *after = c.work;
    for (int i = 0; i < dof; ++i) after[i] = s[c.at.v + i];
    for (const Layout::Bonds& bonds : c.at.groups) {
      BondGroup<S> group(c, bonds);
      group.positions(s + c.at.x);
      const auto kappa = project(group, after);
      const auto back = group.project(v_bar, true);
      for (int b = 0; b < group.size(); ++b) {
        const S& t = back[group.at(b)];
        const S g[3] = {-(t * group.d(b)[0]), -(t * group.d(b)[1]), -(t * group.d(b)[2])};
        group.spread(b, g, false, v_bar);
      }
      for (int b = 0; b < group.size(); ++b) {
        S g[3] = {S(0), S(0), S(0)};
        for (int k = 0; k < 3; ++k) {
          if (k < n)
            g[k] = -(kappa[group.at(b)] * group.apart(b, k, v_bar, true) +
                     back[group.at(b)] * group.apart(b, k, after, false));
        }
        group.receive(b, g, x_bar);
      }
    }
    for (int i = 0; i < dof; ++i) c.mass_bar(i) += v_bar[i] * (s[c.at.v + i] - after[i]) / c.mass(i);
  }

 private:
  template <class S>
  static typename BondGroup<S>::Row project(const BondGroup<S>& group, S* v) {
    const auto kappa = group.project(v, false);
    for (int b = 0; b < group.size(); ++b) {
      const S& t = kappa[group.at(b)];
      const S g[3] = {-(t * group.d(b)[0]), -(t * group.d(b)[1]), -(t * group.d(b)[2])};
      group.spread(b, g, true, v);
    }
    return kappa;
  }
};

}  // namespace costate::md

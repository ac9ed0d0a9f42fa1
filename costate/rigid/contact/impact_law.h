// The impulse lambda of one contact point at which two bodies meet: Newton's restitution, Coulomb's friction.
//
// w = J v is the velocity of the sides against each other, normal first (w_0 < 0), A = J M^-1 J'. After the
// impulse w+ = w + A lambda with
//
//   w+_0 = -e w_0,
//   stick    w+_t = 0                               where sum_k (lambda_k / mu_k)^2 <= lambda_0^2
//   slip     w+_k = -rho lambda_k / mu_k^2, rho > 0   with equality: of all impulses on the cone the one that
//                                                     takes most energy [1]
//
// k runs over tangents, spin and rolling, as condim has them. With lambda = E l, E = diag(1, mu_1, mu_2,
// ...), both are one equation,
//
//   (E A E + rho P) l = E b,      b = -(w_0 (1 + e), w_t),      P = diag(0, 1, 1, ...)
//
// stick with rho = 0, slip with the root of l_0/|l_t| = 1. As a function of rho this ratio is nearly a
// straight line (it is one for a ball), so Newton's method takes few steps; a bracket guards it. Rows that no
// dof can move have A_kk = 0: a ridge of rounding's size on the tangents keeps the matrix regular.
//
// Transpose. z solves (E A E + rho P) z + zeta c = E lambda_bar, where in slip c = (-l_0, l_t) and <l_t,
// z_t> = 0, in stick zeta = 0. With Z = E z
//
//   b_bar = Z,      A_bar = -Z lambda',      mu_bar_k = z_k (b - A lambda)_k + l_k (lambda_bar - A Z)_k
//
// [1] Moreau: Unilateral contact and dry friction in finite freedom dynamics, 1988.
// Tests: tests/rigid/contact/event_test.cpp.
#pragma once

#include "costate/ad/dual.h"
#include "costate/core/functions.h"
#include "costate/rigid/contact/contact_law.h"

namespace costate::rigid {

// The value, without its tangent.
template <class S>
COSTATE_INLINE S held(const S& x) {
  if constexpr (is_dual<S>)
    return S(x.v);
  else
    return x;
}

template <class S>
struct ImpactSystem {
  int rows = 1;
  S A[kMostRows][kMostRows];  // symmetric
  S b[kMostRows], mu[kMostRows];

  S C[kMostRows][kMostRows], inverse[kMostRows];  // E A E + rho P as L D L'
  S l[kMostRows], rho = S(0);
  mask_t<S> slips;
};

template <class S>
void factor_impact(const S& rho, ImpactSystem<S>& s) {
  using T = value_t<S>;
  const S ridge = held(s.A[0][0]) * S(T(sizeof(T) == 8 ? 1e-13 : 1e-6));
  for (int i = 0; i < s.rows; ++i) {
    for (int j = 0; j <= i; ++j) s.C[i][j] = s.mu[i] * s.mu[j] * s.A[i][j];
    if (i > 0) s.C[i][i] += s.mu[i] * s.mu[i] * ridge + rho;
  }
  for (int k = 0; k < s.rows; ++k) {
    s.inverse[k] = S(1) / s.C[k][k];
    for (int i = k + 1; i < s.rows; ++i) {
      const S scale = s.C[i][k] * s.inverse[k];
      for (int j = k + 1; j <= i; ++j) s.C[i][j] -= scale * s.C[j][k];
    }
    for (int i = k + 1; i < s.rows; ++i) s.C[i][k] *= s.inverse[k];
  }
}

template <class S>
void solve_impact_matrix(const ImpactSystem<S>& s, S* x) {
  for (int k = 0; k < s.rows; ++k) {
    for (int i = k + 1; i < s.rows; ++i) x[i] -= s.C[i][k] * x[k];
  }
  for (int k = s.rows; k-- > 0;) {
    x[k] *= s.inverse[k];
    for (int i = k + 1; i < s.rows; ++i) x[k] -= s.C[i][k] * x[i];
  }
}

// l at rho; how far the ratio is from its goal, and its slope.
template <class S>
struct ConeRatio {
  S excess, slope;
  mask_t<S> inside;  // of the cone
};
template <class S>
ConeRatio<S> cone_ratio(ImpactSystem<S>& s) {
  factor_impact(s.rho, s);
  for (int i = 0; i < s.rows; ++i) s.l[i] = s.mu[i] * s.b[i];
  solve_impact_matrix(s, s.l);
  S by_rho[kMostRows] = {S(0)}, square(0), product(0);
  for (int i = 1; i < s.rows; ++i) {
    by_rho[i] = -s.l[i];
    square += s.l[i] * s.l[i];
  }
  solve_impact_matrix(s, by_rho);
  for (int i = 1; i < s.rows; ++i) product += s.l[i] * by_rho[i];
  const mask_t<S> inside = (square <= s.l[0] * s.l[0]) & (s.l[0] >= S(0));
  const S per = S(1) / sqrt(select(square > S(0), square, S(1)));
  return {s.l[0] * per - S(1), per * (by_rho[0] - s.l[0] * product * per * per), inside};
}

// Fills l, rho and slips from A, b and mu (mu[0] = 1).
template <class S>
void solve_impact(ImpactSystem<S>& s) {
  using T = value_t<S>;
  s.rho = S(0);
  if (s.rows == 1) {
    s.slips = mask_t<S>(false);
    s.l[0] = s.b[0] / s.A[0][0];
    s.C[0][0] = s.A[0][0];
    s.inverse[0] = S(1) / s.A[0][0];
    return;
  }
  s.slips = !cone_ratio(s).inside;
  const S tolerance(T(sizeof(T) == 8 ? 1e-14 : 1e-6)), half(T(0.5));
  S low(0), high(-1);  // high < 0: none known yet
  // From above: where rows depend on each other the ratio has further roots near 0, with impulses without
  // bound.
  S start(0);
  for (int i = 1; i < s.rows; ++i) start += held(s.mu[i] * s.mu[i] * s.A[i][i]);
  s.rho = select(s.slips, S(T(10)) * start, S(0));
  const auto newton = [&](const ConeRatio<S>& at) {
    return s.rho - at.excess / select(at.slope > S(0), at.slope, S(1));
  };
  mask_t<S> searching = s.slips;
  for (int i = 0; i < 60 && any(searching); ++i) {
    const ConeRatio<S> at = cone_ratio(s);
    const S next = newton(at);
    // Below this, rounding decides on which side of the root rho lies.
    searching = searching & (abs(at.excess) > tolerance) &
                ((at.slope <= S(0)) | (abs(next - s.rho) > S(T(8)) * tolerance * s.rho)) &
                ((high < S(0)) | (high - low > tolerance * high));
    low = select(at.excess < S(0), s.rho, low);
    high = select(at.excess > S(0), s.rho, high);
    const mask_t<S> good = (at.slope > S(0)) & (next > low) & ((high < S(0)) | (next < high));
    const S instead = select(high < S(0), S(2) * s.rho + s.A[0][0] * S(T(1e-3)), half * (low + high));
    s.rho = select(searching, select(good, next, instead), s.rho);
  }
  // One more step: where S is a Dual it carries the tangent, however the value was found.
  const ConeRatio<S> at = cone_ratio(s);
  s.rho = select(s.slips & (at.slope > S(0)), newton(at), S(0));
  cone_ratio(s);
}

template <class S>
struct ImpactBar {
  S Z[kMostRows];   // = b_bar; A_bar = -Z lambda'
  S mu[kMostRows];  // [0]: 0
};

// After solve_impact.
template <class S>
ImpactBar<S> solve_impact_vjp(const ImpactSystem<S>& s, const S* lambda_bar) {
  S z[kMostRows], c[kMostRows], through(0), self(0);
  for (int i = 0; i < s.rows; ++i) {
    z[i] = s.mu[i] * lambda_bar[i];
    c[i] = i == 0 ? -s.l[i] : s.l[i];
  }
  solve_impact_matrix(s, z);
  solve_impact_matrix(s, c);
  for (int i = 1; i < s.rows; ++i) {
    through += s.l[i] * z[i];
    self += s.l[i] * c[i];
  }
  const S zeta = select(s.slips & (self != S(0)), through / select(self != S(0), self, S(1)), S(0));
  ImpactBar<S> out;
  for (int i = 0; i < s.rows; ++i) {
    z[i] -= zeta * c[i];
    out.Z[i] = s.mu[i] * z[i];
  }
  const S ridge = held(s.A[0][0]) * S(value_t<S>(sizeof(value_t<S>) == 8 ? 1e-13 : 1e-6));
  out.mu[0] = S(0);
  for (int i = 1; i < s.rows; ++i) {
    S A_lambda = ridge * s.mu[i] * s.l[i], A_Z = ridge * out.Z[i];
    for (int j = 0; j < s.rows; ++j) {
      const S entry = i >= j ? s.A[i][j] : s.A[j][i];
      A_lambda += entry * s.mu[j] * s.l[j];
      A_Z += entry * out.Z[j];
    }
    out.mu[i] = z[i] * (s.b[i] - A_lambda) + s.l[i] * (lambda_bar[i] - A_Z);
  }
  return out;
}

}  // namespace costate::rigid

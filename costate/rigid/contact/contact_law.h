// The force of one contact point as a function of how its two sides accelerate against each other.
//
// y = J a - aref has a normal row y_0 and, by condim, two tangents (3), the spin about the normal (4) and two
// rollings (6), each with its own coefficient of friction mu_k. f = -ds/dy, S = d2s/dy2, for [1, "friction
// cones"]
//
//   frictionless   s = D/2 (y_0)_-^2                                                   x_- = min(x, 0)
//   pyramid        s = D/2 sum_k (y_0 + mu_k y_k)_-^2 + (y_0 - mu_k y_k)_-^2
//                  one term for each edge of the pyramid
//   ellipse        with T = |(mu_k y_k)_k| and mu the regularised coefficient of the first tangent,
//                    y_0 >= T                 s = 0                                         the sides part
//                    mu^2 y_0 + T <= 0        s = D/2 (y_0^2 + T^2 / mu^2)                  they stick
//                    between                  s = D/2 (y_0 - T)^2 / (1 + mu^2)              they slip
//
// The ellipse's s is, in units of the cone, half the squared distance to it: once differentiable, and twice
// away from the two borders. At the cone's axis (T = 0) slipping does not occur.
//
// All are linear in D. For the transpose, <m, f> is differentiated with respect to D, the mu_k and mu.
// S is a lower triangle, row by row.
//
// [1] MuJoCo documentation, Computation. Tests: tests/rigid/contact/law_test.cpp.
#pragma once

#include "costate/core/functions.h"
#include "costate/core/pack.h"

namespace costate::rigid {

inline constexpr int kMostRows = 6, kMostBlock = 21;

constexpr int block_at(int i, int j) { return i * (i + 1) / 2 + j; }

// out = S x
template <class S>
COSTATE_INLINE void multiply_block(int rows, const S* block, const S* x, S* out) {
  for (int i = 0; i < rows; ++i) {
    S sum = block[block_at(i, i)] * x[i];
    for (int j = 0; j < i; ++j) {
      const S entry = block[block_at(i, j)];
      sum += entry * x[j];
      out[j] += entry * x[i];
    }
    out[i] = sum;
  }
}

// D, and of row k > 0 its coefficient mu[k]; mu[0]: the regularised one of an elliptic cone.
template <class S>
struct ContactStiffness {
  S D;
  const S* mu;
};

// zone: which terms act, as a number that differs between any two cases. 0: no force.
template <class S>
struct ContactForce {
  S force[kMostRows];
  S block[kMostBlock];
  S zone;
};

template <class S>
COSTATE_INLINE void frictionless(const S& D, const S* y, ContactForce<S>& out) {
  const mask_t<S> on = y[0] < S(0);
  out.block[0] = select(on, D, S(0));
  out.force[0] = -(out.block[0] * y[0]);
  out.zone = select(on, S(1), S(0));
}

template <class S>
COSTATE_INLINE void pyramid(int rows, const ContactStiffness<S>& c, const S* y, ContactForce<S>& out) {
  using T = value_t<S>;
  out.force[0] = out.block[0] = out.zone = S(0);
  T bit(1);
  for (int k = 1; k < rows; ++k) {
    const S mu = c.mu[k], side = mu * y[k], plus = y[0] + side, minus = y[0] - side;
    const mask_t<S> on_plus = plus < S(0), on_minus = minus < S(0);
    const S D_plus = select(on_plus, c.D, S(0)), D_minus = select(on_minus, c.D, S(0));
    const S f_plus = D_plus * plus, f_minus = D_minus * minus, both = D_plus + D_minus;
    out.force[0] -= f_plus + f_minus;
    out.force[k] = mu * (f_minus - f_plus);
    out.block[0] += both;
    S* row = out.block + block_at(k, 0);
    row[0] = mu * (D_plus - D_minus);
    for (int j = 1; j < k; ++j) row[j] = S(0);
    row[k] = mu * mu * both;
    out.zone += select(on_plus, S(bit), S(0)) + select(on_minus, S(bit + bit), S(0));
    bit *= T(4);
  }
}

// Where on the cone y is.
template <class S>
struct ConePoint {
  S T, u[kMostRows];  // u: the direction of slipping, mu_k y_k / T
  mask_t<S> part, stick;
};
template <class S>
COSTATE_INLINE ConePoint<S> cone_point(int rows, const ContactStiffness<S>& c, const S* y) {
  ConePoint<S> p;
  S square(0);
  for (int k = 1; k < rows; ++k) {
    p.u[k] = c.mu[k] * y[k];
    square += p.u[k] * p.u[k];
  }
  const mask_t<S> axis = square <= S(value_t<S>(1e-30));
  const S length = sqrt(select(axis, S(1), square)), inverse = select(axis, S(0), S(1) / length);
  p.T = select(axis, S(0), length);
  for (int k = 1; k < rows; ++k) p.u[k] = p.u[k] * inverse;
  p.part = (y[0] >= p.T) | (axis & (y[0] >= S(0)));
  p.stick = (!p.part) & ((c.mu[0] * c.mu[0] * y[0] + p.T <= S(0)) | axis);
  return p;
}

template <class S>
COSTATE_INLINE void ellipse(int rows, const ContactStiffness<S>& c, const S* y, ContactForce<S>& out) {
  const ConePoint<S> p = cone_point(rows, c, y);
  const S mu2 = c.mu[0] * c.mu[0], kappa = c.D / mu2, B = c.D / (S(1) + mu2), e = y[0] - p.T;
  const S ratio = e / select(p.T > S(0), p.T, S(1));
  const auto choose = [&](const S& stuck, const S& slipping) {
    return select(p.part, S(0), select(p.stick, stuck, slipping));
  };
  out.force[0] = choose(-(c.D * y[0]), -(B * e));
  out.block[0] = choose(c.D, B);
  for (int k = 1; k < rows; ++k) {
    const S mu = c.mu[k], turned = mu * p.u[k];
    out.force[k] = choose(-(kappa * mu * mu * y[k]), B * e * turned);
    S* row = out.block + block_at(k, 0);
    row[0] = choose(S(0), -(B * turned));
    for (int j = 1; j < k; ++j) row[j] = choose(S(0), B * turned * c.mu[j] * p.u[j] * (S(1) + ratio));
    row[k] = choose(kappa * mu * mu, B * mu * mu * (p.u[k] * p.u[k] * (S(1) + ratio) - ratio));
  }
  out.zone = select(p.part, S(0), select(p.stick, S(1), S(2)));
}

template <class S>
COSTATE_INLINE void contact_force(bool elliptic, int rows, const ContactStiffness<S>& c, const S* y,
                                  ContactForce<S>& out) {
  if (rows == 1)
    frictionless(c.D, y, out);
  else if (elliptic)
    ellipse(rows, c, y, out);
  else
    pyramid(rows, c, y, out);
  out.zone = select(c.D > S(0), out.zone, S(0));
}

// d<m, f>/dmu_k into mu_bar[k], and with respect to the cone's own mu into mu_bar[0].
template <class S>
void contact_friction_vjp(bool elliptic, int rows, const ContactStiffness<S>& c, const S* y, const S* m,
                          S* mu_bar) {
  mu_bar[0] = S(0);
  if (rows == 1) return;
  if (!elliptic) {
    for (int k = 1; k < rows; ++k) {
      const S mu = c.mu[k], side = mu * y[k], plus = y[0] + side, minus = y[0] - side;
      const S D_plus = select(plus < S(0), c.D, S(0)), D_minus = select(minus < S(0), c.D, S(0));
      mu_bar[k] = m[0] * y[k] * (D_minus - D_plus) + m[k] * (D_minus * minus - D_plus * plus) -
                  m[k] * side * (D_plus + D_minus);
    }
    return;
  }
  const ConePoint<S> p = cone_point(rows, c, y);
  const S mu2 = c.mu[0] * c.mu[0], kappa = c.D / mu2, B = c.D / (S(1) + mu2), e = y[0] - p.T;
  const S inverse = S(1) / select(p.T > S(0), p.T, S(1));
  const auto choose = [&](const S& stuck, const S& slipping) {
    return select(p.part, S(0), select(p.stick, stuck, slipping));
  };
  S along(0), stuck_bar(0);
  for (int k = 1; k < rows; ++k) {
    along += m[k] * c.mu[k] * p.u[k];
    stuck_bar += c.mu[k] * c.mu[k] * y[k] * m[k];
  }
  mu_bar[0] =
      choose(S(2) * kappa / c.mu[0] * stuck_bar, S(2) * c.mu[0] / (S(1) + mu2) * B * e * (m[0] - along));
  for (int k = 1; k < rows; ++k) {
    const S slipping = B * p.u[k] * y[k] * (m[0] - along) +
                       B * e * (m[k] * p.u[k] + y[k] * inverse * (m[k] * c.mu[k] - p.u[k] * along));
    mu_bar[k] = choose(S(-2) * kappa * c.mu[k] * y[k] * m[k], slipping);
  }
}

}  // namespace costate::rigid

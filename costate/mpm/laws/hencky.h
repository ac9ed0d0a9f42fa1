// Isotropic functions of the left Cauchy-Green tensor b = F F', in its principal logarithmic strains e_i =
// log(b_i) / 2 (Hencky).
//
// With b = sum_i b_i q_i q_i', a law gives principal stresses t_i(e) and principal flow g_i(e) = exp(e+_i -
// e_i), and
//
//   tau = sum t_i q_i q_i',     F+ = G F,  G = sum g_i q_i q_i'
//
// so that F+ keeps F's right rotation: no singular value decomposition of F is needed, only the eigenvectors
// of b (Jacobi rotations, a fixed number of sweeps, lanes alike). Derivative of such a function Y = sum y_i
// q_i q_i' along db, in the eigenbasis (dB = Q' db Q) [1, 4.2]:
//
//   dY_ii = sum_j (dy_i/db_j) dB_jj          dY_ij = (y_i - y_j)/(b_i - b_j) dB_ij
//
// The divided difference is a product of exact ones, never a quotient of small differences: a law knows (t_i
// - t_j)/(e_i - e_j) in closed form, and
//
//   (log b_i - log b_j)/(b_i - b_j) = 2 atanh(r)/r / (b_i + b_j),  r = (b_i - b_j)/(b_i + b_j)
//   (exp a - exp c)/(a - c) = exp((a + c)/2) sinh(h)/h,            h = (a - c)/2
//
// both smooth at equality (power series there). The map is its own transpose up to the diagonal block, so
// tangents and cotangents use the same numbers.
// [1] Ogden, Non-linear Elastic Deformations.  Tests: tests/mpm/law_test.cpp.
#pragma once

#include "costate/core/quat.h"  // power_series
#include "costate/mpm/laws/response.h"

namespace costate::mpm {

template <class S, int D>
struct Spectrum {
  Vec<S, D> value;  // b_i
  Matrix<S, D> Q;   // columns q_i
};

// Eigenvalues and eigenvectors of a symmetric matrix, on plain scalars.
template <class S, int D>
COSTATE_HD COSTATE_INLINE Spectrum<S, D> spectrum(Matrix<S, D> b) {
  using T = value_t<S>;
  const S zero(0), one(1), two(2), tiny(T(1e-30));
  Matrix<S, D> Q = Matrix<S, D>::identity();
  constexpr int kSweeps = D == 2 ? 1 : (sizeof(T) == 8 ? 6 : 5);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (int i = 0; i < D; ++i) {
      for (int j = i + 1; j < D; ++j) {
        // The rotation that makes b_ij zero: t = tan, the smaller root of t^2 + 2 w t - 1 = 0, w = (b_jj -
        // b_ii) / (2 b_ij).
        const S off = b(i, j), gap = b(j, j) - b(i, i);
        const mask_t<S> done = abs(off) < tiny;
        const S double_off = two * select(done, one, off);
        const S root = sqrt(gap * gap + double_off * double_off);
        const S t = select(done, zero, double_off / (gap + select(gap < zero, -root, root)));
        const S c = one / sqrt(one + t * t), s = t * c;
        for (int k = 0; k < D; ++k) {  // columns i and j of b and Q
          const S bi = b(k, i), bj = b(k, j);
          b(k, i) = c * bi - s * bj;
          b(k, j) = s * bi + c * bj;
          const S qi = Q(k, i), qj = Q(k, j);
          Q(k, i) = c * qi - s * qj;
          Q(k, j) = s * qi + c * qj;
        }
        for (int k = 0; k < D; ++k) {  // rows
          const S bi = b(i, k), bj = b(j, k);
          b(i, k) = c * bi - s * bj;
          b(j, k) = s * bi + c * bj;
        }
      }
    }
  }
  Spectrum<S, D> r;
  for (int i = 0; i < D; ++i) r.value[i] = b(i, i);
  r.Q = Q;
  return r;
}

// Q diag(y) Q'
template <class S, int D>
COSTATE_HD COSTATE_INLINE Matrix<S, D> assemble(const Matrix<S, D>& Q, const Vec<S, D>& y) {
  Matrix<S, D> scaled;
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) scaled(i, j) = Q(i, j) * y[j];
  return times_transpose(scaled, Q);
}

// (log a - log b) / (a - b) and (exp a - exp b) / (a - b).
template <class S>
COSTATE_HD COSTATE_INLINE S divided_log(const S& a, const S& b) {
  const S one(1), sum = a + b, r = (a - b) / sum, r2 = r * r;
  const mask_t<S> small = r2 < S(value_t<S>(1e-3));
  const S safe = select(small, S(value_t<S>(0.5)), r);
  const S series = power_series(r2, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11);
  const S quotient = S(value_t<S>(0.5)) * log((one + safe) / (one - safe)) / safe;
  return S(2) * select(small, series, quotient) / sum;
}
template <class S>
COSTATE_HD COSTATE_INLINE S divided_exp(const S& a, const S& b) {
  const S half(value_t<S>(0.5)), h = half * (a - b), h2 = h * h;
  const mask_t<S> small = h2 < S(value_t<S>(1e-2));
  const S safe = select(small, S(1), h);
  const S series = power_series(h2, 1.0, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880, 1.0 / 39916800);
  return exp(half * (a + b)) * select(small, series, sinh(safe) / safe);
}

// What a law's principal map gives: stresses, flow exponents delta = e+ - e, and for the off-diagonal part,
// of each pair i < j, the divided differences
//   stress_slope = (t_i - t_j)/(e_i - e_j),    flow_slope = (delta_i - delta_j)/(e_i - e_j).
template <class S, int D>
struct Principal {
  static constexpr int kPairs = D * (D - 1) / 2;
  Vec<S, D> t, delta;
  S plastic;
  S stress_slope[kPairs], flow_slope[kPairs];

  COSTATE_HD COSTATE_INLINE void set_slopes(const S& stress, const S& flow) {
    for (int n = 0; n < kPairs; ++n) stress_slope[n] = stress, flow_slope[n] = flow;
  }
};
constexpr int pair_of(int i, int j) { return i + j - 1; }  // (0,1), (0,2), (1,2)

// Map: struct with, on any scalar,
//   static Principal<S, D> map(const Vec<S, D>& e, const S& plastic, const S* p)
//   static void map_vjp(e, plastic, p, t_bar, delta_bar, plastic_out_bar; e_bar, plastic_bar, p_bar)
// of which the second assigns.
template <class Map>
struct HenckyLaw {
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void respond(const LawInput<S, D>& in, LawOutput<S, D>& out) {
    const Matrix<S, D> F = deform(in);
    out.J = determinant(F);
    if constexpr (is_dual<S>) {
      respond_dual(in, F, out);
    } else {
      const Spectrum<S, D> b = spectrum(times_transpose(F, F));
      const Principal<S, D> m = Map::template map<S, D>(strains(b), in.plastic, in.p);
      Vec<S, D> g;
      for (int i = 0; i < D; ++i) g[i] = exp(m.delta[i]);
      out.tau = assemble(b.Q, m.t);
      out.F = assemble(b.Q, g) * F;
      out.plastic = m.plastic;
    }
  }

  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void respond_vjp(const LawInput<S, D>& in, const LawOutput<S, D>& out_bar,
                                                    LawInput<S, D>& in_bar) {
    const S half(value_t<S>(0.5));
    const Matrix<S, D> F = deform(in);
    const Spectrum<S, D> b = spectrum(times_transpose(F, F));
    const Vec<S, D> e = strains(b);
    const Principal<S, D> m = Map::template map<S, D>(e, in.plastic, in.p);
    Vec<S, D> g;
    for (int i = 0; i < D; ++i) g[i] = exp(m.delta[i]);

    // F+ = G F
    const Matrix<S, D> G_bar = symmetric_part(times_transpose(out_bar.F, F));
    Matrix<S, D> F_bar = assemble(b.Q, g) * out_bar.F;
    // to the eigenbasis
    const Matrix<S, D> T = transpose_times(b.Q, symmetric_part(out_bar.tau) * b.Q);
    const Matrix<S, D> H = transpose_times(b.Q, G_bar * b.Q);
    Vec<S, D> t_bar, delta_bar, e_bar;
    for (int i = 0; i < D; ++i) t_bar[i] = T(i, i), delta_bar[i] = g[i] * H(i, i);
    Map::template map_vjp<S, D>(e, in.plastic, in.p, t_bar, delta_bar, out_bar.plastic, e_bar, in_bar.plastic,
                                in_bar.p);
    Matrix<S, D> B_bar;
    for (int i = 0; i < D; ++i) {
      B_bar(i, i) = half * e_bar[i] / b.value[i];
      for (int j = i + 1; j < D; ++j) B_bar(i, j) = B_bar(j, i) = off_diagonal(b, m, i, j, T(i, j), H(i, j));
    }
    const Matrix<S, D> b_bar = b.Q * times_transpose(B_bar, b.Q);
    F_bar += (S(2) * b_bar) * F;  // b = F F', b_bar symmetric
    deform_vjp(in, F_bar, in_bar);
    in_bar.actuation = S(0);
  }

 private:
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static Vec<S, D> strains(const Spectrum<S, D>& b) {
    Vec<S, D> e;
    for (int i = 0; i < D; ++i) e[i] = S(value_t<S>(0.5)) * log(b.value[i]);
    return e;
  }
  // tau_slope * T + G_slope * H, the slopes along b_ij.
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static S off_diagonal(const Spectrum<S, D>& b, const Principal<S, D>& m, int i,
                                                  int j, const S& T, const S& H) {
    const S strain_slope = S(value_t<S>(0.5)) * divided_log(b.value[i], b.value[j]);
    return strain_slope * (m.stress_slope[pair_of(i, j)] * T +
                           m.flow_slope[pair_of(i, j)] * divided_exp(m.delta[i], m.delta[j]) * H);
  }

  // Values by the plain law; tangents by the formulas at the head, with the principal map's own tangents.
  template <class S, int D>
  COSTATE_HD COSTATE_INLINE static void respond_dual(const LawInput<S, D>& in, const Matrix<S, D>& F,
                                                     LawOutput<S, D>& out) {
    using V = typename S::Inner;
    Matrix<V, D> value, rate;
    for (int i = 0; i < D; ++i)
      for (int j = 0; j < D; ++j) value(i, j) = F(i, j).v, rate(i, j) = F(i, j).d[0];
    const Spectrum<V, D> b = spectrum(times_transpose(value, value));
    const Matrix<V, D> half_rate = times_transpose(rate, value);
    const Matrix<V, D> B = transpose_times(b.Q, (half_rate + transpose(half_rate)) * b.Q);
    Vec<S, D> e;
    const Vec<V, D> e_value = strains(b);
    for (int i = 0; i < D; ++i) e[i] = S(e_value[i], V(value_t<V>(0.5)) * B(i, i) / b.value[i]);
    const Principal<S, D> m = Map::template map<S, D>(e, in.plastic, in.p);
    Principal<V, D> plain;
    for (int n = 0; n < plain.kPairs; ++n)
      plain.stress_slope[n] = m.stress_slope[n].v, plain.flow_slope[n] = m.flow_slope[n].v;
    Vec<V, D> t, g;
    for (int i = 0; i < D; ++i) t[i] = m.t[i].v, plain.delta[i] = m.delta[i].v, g[i] = exp(m.delta[i].v);
    Matrix<V, D> T, H;
    for (int i = 0; i < D; ++i) {
      T(i, i) = m.t[i].d[0];
      H(i, i) = g[i] * m.delta[i].d[0];
      for (int j = i + 1; j < D; ++j) {
        T(i, j) = T(j, i) = off_diagonal(b, plain, i, j, B(i, j), V(0));
        H(i, j) = H(j, i) = off_diagonal(b, plain, i, j, V(0), B(i, j));
      }
    }
    const Matrix<V, D> tau = assemble(b.Q, t), tau_dot = b.Q * times_transpose(T, b.Q);
    const Matrix<V, D> G = assemble(b.Q, g), G_dot = b.Q * times_transpose(H, b.Q);
    const Matrix<V, D> next = G * value, next_dot = G_dot * value + G * rate;
    for (int i = 0; i < D; ++i) {
      for (int j = 0; j < D; ++j) {
        out.tau(i, j) = S(tau(i, j), tau_dot(i, j));
        out.F(i, j) = S(next(i, j), next_dot(i, j));
      }
    }
    out.plastic = m.plastic;
  }
};

}  // namespace costate::mpm

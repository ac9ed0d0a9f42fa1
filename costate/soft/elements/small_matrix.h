// Small<R, C>: a small matrix of numbers, row by row, zero unless given, and the frame of a rest triangle.
#pragma once

#include <array>
#include <cmath>

namespace costate::soft {

template <int R, int C>
struct Small {
  double e[R * C] = {};
  double& operator()(int i, int j) { return e[C * i + j]; }
  double operator()(int i, int j) const { return e[C * i + j]; }
  Small& operator+=(const Small& b) {
    for (int i = 0; i < R * C; ++i) e[i] += b.e[i];
    return *this;
  }
  Small& operator*=(double s) {
    for (double& x : e) x *= s;
    return *this;
  }
  friend Small operator+(Small a, const Small& b) { return a += b; }
  friend Small operator-(Small a, const Small& b) {
    for (int i = 0; i < R * C; ++i) a.e[i] -= b.e[i];
    return a;
  }
  friend Small operator*(double s, Small a) { return a *= s; }
};

template <int R, int K, int C>
Small<R, C> operator*(const Small<R, K>& a, const Small<K, C>& b) {
  Small<R, C> r;
  for (int i = 0; i < R; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < C; ++j) r(i, j) += a(i, k) * b(k, j);
  return r;
}
// a' b
template <int R, int C>
Small<C, C> transposed_product(const Small<R, C>& a, const Small<R, C>& b) {
  Small<C, C> r;
  for (int k = 0; k < R; ++k)
    for (int i = 0; i < C; ++i)
      for (int j = 0; j < C; ++j) r(i, j) += a(k, i) * b(k, j);
  return r;
}
template <int C>
Small<C, C> transpose(const Small<C, C>& a) {
  Small<C, C> r;
  for (int i = 0; i < C; ++i)
    for (int j = 0; j < C; ++j) r(i, j) = a(j, i);
  return r;
}
// (a'b + b'a)/2
template <int R, int C>
Small<C, C> symmetric(const Small<R, C>& a, const Small<R, C>& b) {
  const Small<C, C> ab = transposed_product(a, b);
  return 0.5 * (ab + transpose(ab));
}
template <int R, int C>
double contract(const Small<R, C>& a, const Small<R, C>& b) {
  double sum = 0;
  for (int i = 0; i < R * C; ++i) sum += a.e[i] * b.e[i];
  return sum;
}
template <int C>
double trace(const Small<C, C>& a) {
  double sum = 0;
  for (int i = 0; i < C; ++i) sum += a(i, i);
  return sum;
}
inline double determinant(const Small<2, 2>& a) { return a(0, 0) * a(1, 1) - a(0, 1) * a(1, 0); }
inline double determinant(const Small<3, 3>& a) {
  return a(0, 0) * (a(1, 1) * a(2, 2) - a(1, 2) * a(2, 1)) -
         a(0, 1) * (a(1, 0) * a(2, 2) - a(1, 2) * a(2, 0)) +
         a(0, 2) * (a(1, 0) * a(2, 1) - a(1, 1) * a(2, 0));
}
inline Small<2, 2> inverse(const Small<2, 2>& a) {
  const double k = 1 / determinant(a);
  return {{k * a(1, 1), -k * a(0, 1), -k * a(1, 0), k * a(0, 0)}};
}
inline Small<3, 3> inverse(const Small<3, 3>& a) {
  const double k = 1 / determinant(a);
  Small<3, 3> r;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      r(j, i) = k * (a(i1, j1) * a(i2, j2) - a(i1, j2) * a(i2, j1));
    }
  return r;
}

// Whether a symmetric matrix has a Cholesky factor.
template <int N>
bool is_positive(const double* A) {
  double L[N * N];
  for (int j = 0; j < N; ++j) {
    double pivot = A[N * j + j];
    for (int k = 0; k < j; ++k) pivot -= L[N * j + k] * L[N * j + k];
    if (!(pivot > 0)) return false;
    L[N * j + j] = std::sqrt(pivot);
    for (int i = j + 1; i < N; ++i) {
      double sum = A[N * i + j];
      for (int k = 0; k < j; ++k) sum -= L[N * i + k] * L[N * j + k];
      L[N * i + j] = sum / L[N * j + j];
    }
  }
  return true;
}

// A symmetric matrix without its negative eigenvalues, by Jacobi rotations, to six digits: it leads to a
// direction of descent and nothing else.
template <int N>
void make_positive(double* A) {
  if (is_positive<N>(A)) return;
  double V[N * N] = {}, B[N * N];
  for (int i = 0; i < N * N; ++i) B[i] = A[i];
  for (int i = 0; i < N; ++i) V[N * i + i] = 1;
  for (int sweep = 0; sweep < 20; ++sweep) {
    double outside = 0, inside = 0;
    for (int p = 0; p < N; ++p)
      for (int q = 0; q < N; ++q) (p == q ? inside : outside) += B[N * p + q] * B[N * p + q];
    if (outside <= 1e-12 * inside) break;
    for (int p = 0; p < N; ++p)
      for (int q = p + 1; q < N; ++q) {
        if (B[N * p + q] == 0) continue;
        const double theta = (B[N * q + q] - B[N * p + p]) / (2 * B[N * p + q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        const auto turn = [&](double& a, double& b) {
          const double old = a;
          a = c * old - s * b, b = s * old + c * b;
        };
        for (int k = 0; k < N; ++k) turn(B[N * k + p], B[N * k + q]);
        for (int k = 0; k < N; ++k) turn(B[N * p + k], B[N * q + k]);
        for (int k = 0; k < N; ++k) turn(V[N * k + p], V[N * k + q]);
      }
  }
  for (int k = 0; k < N; ++k) {
    const double negative = B[N * k + k];
    if (negative >= 0) continue;
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < N; ++j) A[N * i + j] -= negative * V[N * i + k] * V[N * j + k];
  }
}

// to += a v
template <int C>
void add_product(const Small<3, C>& a, const double* v, double* to) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < C; ++j) to[i] += a(i, j) * v[j];
}
// m += y g'
template <int C>
void add_outer(const double* y, const double* g, Small<3, C>& m) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < C; ++j) m(i, j) += y[i] * g[j];
}

// A solid's J is what it is. A membrane's columns of E span its rest plane: J = Q'E in the orthonormal frame
// Q whose first axis is the first column.
inline Small<3, 3> in_frame(const Small<3, 3>& E, Small<3, 3>&) { return E; }
inline Small<2, 2> in_frame(const Small<3, 2>& E, Small<3, 2>& Q) {
  const double length = std::sqrt(E(0, 0) * E(0, 0) + E(1, 0) * E(1, 0) + E(2, 0) * E(2, 0));
  double along = 0;
  for (int i = 0; i < 3; ++i) Q(i, 0) = E(i, 0) / length, along += Q(i, 0) * E(i, 1);
  double across[3], height = 0;
  for (int i = 0; i < 3; ++i) across[i] = E(i, 1) - along * Q(i, 0), height += across[i] * across[i];
  height = std::sqrt(height);
  for (int i = 0; i < 3; ++i) Q(i, 1) = across[i] / height;
  return {{length, along, 0, height}};
}
// Turns the frame Q of a membrane in its plane until its first axis is the warp a, projected onto the plane:
// q0 = (a - (a.n) n)/|...|. As the plane tilts by n_dot, q0 turns by q1.q0_dot = -lean (q1.n_dot).
struct WarpFrame {
  double lean = 0, normal[3] = {};  // (a.n)/|a - (a.n) n|, and n = Q0 x Q1
};
inline WarpFrame along_warp(const std::array<double, 3>& a, Small<2, 2>& J, Small<3, 2>& Q) {
  WarpFrame w;
  double along[2] = {};
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    w.normal[i] = Q(j, 0) * Q(k, 1) - Q(k, 0) * Q(j, 1);
    for (int c = 0; c < 2; ++c) along[c] += a[std::size_t(i)] * Q(i, c);
    w.lean += a[std::size_t(i)] * w.normal[i];
  }
  const double length = std::sqrt(along[0] * along[0] + along[1] * along[1]);
  w.lean /= length;
  const double c = along[0] / length, s = along[1] / length;
  for (int i = 0; i < 3; ++i) {
    const double p = Q(i, 0), q = Q(i, 1);
    Q(i, 0) = c * p + s * q, Q(i, 1) = c * q - s * p;
  }
  for (int j = 0; j < 2; ++j) {
    const double p = J(0, j), q = J(1, j);
    J(0, j) = c * p + s * q, J(1, j) = c * q - s * p;
  }
  return w;
}
inline Small<3, 3> from_frame(const Small<3, 3>&, const Small<3, 3>& E) { return E; }
inline Small<2, 2> from_frame(const Small<3, 2>& Q, const Small<3, 2>& E) { return transposed_product(Q, E); }
inline Small<3, 3> in_space(const Small<3, 3>&, const Small<3, 3>& J) { return J; }
inline Small<3, 2> in_space(const Small<3, 2>& Q, const Small<2, 2>& J) { return Q * J; }

}  // namespace costate::soft

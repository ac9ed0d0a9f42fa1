// The equations F(z) = 0 of a contact between two features, their Jacobian, and a Newton step:
// convex_contact.h derives them.
#pragma once

#include <cmath>
#include <utility>

#include "costate/ad/dual.h"
#include "costate/geometry/convex_feature.h"
#include "costate/geometry/face_pair.h"

namespace costate::geometry {

inline constexpr int kMaxUnknowns = 6;

// x := A^-1 x (or A^-T x), pivoting on values. False where A is singular.
template <class T>
bool solve(int n, T (*a)[kMaxUnknowns], T* x, bool transposed) {
  T m[kMaxUnknowns][kMaxUnknowns];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) m[i][j] = transposed ? a[j][i] : a[i][j];
  for (int k = 0; k < n; ++k) {
    int best = k;
    for (int i = k + 1; i < n; ++i)
      if (std::abs(primal(m[i][k])) > std::abs(primal(m[best][k]))) best = i;
    if (std::abs(primal(m[best][k])) < 1e-12) return false;
    std::swap(x[k], x[best]);
    for (int j = 0; j < n; ++j) std::swap(m[k][j], m[best][j]);
    const T inverse = T(1) / m[k][k];
    for (int i = k + 1; i < n; ++i) {
      const T factor = m[i][k] * inverse;
      for (int j = k; j < n; ++j) m[i][j] -= factor * m[k][j];
      x[i] -= factor * x[k];
    }
  }
  for (int k = n - 1; k >= 0; --k) {
    for (int j = k + 1; j < n; ++j) x[k] -= m[k][j] * x[j];
    x[k] = x[k] / m[k][k];
  }
  return true;
}

// The unknowns z: normal, distance of the cores, places on the flats of the first and second feature.
template <class T>
struct Unknowns {
  Vec3<T> n;
  T d;
  T t1[2], t2[2];
};

struct ConvexCase {
  enum Kind { apart, smooth, clipped, faces, held } kind = apart;
  Feature f1, f2;
  Unknowns<double> z;
  Vec3<double> p1, p2;  // held: witnesses in the shapes' frames
  ClipCase clip;
  FacePairCase pair;
  int unknowns() const { return 4 + f1.flats + f2.flats; }
};

template <class T>
void residual(const ConvexCase& c, const Shape<T>& first, const Shape<T>& second, const Unknowns<T>& z,
              T* F) {
  const Vec3<T> gap = place(c.f2, second, z.t2, -z.n) - place(c.f1, first, z.t1, z.n) - z.d * z.n;
  for (int i = 0; i < 3; ++i) F[i] = gap[i];
  F[3] = squared_norm(z.n) - T(1);
  int row = 4;
  for (int j = 0; j < c.f1.flats; ++j) F[row++] = dot(first.R * lifted<T>(c.f1.flat[j]), z.n);
  for (int j = 0; j < c.f2.flats; ++j) F[row++] = dot(second.R * lifted<T>(c.f2.flat[j]), z.n);
}

template <class T>
void jacobian(const ConvexCase& c, const Shape<T>& first, const Shape<T>& second, const Unknowns<T>& z,
              T (*J)[kMaxUnknowns]) {
  for (int i = 0; i < kMaxUnknowns; ++i)
    for (int j = 0; j < kMaxUnknowns; ++j) J[i][j] = T(0);
  const auto curvature_of = [&](const Feature& f, const Shape<T>& s, const Vec3<T>& m) {
    return s.R * curvature(f, s.size, transpose_times(s.R, m)) * transpose(s.R);
  };
  const Mat3<T> k = curvature_of(c.f1, first, z.n) + curvature_of(c.f2, second, -z.n);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) J[i][j] = -k.e[i][j];
    J[i][i] -= z.d;
    J[i][3] = -z.n[i];
    J[3][i] = T(2) * z.n[i];
  }
  int row = 4;
  for (int j = 0; j < c.f1.flats; ++j, ++row) {
    const Vec3<T> f = first.R * lifted<T>(c.f1.flat[j]);
    for (int i = 0; i < 3; ++i) {
      J[i][row] = -f[i];
      J[row][i] = f[i];
    }
  }
  for (int j = 0; j < c.f2.flats; ++j, ++row) {
    const Vec3<T> f = second.R * lifted<T>(c.f2.flat[j]);
    for (int i = 0; i < 3; ++i) J[i][row] = J[row][i] = f[i];
  }
}

// One Newton step with the Jacobian at `z` (plain): exact tangents where z solves F = 0 in value.
template <class T>
Unknowns<T> newton_step(const ConvexCase& c, const Shape<T>& first, const Shape<T>& second,
                        const Unknowns<double>& at, double (*J)[kMaxUnknowns], bool& solved) {
  Unknowns<T> z;
  z.n = lifted<T>(at.n);
  z.d = T(at.d);
  for (int j = 0; j < 2; ++j) {
    z.t1[j] = T(at.t1[j]);
    z.t2[j] = T(at.t2[j]);
  }
  T F[kMaxUnknowns], lifted_J[kMaxUnknowns][kMaxUnknowns];
  residual(c, first, second, z, F);
  for (int i = 0; i < kMaxUnknowns; ++i)
    for (int j = 0; j < kMaxUnknowns; ++j) lifted_J[i][j] = T(J[i][j]);
  solved = solve(c.unknowns(), lifted_J, F, false);
  if (!solved) return z;
  for (int i = 0; i < 3; ++i) z.n[i] -= F[i];
  z.d -= F[3];
  int row = 4;
  for (int j = 0; j < c.f1.flats; ++j) z.t1[j] -= F[row++];
  for (int j = 0; j < c.f2.flats; ++j) z.t2[j] -= F[row++];
  return z;
}

}  // namespace costate::geometry

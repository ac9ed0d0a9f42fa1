// Mat32: a 3x2 matrix, the deformation gradient of a membrane, and what its laws ask of it.
#pragma once

#include <cmath>

#include "costate/core/mat3.h"

namespace costate::soft {

struct Mat32 {
  double e[3][2];
  double& operator()(int i, int j) { return e[i][j]; }
  double operator()(int i, int j) const { return e[i][j]; }
  Vec3<double> column(int j) const { return {e[0][j], e[1][j], e[2][j]}; }

  friend Mat32 operator+(const Mat32& a, const Mat32& b) {
    Mat32 r;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 2; ++j) r.e[i][j] = a.e[i][j] + b.e[i][j];
    return r;
  }
  friend Mat32 operator*(double s, const Mat32& a) {
    Mat32 r;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 2; ++j) r.e[i][j] = s * a.e[i][j];
    return r;
  }
};

inline double contract(const Mat32& a, const Mat32& b) {
  double sum = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) sum += a.e[i][j] * b.e[i][j];
  return sum;
}

// A symmetric 2x2 matrix.
struct Sym2 {
  double xx, yy, xy;
  friend Sym2 operator+(const Sym2& a, const Sym2& b) { return {a.xx + b.xx, a.yy + b.yy, a.xy + b.xy}; }
  friend Sym2 operator*(double s, const Sym2& a) { return {s * a.xx, s * a.yy, s * a.xy}; }
};
inline double trace(const Sym2& a) { return a.xx + a.yy; }
inline double determinant(const Sym2& a) { return a.xx * a.yy - a.xy * a.xy; }
inline double contract(const Sym2& a, const Sym2& b) { return a.xx * b.xx + a.yy * b.yy + 2 * a.xy * b.xy; }
inline Sym2 adjugate(const Sym2& a) { return {a.yy, a.xx, -a.xy}; }

// (A' B + B' A) / 2
inline Sym2 symmetric_product(const Mat32& a, const Mat32& b) {
  const auto a0 = a.column(0), a1 = a.column(1), b0 = b.column(0), b1 = b.column(1);
  return {dot(a0, b0), dot(a1, b1), 0.5 * (dot(a0, b1) + dot(a1, b0))};
}
inline Mat32 operator*(const Mat32& a, const Sym2& s) {
  Mat32 r;
  for (int i = 0; i < 3; ++i) {
    r.e[i][0] = a.e[i][0] * s.xx + a.e[i][1] * s.xy;
    r.e[i][1] = a.e[i][0] * s.xy + a.e[i][1] * s.yy;
  }
  return r;
}

// Rest volume to volume. A membrane in space cannot be turned inside out, only flattened: J = sqrt(det F'F).
inline double volume_ratio(const Mat3<double>& F) { return determinant(F); }
inline double volume_ratio(const Mat32& F) {
  const double square = determinant(symmetric_product(F, F));
  return square > 0 ? std::sqrt(square) : 0;
}

}  // namespace costate::soft

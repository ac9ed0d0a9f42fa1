// Rotation and stretches of a deformation gradient.
//
//   F = U diag(s) V' = R S,   R = U V' a rotation (det R = +1),  S = V diag(s) V'
//   s_0 >= s_1 >= |s_2|, and s_2 has the sign of det F: an inverted element is one reflected along its
// shortest
//   axis (the "rotation variant").
//   dR = R [w]x,  (tr(S) I - S) w = axial(R' dF - dF' R)            finite unless two stretches sum to zero
//
// V by Jacobi rotations of F'F, which keep equal stretches apart without harm. Where nothing is inverted nor
// nearly flat, R alone comes from Newton's iteration R <- (R + R^-T)/2 [1], at a third of the price.
// [1] Higham: Computing the Polar Decomposition, SIAM J. Sci. Stat. Comput. 7 (1986).
// Tests: tests/soft/law_test.cpp.
#pragma once

#include <cmath>
#include <utility>

#include "costate/core/mat3.h"

namespace costate::soft {

using M3 = Mat3<double>;
using V3 = Vec3<double>;

struct Svd {
  M3 U, V;
  V3 s;
};

// One Jacobi rotation of the symmetric A in the plane (p, q), collected in V.
inline void jacobi_rotation(M3& A, M3& V, int p, int q) {
  if (A(p, q) == 0) return;
  const double theta = (A(q, q) - A(p, p)) / (2 * A(p, q));
  const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double c = 1 / std::sqrt(t * t + 1), s = t * c;
  for (int k = 0; k < 3; ++k) {
    const double a = A(k, p), b = A(k, q);
    A(k, p) = c * a - s * b, A(k, q) = s * a + c * b;
  }
  for (int k = 0; k < 3; ++k) {
    const double a = A(p, k), b = A(q, k);
    A(p, k) = c * a - s * b, A(q, k) = s * a + c * b;
  }
  for (int k = 0; k < 3; ++k) {
    const double a = V(k, p), b = V(k, q);
    V(k, p) = c * a - s * b, V(k, q) = s * a + c * b;
  }
}

inline Svd svd(const M3& F) {
  M3 C = transpose(F) * F, V = M3::identity();
  for (int sweep = 0; sweep < 12; ++sweep) {
    jacobi_rotation(C, V, 0, 1);
    jacobi_rotation(C, V, 0, 2);
    jacobi_rotation(C, V, 1, 2);
    if (std::abs(C(0, 1)) + std::abs(C(0, 2)) + std::abs(C(1, 2)) < 1e-17 * trace(C)) break;
  }
  int order[3] = {0, 1, 2};
  for (const auto& [a, b] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{0, 1}})
    if (C(order[a], order[a]) < C(order[b], order[b])) std::swap(order[a], order[b]);
  const V3 v0 = V.column(order[0]), v1 = V.column(order[1]), v2 = cross(v0, v1);
  // U from the two longest images; the third stretch takes the sign.
  const V3 f0 = F * v0, f1 = F * v1;
  const double s0 = norm(f0);
  const V3 u0 = s0 > 0 ? f0 / s0 : V3{1, 0, 0};
  V3 rest = f1 - dot(u0, f1) * u0;
  double s1 = norm(rest);
  if (s1 <= 1e-300) {
    rest = std::abs(u0.x) < 0.9 ? cross(u0, V3{1, 0, 0}) : cross(u0, V3{0, 1, 0});
    s1 = norm(rest);
  }
  const V3 u1 = rest / s1, u2 = cross(u0, u1);
  const auto columns = [](const V3& a, const V3& b, const V3& c) {
    return M3{{{a.x, b.x, c.x}, {a.y, b.y, c.y}, {a.z, b.z, c.z}}};
  };
  return {columns(u0, u1, u2), columns(v0, v1, v2), {s0, dot(u1, f1), dot(u2, F * v2)}};
}

struct Polar {
  M3 R, S;
  M3 turn;  // (tr(S) I - S)^-1
};

// From F to the nearest rotation; false where that takes more than a few rounds, or is a reflection.
inline bool nearest_rotation(const M3& F, M3& R) {
  constexpr int kRounds = 9;
  const double det = determinant(F), size = contract(F, F);
  if (!(det > 0.02 * size * std::sqrt(size))) return false;
  // Of the size of a rotation, |R|^2 = 3.
  R = std::sqrt(3 / size) * F;
  for (int round = 0; round < kRounds; ++round) {
    const M3 C = cofactors(R), next = 0.5 * (R + (1 / determinant(R)) * C);
    const double change = contract(next - R, next - R);
    R = next;
    if (change < 1e-18) return true;  // what is left is its square
  }
  return false;
}

inline Polar polar(const M3& F) {
  Polar p;
  if (!nearest_rotation(F, p.R)) {
    const Svd d = svd(F);
    p.R = d.U * transpose(d.V);
  }
  const M3 RF = transpose(p.R) * F;
  p.S = 0.5 * (RF + transpose(RF));
  p.turn = inverse(trace(p.S) * M3::identity() - p.S);
  return p;
}
inline M3 rotation_dot(const Polar& p, const M3& dF) {
  const M3 A = transpose(p.R) * dF;
  const V3 axial{A(2, 1) - A(1, 2), A(0, 2) - A(2, 0), A(1, 0) - A(0, 1)};
  return p.R * skew(p.turn * axial);
}

// Derivative of cofactors(F) along dF.
inline M3 cofactors_dot(const M3& F, const M3& dF) {
  const auto row = [&](int a, int b) { return cross(dF.row(a), F.row(b)) + cross(F.row(a), dF.row(b)); };
  const V3 r0 = row(1, 2), r1 = row(2, 0), r2 = row(0, 1);
  return {{{r0.x, r0.y, r0.z}, {r1.x, r1.y, r1.z}, {r2.x, r2.y, r2.z}}};
}

}  // namespace costate::soft

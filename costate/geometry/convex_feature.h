// The part of a convex shape that a contact lies on: vertex, edge, face, rim, side, or all of a smooth
// surface.
//
// In the shape's frame, with outward direction u = R^T m,
//
//   p(t, u) = a + sum_j t_j f_j + k(u)       witness  w = x + R p
//
//   a    a corner, centre of an edge or face: fixed (meshes), or multiples of sizes
//   f_j  flat directions, up to two (constant unit vectors); the contact's normal is across them:
//        (R f_j).m = 0
//   k    curved part: none; ellipsoid  size^2 o u / |size o u|;
//        round (a cylinder's rim and side)  radius (u_x, u_y, 0)/|(u_x, u_y)|
//
// Tests: tests/geometry/convex_test.cpp.
#pragma once

#include "costate/geometry/matrix_transpose.h"
#include "costate/geometry/support.h"

namespace costate::geometry {

struct Feature {
  enum Curve { none, ellipsoid, round } curve = none;
  Vec3<double> fixed = Vec3<double>::zero();
  double multiple[3] = {0, 0, 0};  // a_i = fixed_i + multiple_i size[which_i]
  int which[3] = {0, 1, 2};
  int flats = 0;
  Vec3<double> flat[2];
  int face = -1;                             // of a mesh, or of a heightfield's prism
  double low[2] = {0, 0}, high[2] = {0, 0};  // t_j's range: edges and a box's face
};

// Features that a contact with outward direction m may lie on, the flattest first. At most kMaxFeatures.
inline constexpr int kMaxFeatures = 12;
int features_towards(ConvexBody& body, const Vec3<double>& m, Feature* out);

// How far the place t on the feature is beyond its ends (0: on it).
double beyond(const ConvexBody& body, const Feature& f, const double* t);

template <class T>
Vec3<T> lifted(const Vec3<double>& v) {
  return {T(v.x), T(v.y), T(v.z)};
}

template <class T>
Vec3<T> local_place(const Feature& f, const T* size, const T* t, const Vec3<T>& u) {
  Vec3<T> p;
  for (int i = 0; i < 3; ++i) {
    p[i] = f.fixed[i] + f.multiple[i] * size[f.which[i]];
    for (int j = 0; j < f.flats; ++j) p[i] += f.flat[j][i] * t[j];
  }
  if (f.curve == Feature::ellipsoid) {
    const Vec3<T> s = {size[0] * u.x, size[1] * u.y, size[2] * u.z};
    const T inverse = T(1) / sqrt(squared_norm(s));
    for (int i = 0; i < 3; ++i) p[i] += size[i] * s[i] * inverse;
  } else if (f.curve == Feature::round) {
    const T scale = size[0] / sqrt(u.x * u.x + u.y * u.y);
    p.x += scale * u.x;
    p.y += scale * u.y;
  }
  return p;
}

// dk/du, symmetric.
template <class T>
Mat3<T> curvature(const Feature& f, const T* size, const Vec3<T>& u) {
  Mat3<T> k = Mat3<T>::zero();
  if (f.curve == Feature::ellipsoid) {
    const Vec3<T> s = {size[0] * u.x, size[1] * u.y, size[2] * u.z};
    const T inverse = T(1) / sqrt(squared_norm(s));
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        k.e[i][j] = (T(double(i == j)) - s[i] * s[j] * inverse * inverse) * size[i] * size[j] * inverse;
  } else if (f.curve == Feature::round) {
    const T inverse = T(1) / sqrt(u.x * u.x + u.y * u.y);
    const T e[2] = {u.x * inverse, u.y * inverse};
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) k.e[i][j] = (T(double(i == j)) - e[i] * e[j]) * size[0] * inverse;
  }
  return k;
}

// Adds to the cotangents of sizes, t and u.
template <class T>
void local_place_vjp(const Feature& f, const T* size, const Vec3<T>& u, const Vec3<T>& p_bar, T* size_bar,
                     T* t_bar, Vec3<T>& u_bar) {
  for (int i = 0; i < 3; ++i) size_bar[f.which[i]] += f.multiple[i] * p_bar[i];
  for (int j = 0; j < f.flats; ++j) t_bar[j] += dot(lifted<T>(f.flat[j]), p_bar);
  u_bar += curvature(f, size, u) * p_bar;
  if (f.curve == Feature::ellipsoid) {
    // k_i = size_i s_i / |s|, s = size o u
    const Vec3<T> s = {size[0] * u.x, size[1] * u.y, size[2] * u.z};
    const T inverse = T(1) / sqrt(squared_norm(s));
    T along(0);
    for (int i = 0; i < 3; ++i) along += size[i] * s[i] * p_bar[i];
    for (int i = 0; i < 3; ++i)
      size_bar[i] +=
          inverse * (s[i] * p_bar[i] + u[i] * (size[i] * p_bar[i] - s[i] * along * inverse * inverse));
  } else if (f.curve == Feature::round)
    size_bar[0] += (u.x * p_bar.x + u.y * p_bar.y) / sqrt(u.x * u.x + u.y * u.y);
}

// w = x + R p(t, R^T m); adds to the cotangents of the shape, t and m.
template <class T>
Vec3<T> place(const Feature& f, const Shape<T>& s, const T* t, const Vec3<T>& m) {
  return s.x + s.R * local_place(f, s.size, t, transpose_times(s.R, m));
}
template <class T>
void place_vjp(const Feature& f, const Shape<T>& s, const T* t, const Vec3<T>& m, const Vec3<T>& w_bar,
               ShapeBar<T>& s_bar, T* t_bar, Vec3<T>& m_bar) {
  const Vec3<T> u = transpose_times(s.R, m);
  Vec3<T> p_bar = Vec3<T>::zero(), u_bar = Vec3<T>::zero();
  s_bar.x += w_bar;
  times_vjp(s.R, local_place(f, s.size, t, u), w_bar, s_bar.R, p_bar);
  local_place_vjp(f, s.size, u, p_bar, s_bar.size, t_bar, u_bar);
  transpose_times_vjp(s.R, m, u_bar, s_bar.R, m_bar);
}

}  // namespace costate::geometry

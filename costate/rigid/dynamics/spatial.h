// Spatial vectors: motions, forces and inertias of rigid bodies as six-dimensional objects [1, ch. 2].
//
// All of one tree are expressed in world axes about one point, the tree's origin. Then nothing is transformed
// between bodies: velocities, forces and composite inertias of neighbours just add, a joint is the one vector
// S, and a small displacement of a body is a motion too. Angular part first.
//
//   motion   m = (w, v)      w angular velocity, v velocity of the body-fixed point at the origin
//   force    f = (n, f)      n moment about the origin, f force;  <m, f> = w.n + v.f  is a power
//   m1 x m2  = (w1 x w2, w1 x v2 + v1 x w2)             change of m2 as it is carried along by m1
//   m  x* f  = (w x n + v x f, w x f)                   the same for a force;  <f, m x d> = -<m x* f, d>
//   I m      = (Io w + h x v,  m v - h x w)             Io moment of inertia about the origin, h = mass * com
//
// [1] Featherstone: Rigid Body Dynamics Algorithms, 2008.
// Tests: tests/rigid/dynamics/forward_dynamics_test.cpp.
#pragma once

#include "costate/core/mat3.h"
#include "costate/core/quat.h"

namespace costate::rigid {

template <class S>
struct Motion {
  Vec3<S> w, v;

  static COSTATE_HD COSTATE_INLINE Motion zero() { return {Vec3<S>::zero(), Vec3<S>::zero()}; }
  friend COSTATE_HD COSTATE_INLINE Motion operator+(const Motion& a, const Motion& b) {
    return {a.w + b.w, a.v + b.v};
  }
  friend COSTATE_HD COSTATE_INLINE Motion operator-(const Motion& a, const Motion& b) {
    return {a.w - b.w, a.v - b.v};
  }
  friend COSTATE_HD COSTATE_INLINE Motion operator*(const S& s, const Motion& a) {
    return {s * a.w, s * a.v};
  }
  COSTATE_HD COSTATE_INLINE Motion& operator+=(const Motion& b) { return *this = *this + b; }
  COSTATE_HD COSTATE_INLINE Motion& operator-=(const Motion& b) { return *this = *this - b; }
};

template <class S>
struct Force {
  Vec3<S> n, f;

  static COSTATE_HD COSTATE_INLINE Force zero() { return {Vec3<S>::zero(), Vec3<S>::zero()}; }
  friend COSTATE_HD COSTATE_INLINE Force operator+(const Force& a, const Force& b) {
    return {a.n + b.n, a.f + b.f};
  }
  friend COSTATE_HD COSTATE_INLINE Force operator-(const Force& a, const Force& b) {
    return {a.n - b.n, a.f - b.f};
  }
  friend COSTATE_HD COSTATE_INLINE Force operator-(const Force& a) { return {-a.n, -a.f}; }
  friend COSTATE_HD COSTATE_INLINE Force operator*(const S& s, const Force& a) { return {s * a.n, s * a.f}; }
  COSTATE_HD COSTATE_INLINE Force& operator+=(const Force& b) { return *this = *this + b; }
  COSTATE_HD COSTATE_INLINE Force& operator-=(const Force& b) { return *this = *this - b; }
};

template <class S>
COSTATE_HD COSTATE_INLINE S dot(const Motion<S>& m, const Force<S>& f) {
  return dot(m.w, f.n) + dot(m.v, f.f);
}
// m1 x m2
template <class S>
COSTATE_HD COSTATE_INLINE Motion<S> cross(const Motion<S>& a, const Motion<S>& b) {
  return {cross(a.w, b.w), cross(a.w, b.v) + cross(a.v, b.w)};
}
// m x* f
template <class S>
COSTATE_HD COSTATE_INLINE Force<S> cross(const Motion<S>& a, const Force<S>& b) {
  return {cross(a.w, b.n) + cross(a.v, b.f), cross(a.w, b.f)};
}

template <class S>
struct Inertia {
  S mass;
  Vec3<S> h;   // mass * (com - origin)
  Sym3<S> Io;  // about the origin

  static COSTATE_HD COSTATE_INLINE Inertia zero() { return {S(0), Vec3<S>::zero(), Sym3<S>::zero()}; }
  friend COSTATE_HD COSTATE_INLINE Force<S> operator*(const Inertia& I, const Motion<S>& m) {
    return {I.Io * m.w + cross(I.h, m.v), I.mass * m.v - cross(I.h, m.w)};
  }
  COSTATE_HD COSTATE_INLINE Inertia& operator+=(const Inertia& b) {
    mass += b.mass;
    h += b.h;
    Io += b.Io;
    return *this;
  }
};

// |c|^2 1 - c c': what a unit mass at c has as moment of inertia about the origin.
template <class S>
COSTATE_HD COSTATE_INLINE Sym3<S> point_inertia(const Vec3<S>& c) {
  const S xx = c.x * c.x, yy = c.y * c.y, zz = c.z * c.z;
  return {yy + zz, xx + zz, xx + yy, -(c.x * c.y), -(c.x * c.z), -(c.y * c.z)};
}

}  // namespace costate::rigid

// Vec<S, N>: N numbers of a small system's state, held in registers. Elementwise arithmetic; the loops
// unroll.
#pragma once

#include "costate/core/pack.h"

namespace costate {

template <class S, int N>
struct Vec {
  static constexpr int size = N;
  S e[N];

  COSTATE_HD COSTATE_INLINE S& operator[](int i) { return e[i]; }
  COSTATE_HD COSTATE_INLINE const S& operator[](int i) const { return e[i]; }

  static COSTATE_HD COSTATE_INLINE Vec zero() {
    Vec r;
    for (int i = 0; i < N; ++i) r.e[i] = S(0);
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Vec operator+(const Vec& a, const Vec& b) {
    Vec r;
    for (int i = 0; i < N; ++i) r.e[i] = a.e[i] + b.e[i];
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Vec operator-(const Vec& a, const Vec& b) {
    Vec r;
    for (int i = 0; i < N; ++i) r.e[i] = a.e[i] - b.e[i];
    return r;
  }
  friend COSTATE_HD COSTATE_INLINE Vec operator*(const S& s, const Vec& a) {
    Vec r;
    for (int i = 0; i < N; ++i) r.e[i] = s * a.e[i];
    return r;
  }
  COSTATE_HD COSTATE_INLINE Vec& operator+=(const Vec& b) {
    for (int i = 0; i < N; ++i) e[i] += b.e[i];
    return *this;
  }
  friend COSTATE_HD COSTATE_INLINE S dot(const Vec& a, const Vec& b) {
    S r(0);
    for (int i = 0; i < N; ++i) r += a.e[i] * b.e[i];
    return r;
  }
};

// A system without controls or parameters. The one element is never used; it is set so that copying an empty
// Vec reads nothing uninitialised.
template <class S>
struct Vec<S, 0> {
  static constexpr int size = 0;
  S e[1] = {S(0)};

  COSTATE_HD COSTATE_INLINE S& operator[](int) { return e[0]; }
  COSTATE_HD COSTATE_INLINE const S& operator[](int) const { return e[0]; }

  static COSTATE_HD COSTATE_INLINE Vec zero() { return {}; }
  friend COSTATE_HD COSTATE_INLINE Vec operator+(const Vec&, const Vec&) { return {}; }
  friend COSTATE_HD COSTATE_INLINE Vec operator-(const Vec&, const Vec&) { return {}; }
  friend COSTATE_HD COSTATE_INLINE Vec operator*(const S&, const Vec&) { return {}; }
  COSTATE_HD COSTATE_INLINE Vec& operator+=(const Vec&) { return *this; }
  friend COSTATE_HD COSTATE_INLINE S dot(const Vec&, const Vec&) { return S(0); }
};

// The layout of a block of worlds is [index][lane]: element i of lane l is at i * stride + l.
template <class S, int N>
COSTATE_HD COSTATE_INLINE Vec<S, N> load_vec(const value_t<S>* from, long stride) {
  Vec<S, N> r;
  for (int i = 0; i < N; ++i) r.e[i] = load<S>(from + i * stride);
  return r;
}
template <class S, int N>
COSTATE_HD COSTATE_INLINE void store_vec(value_t<S>* to, long stride, const Vec<S, N>& a) {
  for (int i = 0; i < N; ++i) store<S>(to + i * stride, a.e[i]);
}

}  // namespace costate

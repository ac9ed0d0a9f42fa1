// A mass meets the plane n.x = h: the normal velocity stops, and Coulomb friction takes up to mu times as
// much from the tangential one.
//
//   v_n = n.v,  t = v - v_n n,  touching: n.(b + dt v) < h and v_n < 0
//   sliding, |t| > -mu v_n:   v' = keep t, keep = 1 + mu v_n/|t|;   sigma = -mu/|t|
//   sticking:                 v' = 0,                               sigma = 1/v_n
//
// Split at the time of impact tau = (h - n.b)/v_n, the position at the end is b + tau v + (dt - tau) v'.
// Because v - v' = v_n (n + sigma t), this is b' + dt v' with
//
//   b' = b + (h - n.b) (n + sigma t),
//
// which has no division by a small v_n in it: what remains is bounded by (1 + mu) times the depth. A mass at
// rest on the plane stays on it. The map takes (b, v) to (b', v'), so planes follow one another. Approach
// slower than kApproach is no approach. Tests: tests/soft/mass_spring_test.cpp.
#pragma once

#include "costate/core/functions.h"
#include "costate/core/vec.h"

namespace costate::soft {

inline constexpr double kApproach = 1e-12;  // m/s

template <class S, int D>
struct Moving {
  Vec<S, D> b, v;
};

// What the map and its transpose share.
template <class S, int D>
struct PlaneContact {
  Vec<S, D> n, t;
  S vn, depth, mu, speed, keep, sigma;  // speed: |t|, or 1 where it is not needed
  mask_t<S> touching, sliding;

  // `ahead`: the position that decides, before correction.
  COSTATE_INLINE PlaneContact(const Vec<S, D>& normal, const S& h, const S& friction, const Moving<S, D>& in,
                              const Vec<S, D>& ahead)
      : n(normal), mu(friction) {
    using costate::sqrt;
    const S normal_speed = dot(n, in.v);
    touching = (dot(n, ahead) < h) & (normal_speed < S(value_t<S>(-kApproach)));
    vn = select(touching, normal_speed, S(-1));
    depth = h - dot(n, in.b);
    t = in.v + (-normal_speed) * n;
    const S square = dot(t, t);
    const auto moving = square > S(0);
    const S root = sqrt(select(moving, square, S(1)));
    sliding = !(select(moving, root, S(0)) < -mu * vn);
    speed = select(sliding, root, S(1));
    keep = select(sliding, S(1) + mu * vn / speed, S(0));
    sigma = select(sliding, -mu / speed, S(1) / vn);
  }
};

// With `split` the position is corrected too.
template <class S, int D>
COSTATE_INLINE Moving<S, D> meet_plane(const PlaneContact<S, D>& at, const Moving<S, D>& in, bool split) {
  Moving<S, D> out = in;
  for (int i = 0; i < D; ++i) {
    out.v[i] = select(at.touching, at.keep * at.t[i], in.v[i]);
    if (split) out.b[i] = select(at.touching, in.b[i] + at.depth * (at.n[i] + at.sigma * at.t[i]), in.b[i]);
  }
  return out;
}

// Replaces the cotangent of (b', v') by that of (b, v); adds to those of mu and h.
template <class S, int D>
COSTATE_INLINE void meet_plane_vjp(const PlaneContact<S, D>& at, bool split, Moving<S, D>& bar, S& mu_bar,
                                   S& h_bar) {
  const S zero(0);
  Vec<S, D> t_bar = at.keep * bar.v;  // v' = keep t
  const S keep_bar = dot(bar.v, at.t);
  S sigma_bar(0), depth_bar(0);
  if (split) {  // b' = b + depth (n + sigma t)
    t_bar += (at.depth * at.sigma) * bar.b;
    const S along = dot(bar.b, at.t);
    sigma_bar = at.depth * along;
    depth_bar = dot(bar.b, at.n) + at.sigma * along;
  }
  const S inverse = S(1) / at.speed;
  const S slip = (at.vn * keep_bar - sigma_bar) * inverse;  // (vn keep_bar - sigma_bar)/|t|: sliding, by mu
  S vn_bar = select(at.sliding, at.mu * inverse * keep_bar, -at.sigma * at.sigma * sigma_bar);
  t_bar += select(at.sliding, -at.mu * slip * inverse * inverse, zero) * at.t;
  vn_bar -= dot(at.n, t_bar);  // t = v - vn n

  mu_bar += select(at.touching & at.sliding, slip, zero);
  h_bar += select(at.touching, depth_bar, zero);
  for (int i = 0; i < D; ++i) {
    bar.v[i] = select(at.touching, t_bar[i] + vn_bar * at.n[i], bar.v[i]);
    bar.b[i] = bar.b[i] - select(at.touching, depth_bar, zero) * at.n[i];
  }
}

}  // namespace costate::soft

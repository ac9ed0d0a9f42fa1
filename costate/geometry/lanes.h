// Pairs that need their own way in each world (clipping, searching) run one lane at a time, in double
// whatever the scalar: S's lane is a double, or a Dual<double> where S carries tangents.
#pragma once

#include "costate/geometry/contact_point.h"
#include "costate/geometry/scalars.h"

namespace costate::geometry {

template <class S>
using lane_t = std::conditional_t<is_dual<S>, Dual<double>, double>;

template <class S>
COSTATE_INLINE lane_t<S> get_lane(const S& s, int l) {
  if constexpr (is_dual<S>)
    return Dual<double>(get_lane(s.v, l), get_lane(s.d[0], l));
  else
    return double(lane(s, l));
}
template <class S>
COSTATE_INLINE void set_lane(S& s, int l, const lane_t<S>& value) {
  if constexpr (is_dual<S>) {
    set_lane(s.v, l, value.v);
    set_lane(s.d[0], l, value.d[0]);
  } else if constexpr (lanes_of<S> == 1)
    s = S(value);
  else
    s.set(l, value_t<S>(value));
}
template <class S>
Vec3<lane_t<S>> get_lane(const Vec3<S>& v, int l) {
  return {get_lane(v.x, l), get_lane(v.y, l), get_lane(v.z, l)};
}
template <class S>
void set_lane(Vec3<S>& v, int l, const Vec3<lane_t<S>>& value) {
  for (int i = 0; i < 3; ++i) set_lane(v[i], l, value[i]);
}

template <class S>
Shape<lane_t<S>> get_lane(const Shape<S>& s, int l) {
  Shape<lane_t<S>> r;
  r.x = get_lane(s.x, l);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) r.R.e[i][j] = get_lane(s.R.e[i][j], l);
  for (int i = 0; i < 3; ++i) r.size[i] = get_lane(s.size[i], l);
  r.mesh = s.mesh;
  r.heights = s.heights;
  return r;
}
template <class S>
ContactPoint<lane_t<S>> get_lane(const ContactPoint<S>& c, int l) {
  return {get_lane(c.dist, l), get_lane(c.point, l), get_lane(c.normal, l), get_lane(c.tangent, l)};
}
template <class S>
void set_lane(ContactPoint<S>& c, int l, const ContactPoint<lane_t<S>>& value) {
  set_lane(c.dist, l, value.dist);
  set_lane(c.point, l, value.point);
  set_lane(c.normal, l, value.normal);
  set_lane(c.tangent, l, value.tangent);
}
template <class S>
void add_lane(ShapeBar<S>& bar, int l, const ShapeBar<lane_t<S>>& more) {
  const auto add = [l](S& to, const lane_t<S>& value) { set_lane(to, l, get_lane(to, l) + value); };
  for (int i = 0; i < 3; ++i) add(bar.x[i], more.x[i]);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) add(bar.R.e[i][j], more.R.e[i][j]);
  for (int i = 0; i < 3; ++i) add(bar.size[i], more.size[i]);
}

// A point of T as plain numbers, for decisions.
template <class T>
Vec3<double> plain(const Vec3<T>& v) {
  return {primal(v.x), primal(v.y), primal(v.z)};
}
template <class T>
Shape<double> plain(const Shape<T>& s) {
  Shape<double> r;
  r.x = plain(s.x);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) r.R.e[i][j] = primal(s.R.e[i][j]);
  for (int i = 0; i < 3; ++i) r.size[i] = primal(s.size[i]);
  r.mesh = s.mesh;
  r.heights = s.heights;
  return r;
}

// pair(first, second, margin, out) in every lane; `out` comes empty.
template <int slots, class S, class Pair>
void in_lanes(const Shape<S>& first, const Shape<S>& second, const S& margin, ContactPoint<S>* out,
              const Pair& pair) {
  using T = lane_t<S>;
  for (int l = 0; l < lanes_of<S>; ++l) {
    ContactPoint<T> found[slots];
    for (auto& c : found) c = ContactPoint<T>::none();
    pair(get_lane(first, l), get_lane(second, l), primal(get_lane(margin, l)), found);
    for (int k = 0; k < slots; ++k) set_lane(out[k], l, found[k]);
  }
}

template <class T>
bool all_zero(const ContactPoint<T>* bar, int slots) {
  const auto zero = [](const auto& x) {
    if constexpr (is_dual<T>)
      return x.v == 0 && x.d[0] == 0;
    else
      return x == 0;
  };
  for (int k = 0; k < slots; ++k) {
    if (!zero(bar[k].dist)) return false;
    for (int i = 0; i < 3; ++i)
      if (!zero(bar[k].point[i]) || !zero(bar[k].normal[i]) || !zero(bar[k].tangent[i])) return false;
  }
  return true;
}

// pair_vjp(first, second, margin, bar, first_bar, second_bar) in every lane that has a cotangent.
template <int slots, class S, class PairVjp>
void in_lanes_vjp(const Shape<S>& first, const Shape<S>& second, const S& margin, const ContactPoint<S>* bar,
                  ShapeBar<S>& first_bar, ShapeBar<S>& second_bar, const PairVjp& pair_vjp) {
  using T = lane_t<S>;
  for (int l = 0; l < lanes_of<S>; ++l) {
    ContactPoint<T> b[slots];
    for (int k = 0; k < slots; ++k) b[k] = get_lane(bar[k], l);
    if (all_zero(b, slots)) continue;
    ShapeBar<T> one_bar = ShapeBar<T>::zero(), two_bar = ShapeBar<T>::zero();
    pair_vjp(get_lane(first, l), get_lane(second, l), primal(get_lane(margin, l)), b, one_bar, two_bar);
    add_lane(first_bar, l, one_bar);
    add_lane(second_bar, l, two_bar);
  }
}

}  // namespace costate::geometry

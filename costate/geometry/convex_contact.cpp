#include "costate/geometry/convex_contact.h"

#include "costate/geometry/collide.h"
#include "costate/geometry/convex_case.h"
#include "costate/geometry/lanes.h"

namespace costate::geometry {

namespace {

template <class T>
struct Radii {
  T one, two;
};
template <class T>
Radii<T> radii(ShapeType first_type, ShapeType second_type, const Shape<T>& first, const Shape<T>& second) {
  return {is_round(first_type) ? first.size[0] : T(0), is_round(second_type) ? second.size[0] : T(0)};
}

template <class T>
Unknowns<T> solution(const ConvexCase& c, const Shape<T>& first, const Shape<T>& second) {
  double J[kMaxUnknowns][kMaxUnknowns];
  jacobian(c, plain(first), plain(second), c.z, J);
  bool solved;
  return newton_step(c, first, second, c.z, J, solved);
}

template <class T>
void held_points(const ConvexCase& c, const Shape<T>& first, const Shape<T>& second, Vec3<T>& w1,
                 Vec3<T>& w2) {
  w1 = first.x + first.R * lifted<T>(c.p1);
  w2 = second.x + second.R * lifted<T>(c.p2);
}

}  // namespace

template <class T>
void touch(const ConvexCase& c, ShapeType first_type, ShapeType second_type, const Shape<T>& one,
           const Shape<T>& two, ContactPoint<T>* found) {
  if (c.kind == ConvexCase::apart) return;
  if (c.kind == ConvexCase::faces) return face_pair_contacts(c.pair, one, two, found);
  const Radii<T> r = radii(first_type, second_type, one, two);
  if (c.kind == ConvexCase::clipped) {
    const bool first = c.clip.first_owns;
    return clip_contacts(c.clip, first ? one : two, first ? two : one, first ? r.two : r.one, found);
  }
  Vec3<T> n = lifted<T>(c.z.n), w1, w2;
  T d;
  if (c.kind == ConvexCase::smooth) {
    const Unknowns<T> z = solution(c, one, two);
    n = z.n;
    d = z.d;
    w1 = place(c.f1, one, z.t1, z.n);
    w2 = place(c.f2, two, z.t2, -z.n);
  } else {
    held_points(c, one, two, w1, w2);
    d = dot(n, w2 - w1);
  }
  found[0] = {d - r.one - r.two, T(0.5) * (w1 + w2 + (r.one - r.two) * n), n, Vec3<T>::zero()};
}

template <class T>
void touch_vjp(const ConvexCase& c, ShapeType first_type, ShapeType second_type, const Shape<T>& one,
               const Shape<T>& two, const ContactPoint<T>* b, ShapeBar<T>& one_bar, ShapeBar<T>& two_bar) {
  if (c.kind == ConvexCase::apart) return;
  if (c.kind == ConvexCase::faces) return face_pair_contacts_vjp(c.pair, one, two, b, one_bar, two_bar);
  const Radii<T> r = radii(first_type, second_type, one, two);
  if (c.kind == ConvexCase::clipped) {
    const bool first = c.clip.first_owns;
    T radius_bar(0);
    clip_contacts_vjp(c.clip, first ? one : two, first ? two : one, first ? r.two : r.one, b,
                      first ? one_bar : two_bar, first ? two_bar : one_bar, radius_bar);
    if (is_round(first ? second_type : first_type)) (first ? two_bar : one_bar).size[0] += radius_bar;
    return;
  }
  Unknowns<T> z = {lifted<T>(c.z.n), T(0), {}, {}};
  if (c.kind == ConvexCase::smooth) z = solution(c, one, two);
  // dist = d - r1 - r2, point = (w1 + w2 + (r1 - r2) n)/2
  const T along = T(0.5) * dot(z.n, b[0].point);
  if (is_round(first_type)) one_bar.size[0] += along - b[0].dist;
  if (is_round(second_type)) two_bar.size[0] -= along + b[0].dist;
  Vec3<T> w1_bar = T(0.5) * b[0].point, w2_bar = w1_bar;
  if (c.kind == ConvexCase::held) {
    w1_bar -= b[0].dist * z.n;
    w2_bar += b[0].dist * z.n;
    one_bar.x += w1_bar;
    two_bar.x += w2_bar;
    one_bar.R += outer(w1_bar, lifted<T>(c.p1));
    two_bar.R += outer(w2_bar, lifted<T>(c.p2));
    return;
  }
  Vec3<T> n_bar = b[0].normal + (T(0.5) * (r.one - r.two)) * b[0].point, m2_bar = Vec3<T>::zero();
  T t1_bar[2] = {T(0), T(0)}, t2_bar[2] = {T(0), T(0)};
  place_vjp(c.f1, one, z.t1, z.n, w1_bar, one_bar, t1_bar, n_bar);
  place_vjp(c.f2, two, z.t2, -z.n, w2_bar, two_bar, t2_bar, m2_bar);
  n_bar -= m2_bar;

  T J[kMaxUnknowns][kMaxUnknowns], l[kMaxUnknowns];
  jacobian(c, one, two, z, J);
  for (int i = 0; i < 3; ++i) l[i] = n_bar[i];
  l[3] = b[0].dist;
  int row = 4;
  for (int j = 0; j < c.f1.flats; ++j) l[row++] = t1_bar[j];
  for (int j = 0; j < c.f2.flats; ++j) l[row++] = t2_bar[j];
  if (!solve(c.unknowns(), J, l, true)) return;

  // inputs_ -= (dF/d inputs)^T l; what reaches z again is J's business and is dropped
  const Vec3<T> gap_bar = {-l[0], -l[1], -l[2]};
  Vec3<T> unused_n = Vec3<T>::zero();
  T unused_t[2] = {T(0), T(0)};
  place_vjp(c.f2, two, z.t2, -z.n, gap_bar, two_bar, unused_t, unused_n);
  place_vjp(c.f1, one, z.t1, z.n, -gap_bar, one_bar, unused_t, unused_n);
  row = 4;
  for (int j = 0; j < c.f1.flats; ++j) one_bar.R -= outer(l[row++] * z.n, lifted<T>(c.f1.flat[j]));
  for (int j = 0; j < c.f2.flats; ++j) two_bar.R -= outer(l[row++] * z.n, lifted<T>(c.f2.flat[j]));
}

#define COSTATE_INSTANTIATE(T)                                                                       \
  template void touch(const ConvexCase&, ShapeType, ShapeType, const Shape<T>&, const Shape<T>&,     \
                      ContactPoint<T>*);                                                             \
  template void touch_vjp(const ConvexCase&, ShapeType, ShapeType, const Shape<T>&, const Shape<T>&, \
                          const ContactPoint<T>*, ShapeBar<T>&, ShapeBar<T>&)
COSTATE_INSTANTIATE(double);
COSTATE_INSTANTIATE(Dual<double>);
#undef COSTATE_INSTANTIATE

namespace {

template <int slots, class S>
void touch_in_lanes(ShapeType first_type, ShapeType second_type, const Shape<S>& first,
                    const Shape<S>& second, const S& margin, ContactPoint<S>* out) {
  using T = lane_t<S>;
  in_lanes<slots>(first, second, margin, out,
                  [&](const Shape<T>& one, const Shape<T>& two, double reach, ContactPoint<T>* found) {
                    ConvexBody body1{first_type, plain(one)}, body2{second_type, plain(two)};
                    touch<T>(convex_case(body1, body2, slots, reach), first_type, second_type, one, two,
                             found);
                  });
}
template <int slots, class S>
void touch_in_lanes_vjp(ShapeType first_type, ShapeType second_type, const Shape<S>& first,
                        const Shape<S>& second, const S& margin, const ContactPoint<S>* bar,
                        ShapeBar<S>& first_bar, ShapeBar<S>& second_bar) {
  using T = lane_t<S>;
  in_lanes_vjp<slots>(first, second, margin, bar, first_bar, second_bar,
                      [&](const Shape<T>& one, const Shape<T>& two, double reach, const ContactPoint<T>* b,
                          ShapeBar<T>& one_bar, ShapeBar<T>& two_bar) {
                        ConvexBody body1{first_type, plain(one)}, body2{second_type, plain(two)};
                        touch_vjp<T>(convex_case(body1, body2, slots, reach), first_type, second_type, one,
                                     two, b, one_bar, two_bar);
                      });
}

}  // namespace

template <class S>
void convex_contact(ShapeType first_type, ShapeType second_type, const Shape<S>& first,
                    const Shape<S>& second, const S& margin, ContactPoint<S>* out) {
  switch (contact_slots(first_type, second_type)) {
    case 1:
      return touch_in_lanes<1>(first_type, second_type, first, second, margin, out);
    case 2:
      return touch_in_lanes<2>(first_type, second_type, first, second, margin, out);
    default:
      return touch_in_lanes<kClipSlots>(first_type, second_type, first, second, margin, out);
  }
}

template <class S>
void convex_contact_vjp(ShapeType first_type, ShapeType second_type, const Shape<S>& first,
                        const Shape<S>& second, const S& margin, const ContactPoint<S>* bar,
                        ShapeBar<S>& first_bar, ShapeBar<S>& second_bar) {
  switch (contact_slots(first_type, second_type)) {
    case 1:
      return touch_in_lanes_vjp<1>(first_type, second_type, first, second, margin, bar, first_bar,
                                   second_bar);
    case 2:
      return touch_in_lanes_vjp<2>(first_type, second_type, first, second, margin, bar, first_bar,
                                   second_bar);
    default:
      return touch_in_lanes_vjp<kClipSlots>(first_type, second_type, first, second, margin, bar, first_bar,
                                            second_bar);
  }
}

#define COSTATE_INSTANTIATE(S)                                                                       \
  template void convex_contact(ShapeType, ShapeType, const Shape<S>&, const Shape<S>&, const S&,     \
                               ContactPoint<S>*);                                                    \
  template void convex_contact_vjp(ShapeType, ShapeType, const Shape<S>&, const Shape<S>&, const S&, \
                                   const ContactPoint<S>*, ShapeBar<S>&, ShapeBar<S>&)
COSTATE_GEOMETRY_SCALARS(COSTATE_INSTANTIATE);

}  // namespace costate::geometry

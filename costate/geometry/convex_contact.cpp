#include "costate/geometry/convex_contact.h"

#include <algorithm>

#include "costate/geometry/collide.h"
#include "costate/geometry/convex_feature.h"
#include "costate/geometry/face_clip.h"
#include "costate/geometry/gjk.h"
#include "costate/geometry/lanes.h"

namespace costate::geometry {

namespace {

constexpr int kMaxUnknowns = 6;

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
  enum Kind { apart, smooth, clipped, held } kind = apart;
  Feature f1, f2;
  Unknowns<double> z;
  Vec3<double> p1, p2;  // held: witnesses in the shapes' frames
  ClipCase clip;
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

// Newton from a guess; true where it converges to a contact that lies on the features and is the shapes' support.
bool converge(ConvexCase& c, ConvexBody& first, ConvexBody& second, const Closest& guess, double scale) {
  Unknowns<double>& z = c.z;
  z.n = guess.n;
  z.d = guess.dist;
  const auto start = [](const Feature& f, const Shape<double>& s, const Vec3<double>& w, double* t) {
    const Vec3<double> p = transpose_times(s.R, w - s.x);
    for (int j = 0; j < 2; ++j) {
      t[j] = 0;
      if (j >= f.flats) continue;
      for (int i = 0; i < 3; ++i)
        t[j] += f.flat[j][i] * (p[i] - f.fixed[i] - f.multiple[i] * s.size[f.which[i]]);
    }
  };
  start(c.f1, first.shape, guess.w1, z.t1);
  start(c.f2, second.shape, guess.w2, z.t2);
  double J[kMaxUnknowns][kMaxUnknowns], F[kMaxUnknowns];
  double error = 1e300;
  for (int iteration = 0; iteration < 12; ++iteration) {
    jacobian(c, first.shape, second.shape, z, J);
    bool solved;
    z = newton_step(c, first.shape, second.shape, z, J, solved);
    if (!solved || !(squared_norm(z.n) < 4) || !(squared_norm(z.n) > 0.25)) return false;
    residual(c, first.shape, second.shape, z, F);
    double now = 0;
    for (int i = 0; i < c.unknowns(); ++i) now = std::max(now, std::abs(F[i]));
    if (now < 1e-15 * scale || (iteration > 2 && now >= error)) break;
    error = now;
  }
  residual(c, first.shape, second.shape, z, F);
  for (int i = 0; i < c.unknowns(); ++i)
    if (!(std::abs(F[i]) < 1e-11 * std::max(1.0, scale))) return false;
  const double slack = 1e-8 * scale;
  if (dot(z.n, guess.n) < 0.9 || std::abs(z.d - guess.dist) > 1e-4 * scale) return false;
  if (beyond(first, c.f1, z.t1) > slack || beyond(second, c.f2, z.t2) > slack) return false;
  const Vec3<double> w1 = place(c.f1, first.shape, z.t1, z.n), w2 = place(c.f2, second.shape, z.t2, -z.n);
  return dot(z.n, first.support(z.n) - w1) < slack && dot(z.n, w2 - second.support(-z.n)) < slack;
}

// The features that fit what the search found; the flattest pair first.
bool fit_features(ConvexBody& one, ConvexBody& two, const Closest& guess, double scale, ConvexCase& fitting) {
  Feature list1[kMaxFeatures], list2[kMaxFeatures];
  const int count1 = features_towards(one, guess.n, list1), count2 = features_towards(two, -guess.n, list2);
  for (int flats = 2; flats >= 0; --flats)
    for (int i = 0; i < count1; ++i)
      for (int j = 0; j < count2; ++j) {
        if (list1[i].flats + list2[j].flats != flats) continue;
        fitting.f1 = list1[i];
        fitting.f2 = list2[j];
        if (converge(fitting, one, two, guess, scale)) return true;
      }
  return false;
}

// Two faces that lie along each other near the contact, or a line of one along a face of the other; in MuJoCo's order of preference.
bool lies_along(ConvexBody& one, ConvexBody& two, const Vec3<double>& n, double margin, ClipCase& clip) {
  Feature list1[kMaxFeatures], list2[kMaxFeatures];
  const int count1 = features_towards(one, n, list1), count2 = features_towards(two, -n, list2);
  for (bool face_wanted : {true, false}) {
    if (!face_wanted)
      for (int j = 0; j < count2; ++j)
        if (list2[j].flats == 2 && clip_case(one, two, false, list2[j], false, margin, clip)) return true;
    for (int i = 0; i < count1; ++i)
      if (list1[i].flats == 2 && clip_case(one, two, true, list1[i], face_wanted, margin, clip)) return true;
  }
  return false;
}

ConvexCase convex_case(ShapeType first_type, ShapeType second_type, const Shape<double>& first,
                       const Shape<double>& second, double margin) {
  const int slots = contact_slots(first_type, second_type);
  ConvexCase c;
  ConvexBody one{first_type, first}, two{second_type, second};
  const double reach = margin + one.radius() + two.radius();
  double scale = 0;
  for (int k = 0; k < 3; ++k) {
    Vec3<double> axis = Vec3<double>::zero();
    axis[k] = 1;
    scale = std::max({scale, dot(axis, one.support(axis) - one.support(-axis)),
                      dot(axis, two.support(axis) - two.support(-axis))});
  }
  Closest guess;
  for (int attempt = 0; attempt < 4; ++attempt) {
    guess = closest_points(one, two, reach, attempt);
    if (!guess.found) return c;
    if (!fit_features(one, two, guess, scale, c)) continue;
    c.kind = c.z.d > reach ? ConvexCase::apart : ConvexCase::smooth;
    if (c.kind == ConvexCase::smooth && slots > 1 && lies_along(one, two, c.z.n, margin, c.clip))
      c.kind = ConvexCase::clipped;
    return c;
  }
  if (guess.dist > reach) return c;
  c.kind = ConvexCase::held;
  c.z.n = guess.n;
  c.p1 = transpose_times(first.R, guess.w1 - first.x);
  c.p2 = transpose_times(second.R, guess.w2 - second.x);
  return c;
}

bool is_round(ShapeType type) { return type == ShapeType::sphere || type == ShapeType::capsule; }

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

namespace {

template <class T>
void touch(ShapeType first_type, ShapeType second_type, const Shape<T>& one, const Shape<T>& two,
           double reach, ContactPoint<T>* found) {
  const ConvexCase c = convex_case(first_type, second_type, plain(one), plain(two), reach);
  if (c.kind == ConvexCase::apart) return;
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
void touch_vjp(ShapeType first_type, ShapeType second_type, const Shape<T>& one, const Shape<T>& two,
               double reach, const ContactPoint<T>* b, ShapeBar<T>& one_bar, ShapeBar<T>& two_bar) {
  const ConvexCase c = convex_case(first_type, second_type, plain(one), plain(two), reach);
  if (c.kind == ConvexCase::apart) return;
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

template <int slots, class S>
void touch_in_lanes(ShapeType first_type, ShapeType second_type, const Shape<S>& first,
                    const Shape<S>& second, const S& margin, ContactPoint<S>* out) {
  using T = lane_t<S>;
  in_lanes<slots>(first, second, margin, out,
                  [&](const Shape<T>& one, const Shape<T>& two, double reach, ContactPoint<T>* found) {
                    touch<T>(first_type, second_type, one, two, reach, found);
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
                        touch_vjp<T>(first_type, second_type, one, two, reach, b, one_bar, two_bar);
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

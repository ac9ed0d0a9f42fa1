#include "costate/geometry/face_pair.h"

#include <algorithm>

#include "costate/geometry/lanes.h"

namespace costate::geometry {

namespace {

struct Corner {
  Vec3<double> v;
  ClipVertex::Kind kind;
  int edge;  // crossing: from this corner of the first face on
  int side;  // crossing: from this corner of the second face on; pillar: this corner
  int on;    // what leads to the next corner: an edge of the first face, or -1 - an edge of the second
};
struct Overlap {
  int count = 0;
  Corner corner[2 * kMaxOutline];
};

// Keeps what is inside one side of the second face, the plane s.(v - a) = 0.
void cut(const Overlap& in, const Vec3<double>& a, const Vec3<double>& s, int side, int sides, Overlap& out) {
  out.count = 0;
  for (int k = 0; k < in.count; ++k) {
    const Corner &p = in.corner[k], &q = in.corner[(k + 1) % in.count];
    const double dp = dot(s, p.v - a), dq = dot(s, q.v - a);
    if (dp <= 0) out.corner[out.count++] = p;
    if (!((dp < 0 && dq > 0) || (dp > 0 && dq < 0)) || out.count >= 2 * kMaxOutline - 1) continue;
    Corner& made = out.corner[out.count++];
    made = {p.v + (dp / (dp - dq)) * (q.v - p.v), ClipVertex::crossing, p.on, side,
            dp < 0 ? -1 - side : p.on};
    if (p.on < 0) {  // two sides of the second face: the corner that they share
      const int other = -1 - p.on;
      made.kind = ClipVertex::pillar;
      made.side = (other + 1) % sides == side ? side : other;
    }
  }
}

template <class T>
struct FirstFrame {  // of the first shape in the second's
  Vec3<T> c;
  Mat3<T> q;
};
template <class T>
FirstFrame<T> frame_of(const Shape<T>& first, const Shape<T>& second) {
  return {transpose_times(second.R, first.x - second.x), transpose(second.R) * first.R};
}

}  // namespace

bool face_pair_case(const ConvexBody& first, const ConvexBody& second, const Vec3<double>& n,
                    const Vec3<double>& w1, const Vec3<double>& w2, double margin, FacePairCase& out) {
  const FirstFrame<double> f = frame_of(first.shape, second.shape);
  BodyFace faces1[kMostFaces], faces2[kMostFaces];
  const auto list = [](const ConvexBody& body, const Vec3<double>& m, const Vec3<double>& w, BodyFace* to) {
    return faces_at(body, transpose_times(body.shape.R, m), transpose_times(body.shape.R, w - body.shape.x),
                    to);
  };
  const int count1 = list(first, n, w1, faces1), count2 = list(second, -n, w2, faces2);
  int best1 = -1, best2 = -1;
  double most = -kAlongFace;
  for (int i = 0; i < count1; ++i)
    for (int j = 0; j < count2; ++j) {
      const double along = dot(f.q * faces1[i].n, faces2[j].n);
      if (along < most) most = along, best1 = i, best2 = j;
    }
  Outline one, two;
  if (best1 < 0 || !face_outline(first, faces1[best1], one) || !face_outline(second, faces2[best2], two))
    return false;
  const Vec3<double> m = f.q * one.n;
  out.first_origin = one.point[0];
  out.second_origin = two.point[0];
  out.first_n = one.n;
  out.second_n = two.n;

  Overlap overlaps[2], *now = &overlaps[0], *next = &overlaps[1];
  for (int k = 0; k < one.count; ++k)
    now->corner[now->count++] = {f.c + f.q * point_of(one.point[k], first.shape.size), ClipVertex::corner, k,
                                 -1, k};
  for (int j = 0; j < two.count && now->count > 0; ++j) {
    const Vec3<double> a = point_of(two.point[j], second.shape.size),
                       b = point_of(two.point[(j + 1) % two.count], second.shape.size);
    // Outward: the second face goes round counterclockwise about its own normal, which is against m.
    cut(*now, a, cross(m, b - a), j, two.count, *next);
    std::swap(now, next);
  }
  const Vec3<double> origin = point_of(two.point[0], second.shape.size);
  Vec3<double> kept[2 * kMaxOutline];
  const Corner* which[2 * kMaxOutline];
  int count = 0;
  double scale = 0;
  for (int i = 0; i < 3; ++i) scale = std::max(scale, std::abs(now->count > 0 ? now->corner[0].v[i] : 0));
  for (int k = 0; k < now->count; ++k) {
    const Corner& c = now->corner[k];
    bool again = dot(two.n, c.v - origin) > margin;
    for (int i = 0; i < count; ++i) again |= squared_norm(kept[i] - c.v) < 1e-14 * (1 + scale * scale);
    if (again) continue;
    kept[count] = c.v;
    which[count++] = &c;
  }
  if (count < 1) return false;
  int chosen[kClipSlots];
  out.count = widest_four(kept, count, chosen);
  for (int k = 0; k < out.count; ++k) {
    const Corner& c = *which[chosen[k]];
    FacePairCase::Vertex& v = out.vertex[k];
    v.kind = c.kind;
    if (c.kind != ClipVertex::pillar) {
      v.p = one.point[c.edge];
      v.q = one.point[(c.edge + 1) % one.count];
    }
    if (c.kind != ClipVertex::corner) {
      v.a = two.point[c.side];
      v.b = two.point[(c.side + 1) % two.count];
    }
  }
  return true;
}

namespace {

template <class T>
struct PairInput {
  const FacePairCase& c;
  FirstFrame<T> f;
  Vec3<T> m;
  const T *first_size, *second_size;
};
template <class T>
PairInput<T> input_of(const FacePairCase& c, const Shape<T>& first, const Shape<T>& second) {
  const FirstFrame<T> f = frame_of(first, second);
  return {c, f, f.q * lifted<T>(c.first_n), first.size, second.size};
}
template <class T>
Vec3<T> first_place(const PairInput<T>& in, const SizedPoint& p) {
  return in.f.c + in.f.q * point_of(p, in.first_size);
}

template <class T>
struct PairBar {
  Vec3<T> c, m;
  Mat3<T> q;
  T *first_size, *second_size;
};
template <class T>
void first_place_vjp(const PairInput<T>& in, const SizedPoint& p, const Vec3<T>& bar, PairBar<T>& to) {
  Vec3<T> local_bar = Vec3<T>::zero();
  to.c += bar;
  times_vjp(in.f.q, point_of(p, in.first_size), bar, to.q, local_bar);
  for (int i = 0; i < 3; ++i) to.first_size[p.which[i]] += p.multiple[i] * local_bar[i];
}
template <class T>
void second_place_vjp(const SizedPoint& p, const Vec3<T>& bar, PairBar<T>& to) {
  for (int i = 0; i < 3; ++i) to.second_size[p.which[i]] += p.multiple[i] * bar[i];
}

template <class T>
struct Crossing {
  Vec3<T> p, d, e, s, from;  // e = A' - A, from = A - P
  T along, t;                // s.d
};
template <class T>
Crossing<T> crossing_of(const PairInput<T>& in, const FacePairCase::Vertex& v) {
  Crossing<T> x;
  const Vec3<T> a = point_of(v.a, in.second_size);
  x.p = first_place(in, v.p);
  x.d = first_place(in, v.q) - x.p;
  x.e = point_of(v.b, in.second_size) - a;
  x.s = cross(x.e, in.m);
  x.from = a - x.p;
  x.along = dot(x.s, x.d);
  x.t = dot(x.s, x.from) / x.along;
  return x;
}

template <class T>
Vec3<T> vertex_place(const PairInput<T>& in, const FacePairCase::Vertex& v) {
  if (v.kind == ClipVertex::corner) return first_place(in, v.p);
  if (v.kind == ClipVertex::crossing) {
    const Crossing<T> x = crossing_of(in, v);
    return x.p + x.t * x.d;
  }
  const Vec3<T> a = point_of(v.a, in.second_size);
  return a + dot(in.m, first_place(in, in.c.first_origin) - a) * in.m;
}

template <class T>
void vertex_place_vjp(const PairInput<T>& in, const FacePairCase::Vertex& v, const Vec3<T>& bar,
                      PairBar<T>& to) {
  if (v.kind == ClipVertex::corner) return first_place_vjp(in, v.p, bar, to);
  if (v.kind == ClipVertex::crossing) {
    const Crossing<T> x = crossing_of(in, v);
    const T over_bar = dot(x.d, bar) / x.along, along_bar = -(x.t * over_bar);  // of s.from, of s.d
    const Vec3<T> s_bar = over_bar * x.from + along_bar * x.d, e_bar = cross(in.m, s_bar);
    const Vec3<T> d_bar = x.t * bar + along_bar * x.s, from_bar = over_bar * x.s;
    to.m += cross(s_bar, x.e);
    second_place_vjp(v.a, from_bar - e_bar, to);
    second_place_vjp(v.b, e_bar, to);
    first_place_vjp(in, v.p, bar - from_bar - d_bar, to);
    first_place_vjp(in, v.q, d_bar, to);
    return;
  }
  const Vec3<T> up = first_place(in, in.c.first_origin) - point_of(v.a, in.second_size);
  const T height_bar = dot(in.m, bar);
  to.m += dot(in.m, up) * bar + height_bar * up;
  second_place_vjp(v.a, bar - height_bar * in.m, to);
  first_place_vjp(in, in.c.first_origin, height_bar * in.m, to);
}

}  // namespace

template <class T>
void face_pair_contacts(const FacePairCase& c, const Shape<T>& first, const Shape<T>& second,
                        ContactPoint<T>* out) {
  const PairInput<T> in = input_of(c, first, second);
  const Vec3<T> n = lifted<T>(c.second_n), origin = point_of(c.second_origin, second.size);
  for (int k = 0; k < c.count; ++k) {
    const Vec3<T> v = vertex_place(in, c.vertex[k]);
    const T g = dot(n, v - origin);
    out[k] = {g, second.x + second.R * (v - (T(0.5) * g) * n), -(second.R * n), Vec3<T>::zero()};
  }
}

template <class T>
void face_pair_contacts_vjp(const FacePairCase& c, const Shape<T>& first, const Shape<T>& second,
                            const ContactPoint<T>* bar, ShapeBar<T>& first_bar, ShapeBar<T>& second_bar) {
  const PairInput<T> in = input_of(c, first, second);
  const Vec3<T> n = lifted<T>(c.second_n), origin = point_of(c.second_origin, second.size),
                zero = Vec3<T>::zero();
  const T half(0.5);
  PairBar<T> to = {zero, zero, Mat3<T>::zero(), first_bar.size, second_bar.size};
  for (int k = 0; k < c.count; ++k) {
    const Vec3<T> v = vertex_place(in, c.vertex[k]);
    const T g = dot(n, v - origin);
    Vec3<T> w_bar = zero;
    second_bar.x += bar[k].point;
    times_vjp(second.R, v - (half * g) * n, bar[k].point, second_bar.R, w_bar);
    second_bar.R -= outer(bar[k].normal, n);
    const T g_bar = bar[k].dist - half * dot(n, w_bar);
    second_place_vjp(c.second_origin, -(g_bar * n), to);
    vertex_place_vjp(in, c.vertex[k], w_bar + g_bar * n, to);
  }
  to.q += outer(to.m, lifted<T>(c.first_n));
  Vec3<T> offset_bar = zero;
  transpose_times_vjp(second.R, first.x - second.x, to.c, second_bar.R, offset_bar);
  first_bar.x += offset_bar;
  second_bar.x -= offset_bar;
  second_bar.R += first.R * transpose(to.q);
  first_bar.R += second.R * to.q;
}

#define COSTATE_INSTANTIATE(T)                                                                               \
  template void face_pair_contacts(const FacePairCase&, const Shape<T>&, const Shape<T>&, ContactPoint<T>*); \
  template void face_pair_contacts_vjp(const FacePairCase&, const Shape<T>&, const Shape<T>&,                \
                                       const ContactPoint<T>*, ShapeBar<T>&, ShapeBar<T>&)
COSTATE_INSTANTIATE(double);
COSTATE_INSTANTIATE(Dual<double>);

}  // namespace costate::geometry

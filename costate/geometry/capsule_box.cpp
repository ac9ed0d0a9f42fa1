#include "costate/geometry/capsule_box.h"

#include <cmath>
#include <initializer_list>
#include <utility>

#include "costate/geometry/lanes.h"
#include "costate/geometry/segment_pair.h"
#include "costate/geometry/sphere_solid.h"

namespace costate::geometry {

namespace {

struct CapsuleCase {
  bool near = false;
  // first: at an end of the capsule, or closest to an edge
  bool at_end = true;
  double end = 1;
  int edge_axis = 0;
  Vec3<double> edge_signs = Vec3<double>::zero();  // 0 along the edge
  // second
  enum Second { none, rest, span, edge, face } second = none;
  double direction = 1;  // m
  int axis = 0;          // k
  double sign = 1;       // edge: of e; face: s
};

// What competes to end the second contact's way; the least wins.
struct Way {
  CapsuleCase& c;
  double length = 1e300;
  void offer(CapsuleCase::Second kind, double value, int axis, double sign) {
    if (value >= length) return;
    length = value;
    c.second = kind;
    c.axis = axis;
    c.sign = sign;
  }
  void offer_ratio(CapsuleCase::Second kind, double numerator, double divisor, int axis, double sign) {
    if (std::abs(divisor) > 1e-12 * std::abs(numerator)) offer(kind, numerator / divisor, axis, sign);
  }
};

// Place on an edge and on the capsule; `end_of_edge`: -1, 0, 1, as first found (an end that the second
// clamping frees again still counts).
struct EdgePlace {
  double on_edge, on_capsule;
  int end_of_edge;
};

EdgePlace edge_place(const Segment<double>& edge, const Segment<double>& capsule) {
  const SegmentPlaces<double> p = closest_places(edge, capsule);
  const Vec3<double> d = edge.c - capsule.c, m = cross(edge.a, capsule.a);
  const double x1 = -dot(m, cross(d, capsule.a)) / squared_norm(m);
  int end = x1 > 1 ? 1 : x1 < -1 ? -1 : 0;
  if (!p.free1) end = p.x1 > 0 ? 1 : -1;
  return {p.x1, p.x2, end};
}

// A capsule in the frame of a box, while its case is being found.
struct CaseSearch {
  Vec3<double> p, axis, h;  // middle, direction and half length of the capsule's axis
  const double* size;       // of the box
  int points_to = 0;        // bit i: h_i > 0
  double best;              // squared distance of the first contact
  CapsuleCase c = {};
  int face = -1;   // over which an end is; -1: inside
  int corner = 0;  // nearest to the first contact, bit i: on the positive side
  double on_capsule = 0, on_edge = 0;
  int end_of_edge = 0;

  CaseSearch(const Shape<double>& capsule, const Shape<double>& box, double margin)
      : p(transpose_times(box.R, capsule.x - box.x)),
        axis(transpose_times(box.R, capsule.R.column(2))),
        h(capsule.size[1] * axis),
        size(box.size),
        best(margin + 2 * (capsule.size[0] + capsule.size[1] + size[0] + size[1] + size[2])) {
    for (int i = 0; i < 3; ++i) points_to |= (h[i] > 0) << i;
  }

  // First contact: an end over a face, or inside.
  void try_ends() {
    for (double end : {-1.0, 1.0}) {
      int beyond = 0, last = -1;
      double square = 0;
      for (int j = 0; j < 3; ++j) {
        const double excess = std::abs(p[j] + end * h[j]) - size[j];
        if (excess <= 0) continue;
        ++beyond;
        last = j;
        square += excess * excess;
      }
      if (beyond > 1 || square >= best) continue;
      best = square;
      c.near = true;
      c.end = end;
      face = last;
    }
    on_capsule = c.end;
  }

  // First contact: an edge of the box, where one is nearer.
  void try_edges() {
    const Segment<double> axis_segment = {p, h};
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 8; ++i) {
        if (i & (1 << j)) continue;
        Vec3<double> signs;
        for (int k = 0; k < 3; ++k) signs[k] = k == j ? 0 : i & (1 << k) ? 1 : -1;
        Segment<double> edge = {{signs.x * size[0], signs.y * size[1], signs.z * size[2]},
                                Vec3<double>::zero()};
        edge.a[j] = size[j];
        if (parallel_axes(edge, axis_segment)) continue;
        const EdgePlace at = edge_place(edge, axis_segment);
        const double square = squared_norm(edge.c + at.on_edge * edge.a - p - at.on_capsule * h);
        if (square >= best - 1e-15) continue;
        best = square;
        c.near = true;
        c.at_end = false;
        c.edge_axis = j;
        c.edge_signs = signs;
        on_edge = at.on_edge;
        on_capsule = at.on_capsule;
        end_of_edge = at.end_of_edge;
        corner = i + (end_of_edge > 0 ? 1 << j : 0);
      }
  }

  // Second contact, from an end over a face along the capsule.
  void second_from_end() {
    if (face < 0) return;
    Way way{c};
    const double m = c.direction = -c.end;
    way.offer(CapsuleCase::rest, 2, 0, 0);
    for (int k = 0; k < 3; ++k)
      for (double s : {1.0, -1.0}) {
        if (k == face || std::abs(h[k]) < 1e-12) continue;
        const double value = m * (s * size[k] - p[k]) / h[k] + 1;
        if (value > 0) way.offer(CapsuleCase::face, value, k, s);
      }
  }

  // Second contact, from a corner of the box along an edge or a face.
  void second_from_corner() {
    int against = points_to ^ corner;
    if (against == 0 || against == 7) return;
    Way way{c};
    const bool one_bit = against == 1 || against == 2 || against == 4;
    double m = one_bit ? 1 : -1;
    if (!one_bit) against = 7 - against;
    const int k = against == 1 ? 0 : against == 2 ? 1 : 2;
    if (axis[k] * axis[k] > 0.5) {  // along the edge
      way.offer(CapsuleCase::rest, 1 - m * on_capsule, 0, 0);
      way.offer_ratio(CapsuleCase::span, 2 * size[k], std::abs(h[k]), k, 0);
    } else {  // along a face
      m = -m;
      way.offer(CapsuleCase::rest, 1 - m * on_capsule, 0, 0);
      for (int other : {(k + 1) % 3, (k + 2) % 3})
        way.offer_ratio(CapsuleCase::span, 2 * size[other], std::abs(h[other]), other, 0);
    }
    c.direction = m;
  }

  // Second contact, from the middle of an edge.
  void second_from_edge() {
    const int against = (points_to ^ corner) & (7 - (1 << c.edge_axis));
    if (against != 1 && against != 2 && against != 4) return;
    Way way{c};
    const int k = c.edge_axis;
    int flat = (k + 1) % 3, steep = (k + 2) % 3;
    if (std::abs(axis[flat]) > std::abs(axis[steep])) std::swap(flat, steep);
    const bool onward = against & (1 << steep);
    c.direction = onward ? 1 : -1;
    way.offer(CapsuleCase::rest, 1 - c.direction * on_capsule, 0, 0);
    way.offer_ratio(CapsuleCase::span, 2 * size[steep], std::abs(h[steep]), steep, 0);
    const double sign = ((points_to & (1 << k)) != 0) == onward ? 1 : -1;
    way.offer_ratio(CapsuleCase::edge, size[k] * (1 - sign * on_edge), std::abs(h[k]), k, sign);
  }
};

CapsuleCase capsule_box_case(const Shape<double>& capsule, const Shape<double>& box, double margin) {
  CaseSearch search(capsule, box, margin);
  search.try_ends();
  search.try_edges();
  if (!search.c.near) return search.c;
  if (search.c.at_end)
    search.second_from_end();
  else if (search.end_of_edge != 0)
    search.second_from_corner();
  else
    search.second_from_edge();
  return search.c;
}

template <class T>
Segment<T> edge_segment(const Shape<T>& box, const CapsuleCase& c) {
  const Vec3<T> local = {box.size[0] * c.edge_signs.x, box.size[1] * c.edge_signs.y,
                         box.size[2] * c.edge_signs.z};
  return {box.x + box.R * local, box.size[c.edge_axis] * box.R.column(c.edge_axis)};
}

// t1, and the place on the edge that goes with it.
template <class T>
SegmentPlaces<T> first_place(const Segment<T>& axis, const Shape<T>& box, const CapsuleCase& c) {
  if (c.at_end) return {T(0), T(c.end), false, false};
  return closest_places(edge_segment(box, c), axis);
}

template <class T>
T second_place(const Shape<T>& box, const Vec3<T>& p, const Vec3<T>& h, const SegmentPlaces<T>& at,
               const CapsuleCase& c) {
  const int k = c.axis;
  const T m(c.direction);
  switch (c.second) {
    case CapsuleCase::span:
      return at.x2 + m * (T(2) * box.size[k] / abs(h[k]));
    case CapsuleCase::edge:
      return at.x2 + m * (box.size[k] * (T(1) - c.sign * at.x1) / abs(h[k]));
    case CapsuleCase::face:
      return at.x2 + (c.sign * box.size[k] - p[k]) / h[k] + m;
    default:
      return m;  // the capsule's end: t1 + m (1 - m t1)
  }
}

}  // namespace

template <class S>
void capsule_box(const Shape<S>& capsule, const Shape<S>& box, const S& margin, ContactPoint<S>* out) {
  in_lanes<kCapsuleBoxSlots>(capsule, box, margin, out,
                             [](const auto& cap, const auto& solid, double reach, auto* found) {
                               using T = lane_t<S>;
                               const CapsuleCase c = capsule_box_case(plain(cap), plain(solid), reach);
                               if (!c.near) return;
                               const Segment<T> axis = {cap.x, cap.size[1] * cap.R.column(2)};
                               const SegmentPlaces<T> at = first_place(axis, solid, c);
                               found[0] = ball_box(axis.c + at.x2 * axis.a, cap.size[0], solid);
                               if (c.second == CapsuleCase::none) return;
                               const T t = second_place(solid, transpose_times(solid.R, cap.x - solid.x),
                                                        transpose_times(solid.R, axis.a), at, c);
                               found[1] = ball_box(axis.c + t * axis.a, cap.size[0], solid);
                             });
}

template <class S>
void capsule_box_vjp(const Shape<S>& capsule, const Shape<S>& box, const S& margin,
                     const ContactPoint<S>* bar, ShapeBar<S>& capsule_bar, ShapeBar<S>& box_bar) {
  in_lanes_vjp<kCapsuleBoxSlots>(
      capsule, box, margin, bar, capsule_bar, box_bar,
      [](const auto& cap, const auto& solid, double reach, const auto* b, auto& cap_bar, auto& solid_bar) {
        using T = lane_t<S>;
        const CapsuleCase c = capsule_box_case(plain(cap), plain(solid), reach);
        if (!c.near) return;
        const Vec3<T> zero = Vec3<T>::zero();
        const Segment<T> axis = {cap.x, cap.size[1] * cap.R.column(2)};
        const SegmentPlaces<T> at = first_place(axis, solid, c);
        Segment<T> axis_bar = {zero, zero};
        T on_edge_bar(0), t1_bar(0);
        // A ball at t along the axis.
        const auto ball_vjp = [&](const T& t, const ContactPoint<T>& slot_bar) {
          Vec3<T> x_bar = zero;
          ball_box_vjp(axis.c + t * axis.a, cap.size[0], solid, slot_bar, x_bar, cap_bar.size[0], solid_bar);
          axis_bar.c += x_bar;
          axis_bar.a += t * x_bar;
          return dot(axis.a, x_bar);
        };
        t1_bar += ball_vjp(at.x2, b[0]);
        if (c.second != CapsuleCase::none) {
          const Vec3<T> offset = cap.x - solid.x;
          const Vec3<T> p = transpose_times(solid.R, offset), h = transpose_times(solid.R, axis.a);
          const T t_bar = ball_vjp(second_place(solid, p, h, at, c), b[1]);
          const int k = c.axis;
          const T m_bar = c.direction * t_bar, inverse = T(1) / (c.second == CapsuleCase::rest ? T(1) : h[k]);
          const T size = solid.size[k];
          Vec3<T> p_bar = zero, h_bar = zero;
          if (c.second != CapsuleCase::rest) t1_bar += t_bar;
          if (c.second == CapsuleCase::span) {
            const T forward = abs(inverse) * m_bar;
            solid_bar.size[k] += T(2) * forward;
            h_bar[k] -= T(2) * size * inverse * forward;
          } else if (c.second == CapsuleCase::edge) {
            const T forward = abs(inverse) * m_bar, left = T(1) - c.sign * at.x1;
            solid_bar.size[k] += left * forward;
            on_edge_bar -= c.sign * size * forward;
            h_bar[k] -= size * left * inverse * forward;
          } else if (c.second == CapsuleCase::face) {
            solid_bar.size[k] += c.sign * t_bar * inverse;
            p_bar[k] -= t_bar * inverse;
            h_bar[k] -= (c.sign * size - p[k]) * t_bar * inverse * inverse;
          }
          Vec3<T> offset_bar = zero;
          transpose_times_vjp(solid.R, offset, p_bar, solid_bar.R, offset_bar);
          transpose_times_vjp(solid.R, axis.a, h_bar, solid_bar.R, axis_bar.a);
          cap_bar.x += offset_bar;
          solid_bar.x -= offset_bar;
        }
        if (!c.at_end) {
          const int j = c.edge_axis;
          Segment<T> edge_bar = {zero, zero};
          closest_places_vjp(edge_segment(solid, c), axis, at, on_edge_bar, t1_bar, edge_bar, axis_bar);
          const Vec3<T> local = {solid.size[0] * c.edge_signs.x, solid.size[1] * c.edge_signs.y,
                                 solid.size[2] * c.edge_signs.z};
          Vec3<T> local_bar = zero;
          solid_bar.x += edge_bar.c;
          times_vjp(solid.R, local, edge_bar.c, solid_bar.R, local_bar);
          for (int i = 0; i < 3; ++i) solid_bar.size[i] += c.edge_signs[i] * local_bar[i];
          solid_bar.size[j] += dot(solid.R.column(j), edge_bar.a);
          add_to_column(solid_bar.R, j, solid.size[j] * edge_bar.a);
        }
        cap_bar.x += axis_bar.c;
        cap_bar.size[1] += dot(cap.R.column(2), axis_bar.a);
        add_to_column(cap_bar.R, 2, cap.size[1] * axis_bar.a);
      });
}

#define COSTATE_INSTANTIATE(S) COSTATE_GEOMETRY_INSTANTIATE(capsule_box, S)
COSTATE_GEOMETRY_SCALARS(COSTATE_INSTANTIATE);

}  // namespace costate::geometry

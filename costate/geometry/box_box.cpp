#include "costate/geometry/box_box.h"

#include "costate/geometry/box_box_case.h"
#include "costate/geometry/lanes.h"
#include "costate/geometry/matrix_transpose.h"
#include "costate/geometry/segment_pair.h"

namespace costate::geometry {

namespace {

// --- edges -----------------------------------------------------------------------------------------

template <class T>
Segment<T> edge_of(const Shape<T>& box, int axis, const Vec3<double>& signs) {
  const Vec3<T> local = {box.size[0] * signs.x, box.size[1] * signs.y, box.size[2] * signs.z};
  return {box.x + box.R * local, box.size[axis] * box.R.column(axis)};
}
template <class T>
void edge_of_vjp(const Shape<T>& box, int axis, const Vec3<double>& signs, const Segment<T>& bar,
                 ShapeBar<T>& box_bar) {
  const Vec3<T> local = {box.size[0] * signs.x, box.size[1] * signs.y, box.size[2] * signs.z};
  Vec3<T> local_bar = Vec3<T>::zero();
  box_bar.x += bar.c;
  times_vjp(box.R, local, bar.c, box_bar.R, local_bar);
  for (int i = 0; i < 3; ++i) box_bar.size[i] += signs[i] * local_bar[i];
  box_bar.size[axis] += dot(box.R.column(axis), bar.a);
  add_to_column(box_bar.R, axis, box.size[axis] * bar.a);
}

template <class T>
void touch_edges(const Shape<T>& first, const Shape<T>& second, const BoxCase& c, ContactPoint<T>& out) {
  const Segment<T> s1 = edge_of(first, c.i, c.corner1), s2 = edge_of(second, c.j, c.corner2);
  const SegmentPlaces<T> at = closest_places(s1, s2);
  const Vec3<T> p1 = s1.c + at.x1 * s1.a, p2 = s2.c + at.x2 * s2.a;
  const Vec3<T> n = T(c.side) * normalized(cross(first.R.column(c.i), second.R.column(c.j)));
  out = {dot(n, p2 - p1), T(0.5) * (p1 + p2), n, Vec3<T>::zero()};
}

template <class T>
void touch_edges_vjp(const Shape<T>& first, const Shape<T>& second, const BoxCase& c,
                     const ContactPoint<T>& bar, ShapeBar<T>& first_bar, ShapeBar<T>& second_bar) {
  const Segment<T> s1 = edge_of(first, c.i, c.corner1), s2 = edge_of(second, c.j, c.corner2);
  const SegmentPlaces<T> at = closest_places(s1, s2);
  const Vec3<T> gap = s2.c + at.x2 * s2.a - s1.c - at.x1 * s1.a;
  const Vec3<T> e1 = first.R.column(c.i), e2 = second.R.column(c.j), m = cross(e1, e2);
  const T inverse = T(1) / sqrt(squared_norm(m));
  const Vec3<T> n = (T(c.side) * inverse) * m;

  const Vec3<T> n_bar = bar.normal + bar.dist * gap, gap_bar = bar.dist * n;
  const Vec3<T> m_bar = T(c.side) * normalized_vjp(n, inverse, n_bar);
  add_to_column(first_bar.R, c.i, cross(e2, m_bar));
  add_to_column(second_bar.R, c.j, cross(m_bar, e1));
  const Vec3<T> p1_bar = T(0.5) * bar.point - gap_bar, p2_bar = T(0.5) * bar.point + gap_bar;
  Segment<T> s1_bar = {p1_bar, at.x1 * p1_bar}, s2_bar = {p2_bar, at.x2 * p2_bar};
  closest_places_vjp(s1, s2, at, dot(s1.a, p1_bar), dot(s2.a, p2_bar), s1_bar, s2_bar);
  edge_of_vjp(first, c.i, c.corner1, s1_bar, first_bar);
  edge_of_vjp(second, c.j, c.corner2, s2_bar, second_bar);
}

// --- faces -----------------------------------------------------------------------------------------

// The incident box in the reference's frame.
template <class T>
struct Incident {
  Vec3<T> c;
  Mat3<T> q;
};
template <class T>
Incident<T> incident_in(const Shape<T>& reference, const Shape<T>& incident) {
  return {transpose_times(reference.R, incident.x - reference.x), transpose(reference.R) * incident.R};
}

inline Vec3<double> corner_signs(const BoxCase& c, int k) {
  Vec3<double> s;
  s[c.b] = c.b_side;
  s[(c.b + 1) % 3] = kFaceCorner[k][0];
  s[(c.b + 2) % 3] = kFaceCorner[k][1];
  return s;
}
template <class T>
Vec3<T> signed_sizes(const Vec3<double>& signs, const T* size) {
  return {signs.x * size[0], signs.y * size[1], signs.z * size[2]};
}

// Cotangents that the corners of one contact polygon share.
template <class T>
struct FaceBar {
  Incident<T> incident;
  T reference_size[3], incident_size[3];
};

template <class T>
Vec3<T> corner_place(const Incident<T>& in, const T* size, const Vec3<double>& signs) {
  return in.c + in.q * signed_sizes(signs, size);
}
template <class T>
void corner_place_vjp(const Incident<T>& in, const T* size, const Vec3<double>& signs, const Vec3<T>& v_bar,
                      FaceBar<T>& bar) {
  Vec3<T> local_bar = Vec3<T>::zero();
  bar.incident.c += v_bar;
  times_vjp(in.q, signed_sizes(signs, size), v_bar, bar.incident.q, local_bar);
  for (int i = 0; i < 3; ++i) bar.incident_size[i] += signs[i] * local_bar[i];
}

struct Side {
  int axis;
  double sign;
};
inline Side side_of(const BoxCase& c, int side) {
  return {side < 2 ? c.x() : c.y(), side % 2 == 0 ? 1.0 : -1.0};
}
// Signs of the centre of the incident face: its other two coordinates are 0.
inline Vec3<double> face_signs(const BoxCase& c) {
  Vec3<double> s = Vec3<double>::zero();
  s[c.b] = c.b_side;
  return s;
}

template <class T>
Vec3<T> vertex_place(const BoxCase& c, const BoxVertex& vertex, const Incident<T>& in, const T* reference,
                     const T* incident) {
  const Vec3<T> p = corner_place(in, incident, corner_signs(c, vertex.edge));
  if (vertex.kind == BoxVertex::corner) return p;
  if (vertex.kind == BoxVertex::crossing) {
    const Side s = side_of(c, vertex.side[0]);
    const Vec3<T> d = corner_place(in, incident, corner_signs(c, (vertex.edge + 1) % 4)) - p;
    return p + ((s.sign * reference[s.axis] - p[s.axis]) / d[s.axis]) * d;
  }
  const Vec3<T> m = in.q.column(c.b), f = corner_place(in, incident, face_signs(c));
  Vec3<T> v = f;
  for (int k = 0; k < 2; ++k) {
    const Side s = side_of(c, vertex.side[k]);
    v[s.axis] = s.sign * reference[s.axis];
  }
  v[c.a] = f[c.a] - (m[c.x()] * (v[c.x()] - f[c.x()]) + m[c.y()] * (v[c.y()] - f[c.y()])) / m[c.a];
  return v;
}

template <class T>
void vertex_place_vjp(const BoxCase& c, const BoxVertex& vertex, const Incident<T>& in, const T* reference,
                      const T* incident, const Vec3<T>& v_bar, FaceBar<T>& bar) {
  if (vertex.kind == BoxVertex::corner)
    return corner_place_vjp(in, incident, corner_signs(c, vertex.edge), v_bar, bar);
  if (vertex.kind == BoxVertex::crossing) {
    const Side s = side_of(c, vertex.side[0]);
    const Vec3<double> p_signs = corner_signs(c, vertex.edge),
                       q_signs = corner_signs(c, (vertex.edge + 1) % 4);
    const Vec3<T> p = corner_place(in, incident, p_signs), d = corner_place(in, incident, q_signs) - p;
    const T inverse = T(1) / d[s.axis], t = (s.sign * reference[s.axis] - p[s.axis]) * inverse;
    const T t_bar = dot(d, v_bar) * inverse;
    Vec3<T> p_bar = v_bar, d_bar = t * v_bar;
    p_bar[s.axis] -= t_bar;
    d_bar[s.axis] -= t * t_bar;
    bar.reference_size[s.axis] += s.sign * t_bar;
    corner_place_vjp(in, incident, p_signs, p_bar - d_bar, bar);
    corner_place_vjp(in, incident, q_signs, d_bar, bar);
    return;
  }
  const int x = c.x(), y = c.y(), a = c.a;
  const Vec3<T> m = in.q.column(c.b), f = corner_place(in, incident, face_signs(c));
  Vec3<T> v = f;
  const T inverse = T(1) / m[a], slope_bar = v_bar[a] * inverse;
  Vec3<T> f_bar = Vec3<T>::zero(), m_bar = Vec3<T>::zero();
  for (int k = 0; k < 2; ++k) {
    const Side s = side_of(c, vertex.side[k]);
    v[s.axis] = s.sign * reference[s.axis];
    bar.reference_size[s.axis] += s.sign * (v_bar[s.axis] - m[s.axis] * slope_bar);
  }
  const T dx = v[x] - f[x], dy = v[y] - f[y];
  f_bar[a] = v_bar[a];
  f_bar[x] = m[x] * slope_bar;
  f_bar[y] = m[y] * slope_bar;
  m_bar[x] = -(dx * slope_bar);
  m_bar[y] = -(dy * slope_bar);
  m_bar[a] = (m[x] * dx + m[y] * dy) * inverse * slope_bar;
  add_to_column(bar.incident.q, c.b, m_bar);
  corner_place_vjp(in, incident, face_signs(c), f_bar, bar);
}

template <class T>
void touch_faces(const Shape<T>& reference, const Shape<T>& incident, const BoxCase& c,
                 ContactPoint<T>* out) {
  const Incident<T> in = incident_in(reference, incident);
  const Vec3<T> n = T(c.first_owns ? c.a_side : -c.a_side) * reference.R.column(c.a);
  for (int k = 0; k < c.count; ++k) {
    Vec3<T> w = vertex_place(c, c.vertex[k], in, reference.size, incident.size);
    const T dist = c.a_side * w[c.a] - reference.size[c.a];
    w[c.a] = T(0.5) * (w[c.a] + c.a_side * reference.size[c.a]);
    out[k] = {dist, reference.x + reference.R * w, n, Vec3<T>::zero()};
  }
}

template <class T>
void touch_faces_vjp(const Shape<T>& reference, const Shape<T>& incident, const BoxCase& c,
                     const ContactPoint<T>* bar, ShapeBar<T>& reference_bar, ShapeBar<T>& incident_bar) {
  const Incident<T> in = incident_in(reference, incident);
  FaceBar<T> face_bar = {{Vec3<T>::zero(), Mat3<T>::zero()}, {T(0), T(0), T(0)}, {T(0), T(0), T(0)}};
  Vec3<T> n_bar = Vec3<T>::zero();
  for (int k = 0; k < c.count; ++k) {
    Vec3<T> w = vertex_place(c, c.vertex[k], in, reference.size, incident.size);
    w[c.a] = T(0.5) * (w[c.a] + c.a_side * reference.size[c.a]);
    Vec3<T> v_bar = Vec3<T>::zero();
    reference_bar.x += bar[k].point;
    times_vjp(reference.R, w, bar[k].point, reference_bar.R, v_bar);
    const T half_bar = T(0.5) * v_bar[c.a];
    v_bar[c.a] = half_bar + c.a_side * bar[k].dist;
    face_bar.reference_size[c.a] += c.a_side * half_bar - bar[k].dist;
    n_bar += bar[k].normal;
    vertex_place_vjp(c, c.vertex[k], in, reference.size, incident.size, v_bar, face_bar);
  }
  add_to_column(reference_bar.R, c.a, T(c.first_owns ? c.a_side : -c.a_side) * n_bar);
  for (int i = 0; i < 3; ++i) {
    reference_bar.size[i] += face_bar.reference_size[i];
    incident_bar.size[i] += face_bar.incident_size[i];
  }
  // c = R^T (x_incident - x), q = R^T R_incident
  Vec3<T> offset_bar = Vec3<T>::zero();
  transpose_times_vjp(reference.R, incident.x - reference.x, face_bar.incident.c, reference_bar.R,
                      offset_bar);
  incident_bar.x += offset_bar;
  reference_bar.x -= offset_bar;
  reference_bar.R += incident.R * transpose(face_bar.incident.q);
  incident_bar.R += reference.R * face_bar.incident.q;
}

}  // namespace

template <class S>
void box_box(const Shape<S>& first, const Shape<S>& second, const S& margin, ContactPoint<S>* out) {
  in_lanes<kBoxBoxSlots>(first, second, margin, out,
                         [](const auto& one, const auto& two, double reach, auto* found) {
                           const BoxCase c = box_box_case(plain(one), plain(two), reach);
                           if (c.kind == BoxCase::edges)
                             touch_edges(one, two, c, found[0]);
                           else if (c.kind == BoxCase::faces)
                             touch_faces(c.first_owns ? one : two, c.first_owns ? two : one, c, found);
                         });
}

template <class S>
void box_box_vjp(const Shape<S>& first, const Shape<S>& second, const S& margin, const ContactPoint<S>* bar,
                 ShapeBar<S>& first_bar, ShapeBar<S>& second_bar) {
  in_lanes_vjp<kBoxBoxSlots>(
      first, second, margin, bar, first_bar, second_bar,
      [](const auto& one, const auto& two, double reach, const auto* b, auto& one_bar, auto& two_bar) {
        const BoxCase c = box_box_case(plain(one), plain(two), reach);
        if (c.kind == BoxCase::edges)
          touch_edges_vjp(one, two, c, b[0], one_bar, two_bar);
        else if (c.kind == BoxCase::faces)
          touch_faces_vjp(c.first_owns ? one : two, c.first_owns ? two : one, c, b,
                          c.first_owns ? one_bar : two_bar, c.first_owns ? two_bar : one_bar);
      });
}

#define COSTATE_INSTANTIATE(S) COSTATE_GEOMETRY_INSTANTIATE(box_box, S)
COSTATE_GEOMETRY_SCALARS(COSTATE_INSTANTIATE);

}  // namespace costate::geometry

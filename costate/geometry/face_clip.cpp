#include "costate/geometry/face_clip.h"

#include <algorithm>

#include "costate/geometry/lanes.h"

namespace costate::geometry {

namespace {

constexpr double kAlongLine = 0.089;  // cosine between a line and the normal

struct Polygon {
  struct Corner {
    Vec3<double> v;
    ClipVertex what;
    int on;        // what the edge to the next corner lies on: an incident edge (< kMaxOutline), or a side
    int edge = 0;  // of a crossing: the incident edge
  };
  int count = 0;
  Corner corner[2 * kMaxOutline];
};

template <class T>
T offset_of(const SizedPlane& p, const T* size) {
  return p.fixed + p.multiple * size[p.which];
}

SizedPoint box_corner(const Vec3<double>& signs) {
  SizedPoint p;
  p.multiple = signs;
  return p;
}
SizedPoint cylinder_point(double cosine, double sine, double end) {
  SizedPoint p;
  p.multiple = {cosine, sine, end};
  p.which[0] = p.which[1] = 0;
  p.which[2] = 1;
  return p;
}
SizedPoint mesh_point(const ConvexMesh& mesh, int v) {
  SizedPoint p;
  p.fixed = mesh.vertices[v];
  return p;
}

// The plane of a face and its sides.
int sides_of(const ConvexBody& body, const Feature& face, SizedPlane& plane, SizedPlane* side) {
  int count = 0;
  if (body.type == ShapeType::box) {
    for (int i = 0; i < 3; ++i) {
      if (face.multiple[i] != 0) {
        plane.n = Vec3<double>::zero();
        plane.n[i] = face.multiple[i];
        plane.multiple = 1;
        plane.which = i;
        continue;
      }
      for (double s : {1.0, -1.0}) {
        SizedPlane& p = side[count++];
        p = {};
        p.n = Vec3<double>::zero();
        p.n[i] = s;
        p.multiple = 1;
        p.which = i;
      }
    }
  } else if (body.type == ShapeType::cylinder) {
    plane.n = {0, 0, face.multiple[2]};
    plane.multiple = 1;
    plane.which = 1;
    for (; count < 16; ++count) {
      const double step = 3.14159265358979323846 / 16, angle = (2 * count + 1) * step;
      side[count] = {{std::cos(angle), std::sin(angle), 0}, 0, std::cos(step), 0};
    }
  } else {
    const ConvexMesh& mesh = *body.shape.mesh;
    const int begin = mesh.face_begin[face.face], end = mesh.face_begin[face.face + 1];
    if (end - begin > kMaxOutline) return 0;
    plane.n = mesh.face_normals[face.face];
    plane.fixed = dot(plane.n, mesh.vertices[mesh.face_vertices[begin]]);
    for (int k = begin; k < end; ++k, ++count) {
      const Vec3<double>& a = mesh.vertices[mesh.face_vertices[k]];
      const Vec3<double>& b = mesh.vertices[mesh.face_vertices[k + 1 == end ? begin : k + 1]];
      const Vec3<double> s = normalized(cross(b - a, plane.n));
      side[count] = {s, dot(s, a), 0, 0};
    }
  }
  return count;
}

// The face, or where no face is wanted the line, of a shape that lies along a face with normal -u, in the
// shape's frame and pointing at it. False: none.
bool capsule_outline(const Vec3<double>& u, bool face_wanted, Outline& out) {
  if (face_wanted || std::abs(u.z) >= kAlongLine) return false;
  for (double end : {-1.0, 1.0}) out.point[out.count++] = cylinder_point(0, 0, end);
  return true;
}

bool cylinder_outline(const Vec3<double>& u, bool face_wanted, Outline& out) {
  if (face_wanted) {
    if (std::abs(u.z) <= kAlongFace) return false;
    const double end = u.z > 0 ? 1 : -1, half = std::sqrt(0.5);
    out.n = {0, 0, end};
    for (int k = 0; k < 4; ++k)
      out.point[out.count++] = cylinder_point(k == 0 || k == 3 ? half : -half, k < 2 ? half : -half, end);
    return true;
  }
  if (std::abs(u.z) >= kAlongLine) return false;
  out.round = true;
  for (double end : {-1.0, 1.0}) out.point[out.count++] = cylinder_point(0, 0, end);
  return true;
}

bool box_outline(const Vec3<double>& u, bool face_wanted, Outline& out) {
  int most = 0, least = 0;
  for (int i = 1; i < 3; ++i) {
    if (std::abs(u[i]) > std::abs(u[most])) most = i;
    if (std::abs(u[i]) < std::abs(u[least])) least = i;
  }
  Vec3<double> signs;
  for (int i = 0; i < 3; ++i) signs[i] = u[i] > 0 ? 1 : -1;
  if (face_wanted) {
    if (std::abs(u[most]) <= kAlongFace) return false;
    out.n = Vec3<double>::zero();
    out.n[most] = signs[most];
    const int i = (most + 1) % 3, j = (most + 2) % 3;
    for (int k = 0; k < 4; ++k) {
      Vec3<double> corner = signs;
      corner[i] = k == 0 || k == 3 ? 1 : -1;
      corner[j] = k < 2 ? 1 : -1;
      out.point[out.count++] = box_corner(corner);
    }
    return true;
  }
  if (std::abs(u[least]) >= kAlongLine) return false;
  for (double end : {-1.0, 1.0}) {
    signs[least] = end;
    out.point[out.count++] = box_corner(signs);
  }
  return true;
}

bool mesh_outline(const ConvexBody& body, const Vec3<double>& u, bool face_wanted, Outline& out) {
  const ConvexMesh& mesh = *body.shape.mesh;
  const int v = farthest_vertex(mesh, u, body.last_vertex);
  for (int k = mesh.vertex_face_begin[v]; k < mesh.vertex_face_begin[v + 1]; ++k) {
    const int face = mesh.vertex_faces[k];
    if (dot(u, mesh.face_normals[face]) <= kAlongFace) continue;
    const int begin = mesh.face_begin[face], end = mesh.face_begin[face + 1];
    if (end - begin > kMaxOutline) return false;
    out.n = mesh.face_normals[face];
    for (int i = begin; i < end; ++i) out.point[out.count++] = mesh_point(mesh, mesh.face_vertices[i]);
    return true;
  }
  if (face_wanted) return false;
  int best = -1;
  double least = kAlongLine;
  for (int k = mesh.neighbour_begin[v]; k < mesh.neighbour_begin[v + 1]; ++k) {
    const int w = mesh.neighbours[k];
    const Vec3<double> e = mesh.vertices[w] - mesh.vertices[v];
    const double slope = std::abs(dot(u, e)) / std::sqrt(squared_norm(e));
    if (slope < least) {
      least = slope;
      best = w;
    }
  }
  if (best < 0) return false;
  out.point[out.count++] = mesh_point(mesh, v);
  out.point[out.count++] = mesh_point(mesh, best);
  return true;
}

bool incident_outline(const ConvexBody& body, const Vec3<double>& u, bool face_wanted, Outline& out) {
  switch (body.type) {
    case ShapeType::capsule:
      return capsule_outline(u, face_wanted, out);
    case ShapeType::cylinder:
      return cylinder_outline(u, face_wanted, out);
    case ShapeType::box:
      return box_outline(u, face_wanted, out);
    case ShapeType::mesh:
      return mesh_outline(body, u, face_wanted, out);
    default:
      return false;
  }
}

// Places of incident points in the reference's frame.
template <class T>
struct IncidentFrame {
  Vec3<T> c;
  Mat3<T> q;
  Vec3<T> bulge;  // k(u), in the incident's frame
};
template <class T>
IncidentFrame<T> incident_frame(const ClipCase& c, const Shape<T>& reference, const Shape<T>& incident) {
  IncidentFrame<T> f = {transpose_times(reference.R, incident.x - reference.x),
                        transpose(reference.R) * incident.R, Vec3<T>::zero()};
  if (c.round) {
    const Vec3<T> u = -transpose_times(f.q, lifted<T>(c.face.n));
    const T scale = incident.size[0] / sqrt(u.x * u.x + u.y * u.y);
    f.bulge = {scale * u.x, scale * u.y, T(0)};
  }
  return f;
}
template <class T>
Vec3<T> incident_place(const IncidentFrame<T>& f, const SizedPoint& p, const T* size) {
  return f.c + f.q * (point_of(p, size) + f.bulge);
}

// Keeps what is inside one side.
void clip(const Polygon& in, const SizedPlane* sides, int side, double offset, bool circle, Polygon& out) {
  out.count = 0;
  const bool line = in.count == 2;
  for (int k = 0; k < (line ? 2 : in.count); ++k) {
    const auto &p = in.corner[k], &q = in.corner[(k + 1) % in.count];
    const double dp = dot(sides[side].n, p.v) - offset, dq = dot(sides[side].n, q.v) - offset;
    if (dp <= 0) out.corner[out.count++] = p;
    if (line && k == 1) break;
    if (((dp < 0 && dq > 0) || (dp > 0 && dq < 0)) && out.count < 2 * kMaxOutline - 1) {
      auto& made = out.corner[out.count++];
      made.v = p.v + (dp / (dp - dq)) * (q.v - p.v);
      made.on = dp < 0 && !line ? kMaxOutline + side : p.on;
      made.edge = p.on;
      made.what.kind = p.on < kMaxOutline ? ClipVertex::crossing : ClipVertex::pillar;
      made.what.side[0] = sides[p.on < kMaxOutline ? side : p.on - kMaxOutline];
      made.what.side[1] = sides[side];
      made.what.circle = circle;
    }
  }
}

}  // namespace

int faces_at(const ConvexBody& body, const Vec3<double>& u, const Vec3<double>& p, BodyFace* out) {
  int count = 0;
  if (body.type == ShapeType::box) {
    const double* size = body.shape.size;
    const double slack = 1e-9 * (size[0] + size[1] + size[2]);
    for (int i = 0; i < 3; ++i)
      for (int side : {0, 1}) {
        const double sign = side == 0 ? 1 : -1;
        if (sign * p[i] < size[i] - slack) continue;
        out[count] = {2 * i + side, Vec3<double>::zero()};
        out[count++].n[i] = sign;
      }
    return count;
  }
  if (body.type != ShapeType::mesh) return 0;
  const ConvexMesh& mesh = *body.shape.mesh;
  const double slack = 1e-9 * mesh.bounding_radius;
  const int v = farthest_vertex(mesh, u, body.last_vertex);
  for (int k = mesh.vertex_face_begin[v]; k < mesh.vertex_face_begin[v + 1] && count < kMostFaces; ++k) {
    const int face = mesh.vertex_faces[k];
    const Vec3<double>& n = mesh.face_normals[face];
    if (dot(n, p - mesh.vertices[v]) > -slack) out[count++] = {face, n};
  }
  return count;
}

bool face_outline(const ConvexBody& body, const BodyFace& face, Outline& out) {
  out.n = face.n;
  if (body.type == ShapeType::box) {
    const int axis = face.index / 2;
    const double sign = face.index % 2 == 0 ? 1 : -1;
    for (int k = 0; k < 4; ++k) {
      const double turned = sign * (k == 0 || k == 3 ? 1 : -1);
      Vec3<double> corner = out.n;
      corner[(axis + 1) % 3] = turned;
      corner[(axis + 2) % 3] = k < 2 ? 1 : -1;
      out.point[out.count++] = box_corner(corner);
    }
    return true;
  }
  const ConvexMesh& mesh = *body.shape.mesh;
  const int begin = mesh.face_begin[face.index], end = mesh.face_begin[face.index + 1];
  if (end - begin > kMaxOutline) return false;
  for (int i = begin; i < end; ++i) out.point[out.count++] = mesh_point(mesh, mesh.face_vertices[i]);
  return true;
}

bool clip_case(const ConvexBody& first, const ConvexBody& second, bool first_owns, const Feature& owner,
               bool face_wanted, double margin, ClipCase& out) {
  const ConvexBody &reference = first_owns ? first : second, &incident = first_owns ? second : first;
  SizedPlane side[kMaxOutline];
  out = {};
  out.first_owns = first_owns;
  const int sides = sides_of(reference, owner, out.face, side);
  if (sides < 3) return false;
  Outline outline;
  const Vec3<double> n = reference.shape.R * out.face.n;
  if (!incident_outline(incident, -transpose_times(incident.shape.R, n), face_wanted, outline)) return false;
  out.round = outline.round;
  out.origin = outline.point[0];
  out.incident_n = outline.n;

  const IncidentFrame<double> frame = incident_frame(out, reference.shape, incident.shape);
  Polygon polygons[2], *now = &polygons[0], *next = &polygons[1];
  for (int k = 0; k < outline.count; ++k) {
    auto& c = now->corner[now->count++];
    c.v = incident_place(frame, outline.point[k], incident.shape.size);
    c.what.kind = ClipVertex::corner;
    c.what.p = outline.point[k];
    c.on = k;
  }
  const bool line = outline.count == 2;
  if (line &&
      reference.type == ShapeType::cylinder) {  // against the circle itself: a side where each end crosses it
    const Vec3<double> p = now->corner[0].v, d = now->corner[1].v - p;
    const double r = reference.shape.size[0], a = d.x * d.x + d.y * d.y, b = p.x * d.x + p.y * d.y,
                 c = p.x * p.x + p.y * p.y - r * r, square = b * b - a * c;
    if (a < 1e-20 || square <= 0) return false;
    int made = 0;
    for (double sign : {-1.0, 1.0}) {
      const Vec3<double> w = p + ((-b + sign * std::sqrt(square)) / a) * d;
      side[made++] = {{w.x / r, w.y / r, 0}, 0, 1, 0};
    }
  }
  const bool circle = line && reference.type == ShapeType::cylinder;
  const int cuts = circle ? 2 : sides;
  for (int s = 0; s < cuts && now->count > 0; ++s) {
    clip(*now, side, s, offset_of(side[s], reference.shape.size), circle, *next);
    std::swap(now, next);
    if (line && now->count < 2) return false;
  }
  const double radius = incident.radius(), offset = offset_of(out.face, reference.shape.size);
  Vec3<double> kept[2 * kMaxOutline];
  const Polygon::Corner* which[2 * kMaxOutline];
  int count = 0;
  double scale = 0;
  for (int s = 0; s < 3; ++s) scale = std::max(scale, std::abs(now->count > 0 ? now->corner[0].v[s] : 0));
  for (int k = 0; k < now->count; ++k) {
    const auto& c = now->corner[k];
    if (dot(out.face.n, c.v) - offset - radius > margin) continue;
    bool again = false;
    for (int m = 0; m < count; ++m) again |= squared_norm(kept[m] - c.v) < 1e-14 * (1 + scale * scale);
    if (again) continue;
    kept[count] = c.v;
    which[count++] = &c;
  }
  if (count < 1) return false;
  int chosen[kClipSlots];
  out.count = widest_four(kept, count, chosen);
  for (int k = 0; k < out.count; ++k) {
    const Polygon::Corner& c = *which[chosen[k]];
    out.vertex[k] = c.what;
    if (c.what.kind != ClipVertex::crossing) continue;
    out.vertex[k].p = outline.point[c.edge];
    out.vertex[k].q = outline.point[(c.edge + 1) % outline.count];
  }
  return true;
}

namespace {

template <class T>
Vec3<T> vertex_place(const ClipCase& c, const ClipVertex& v, const IncidentFrame<T>& f, const T* reference,
                     const T* incident, Mat3<T>& rows) {
  if (v.kind != ClipVertex::pillar) {
    const Vec3<T> p = incident_place(f, v.p, incident);
    if (v.kind == ClipVertex::corner) return p;
    const Vec3<T> d = incident_place(f, v.q, incident) - p, s = lifted<T>(v.side[0].n);
    return p + ((offset_of(v.side[0], reference) - dot(s, p)) / dot(s, d)) * d;
  }
  const Vec3<T> m = f.q * lifted<T>(c.incident_n);
  for (int i = 0; i < 3; ++i) {
    rows.e[0][i] = T(v.side[0].n[i]);
    rows.e[1][i] = T(v.side[1].n[i]);
    rows.e[2][i] = m[i];
  }
  return inverse(rows) * Vec3<T>{offset_of(v.side[0], reference), offset_of(v.side[1], reference),
                                 dot(m, incident_place(f, c.origin, incident))};
}

template <class T>
struct ClipBar {
  Vec3<T> c, bulge;
  Mat3<T> q;
  T* reference_size;
  T* incident_size;
};

template <class T>
void incident_place_vjp(const IncidentFrame<T>& f, const SizedPoint& p, const T* size, const Vec3<T>& bar,
                        ClipBar<T>& to) {
  Vec3<T> local_bar = Vec3<T>::zero();
  to.c += bar;
  times_vjp(f.q, point_of(p, size) + f.bulge, bar, to.q, local_bar);
  to.bulge += local_bar;
  for (int i = 0; i < 3; ++i) to.incident_size[p.which[i]] += p.multiple[i] * local_bar[i];
}

template <class T>
void vertex_place_vjp(const ClipCase& c, const ClipVertex& v, const IncidentFrame<T>& f, const T* reference,
                      const T* incident, const Vec3<T>& bar, ClipBar<T>& to) {
  if (v.kind == ClipVertex::corner) return incident_place_vjp(f, v.p, incident, bar, to);
  if (v.kind == ClipVertex::crossing) {
    const Vec3<T> p = incident_place(f, v.p, incident), d = incident_place(f, v.q, incident) - p;
    Vec3<T> s = lifted<T>(v.side[0].n);
    if (v.circle) {
      Mat3<T> unused;
      const Vec3<T> w = vertex_place(c, v, f, reference, incident, unused);
      s = {w.x / reference[0], w.y / reference[0], T(0)};
    }
    const T inverse_sd = T(1) / dot(s, d), t = (offset_of(v.side[0], reference) - dot(s, p)) * inverse_sd;
    const T t_bar = dot(d, bar) * inverse_sd;
    to.reference_size[v.side[0].which] += v.side[0].multiple * t_bar;
    const Vec3<T> d_bar = t * bar - (t * t_bar) * s;
    incident_place_vjp(f, v.p, incident, bar - t_bar * s - d_bar, to);
    incident_place_vjp(f, v.q, incident, d_bar, to);
    return;
  }
  Mat3<T> rows;
  const Vec3<T> place = vertex_place(c, v, f, reference, incident, rows),
                o = incident_place(f, c.origin, incident);
  const Vec3<T> l = transpose_times(inverse(rows), bar);  // rows place = (o_i, o_j, m.o)
  for (int k = 0; k < 2; ++k) to.reference_size[v.side[k].which] += v.side[k].multiple * l[k];
  const Vec3<T> m = f.q * lifted<T>(c.incident_n);
  to.q += outer(l.z * (o - place), lifted<T>(c.incident_n));
  incident_place_vjp(f, c.origin, incident, l.z * m, to);
}

}  // namespace

template <class T>
void clip_contacts(const ClipCase& c, const Shape<T>& reference, const Shape<T>& incident, const T& radius,
                   ContactPoint<T>* out) {
  const IncidentFrame<T> f = incident_frame(c, reference, incident);
  const Vec3<T> n = lifted<T>(c.face.n);
  const T offset = offset_of(c.face, reference.size);
  for (int k = 0; k < c.count; ++k) {
    Mat3<T> rows;
    const Vec3<T> v = vertex_place(c, c.vertex[k], f, reference.size, incident.size, rows);
    const T g = dot(n, v) - offset;
    out[k] = {g - radius, reference.x + reference.R * (v - (T(0.5) * (g + radius)) * n),
              reference.R * (T(c.first_owns ? 1.0 : -1.0) * n), Vec3<T>::zero()};
  }
}

template <class T>
void clip_contacts_vjp(const ClipCase& c, const Shape<T>& reference, const Shape<T>& incident,
                       const T& radius, const ContactPoint<T>* bar, ShapeBar<T>& reference_bar,
                       ShapeBar<T>& incident_bar, T& radius_bar) {
  const IncidentFrame<T> f = incident_frame(c, reference, incident);
  const Vec3<T> n = lifted<T>(c.face.n), zero = Vec3<T>::zero();
  const T offset = offset_of(c.face, reference.size), half(0.5);
  ClipBar<T> to = {zero, zero, Mat3<T>::zero(), reference_bar.size, incident_bar.size};
  for (int k = 0; k < c.count; ++k) {
    Mat3<T> rows;
    const Vec3<T> v = vertex_place(c, c.vertex[k], f, reference.size, incident.size, rows);
    const T g = dot(n, v) - offset;
    Vec3<T> w_bar = zero;
    reference_bar.x += bar[k].point;
    times_vjp(reference.R, v - (half * (g + radius)) * n, bar[k].point, reference_bar.R, w_bar);
    reference_bar.R += outer(bar[k].normal, T(c.first_owns ? 1.0 : -1.0) * n);
    const T along = half * dot(n, w_bar), g_bar = bar[k].dist - along;
    radius_bar -= bar[k].dist + along;
    reference_bar.size[c.face.which] -= c.face.multiple * g_bar;
    vertex_place_vjp(c, c.vertex[k], f, reference.size, incident.size, w_bar + g_bar * n, to);
  }
  if (c.round) {  // bulge = size_0 e, e = (u_x, u_y)/|.|, u = -Q^T n
    const Vec3<T> u = -transpose_times(f.q, n);
    const T inverse_length = T(1) / sqrt(u.x * u.x + u.y * u.y), ex = u.x * inverse_length,
            ey = u.y * inverse_length;
    const T along = ex * to.bulge.x + ey * to.bulge.y, scale = incident.size[0] * inverse_length;
    incident_bar.size[0] += along;
    const Vec3<T> u_bar = {scale * (to.bulge.x - along * ex), scale * (to.bulge.y - along * ey), T(0)};
    to.q -= outer(n, u_bar);
  }
  Vec3<T> offset_bar = zero;
  transpose_times_vjp(reference.R, incident.x - reference.x, to.c, reference_bar.R, offset_bar);
  incident_bar.x += offset_bar;
  reference_bar.x -= offset_bar;
  reference_bar.R += incident.R * transpose(to.q);
  incident_bar.R += reference.R * to.q;
}

#define COSTATE_INSTANTIATE(T)                                                                 \
  template void clip_contacts(const ClipCase&, const Shape<T>&, const Shape<T>&, const T&,     \
                              ContactPoint<T>*);                                               \
  template void clip_contacts_vjp(const ClipCase&, const Shape<T>&, const Shape<T>&, const T&, \
                                  const ContactPoint<T>*, ShapeBar<T>&, ShapeBar<T>&, T&)
COSTATE_INSTANTIATE(double);
COSTATE_INSTANTIATE(Dual<double>);

}  // namespace costate::geometry

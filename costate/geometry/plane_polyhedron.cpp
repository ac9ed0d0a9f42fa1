#include "costate/geometry/plane_polyhedron.h"

#include "costate/geometry/convex.h"
#include "costate/geometry/lanes.h"
#include "costate/geometry/plane_round.h"

namespace costate::geometry {

namespace {

template <class S>
COSTATE_INLINE ContactPoint<S> plane_point(const Shape<S>& plane, const Vec3<S>& p) {
  return plane_ball(plane.x, plane.R.column(2), p, S(0));
}
template <class S>
COSTATE_INLINE void plane_point_vjp(const Shape<S>& plane, const Vec3<S>& p, const ContactPoint<S>& bar,
                                    ShapeBar<S>& plane_bar, Vec3<S>& p_bar) {
  Vec3<S> n_bar = Vec3<S>::zero();
  S no_radius_bar(0);
  plane_ball_vjp(plane.x, plane.R.column(2), p, S(0), bar, plane_bar.x, n_bar, p_bar, no_radius_bar);
  add_to_column(plane_bar.R, 2, n_bar);
}

template <class S>
COSTATE_INLINE ContactPoint<S> masked(const mask_t<S>& m, const ContactPoint<S>& c) {
  const Vec3<S> zero = Vec3<S>::zero();
  return {select(m, c.dist, S(0)), select(m, c.point, zero), select(m, c.normal, zero),
          select(m, c.tangent, zero)};
}

constexpr int kBoxSlots = 4;

// Signs of the corners in each slot.
template <class S>
struct Corners {
  Vec3<S> sign[kBoxSlots];
  mask_t<S> filled[kBoxSlots];
};

template <class S>
COSTATE_INLINE Corners<S> lowest_corners(const Shape<S>& plane, const Shape<S>& box, const S& margin) {
  const S zero(0), one(1);
  const Vec3<S> n = plane.R.column(2);
  const S height = dot(n, box.x - plane.x);
  S along[3];  // how much a step of half a side changes the height
  for (int i = 0; i < 3; ++i) along[i] = dot(n, box.R.column(i)) * box.size[i];
  Corners<S> r;
  for (int k = 0; k < kBoxSlots; ++k) {
    const Vec3<S> sign = {S(k & 1 ? 1 : -1), S(k & 2 ? 1 : -1), -one};
    const S above = sign.x * along[0] + sign.y * along[1] + sign.z * along[2];
    r.sign[k] = select(above <= zero, sign, -sign);
    r.filled[k] = height - abs(above) <= margin;
  }
  return r;
}

template <class S>
COSTATE_INLINE Vec3<S> scaled(const Vec3<S>& sign, const S size[3]) {
  return {sign.x * size[0], sign.y * size[1], sign.z * size[2]};
}

// Support of an ellipsoid along -n.
template <class S>
struct EllipsoidSupport {
  Vec3<S> u, w;
  S inverse;  // 1 / L, 0 for an ellipsoid of no size
};
template <class S>
COSTATE_INLINE EllipsoidSupport<S> lowest_of_ellipsoid(const Vec3<S>& n, const Shape<S>& e) {
  EllipsoidSupport<S> r;
  r.u = transpose_times(e.R, n);
  const Vec3<S> stretched = scaled(r.u, e.size);
  const S square = squared_norm(stretched);
  const mask_t<S> none = square < S(value_t<S>(1e-30));
  r.inverse = select(none, S(0), S(1) / sqrt(select(none, S(1), square)));
  r.w = r.inverse * scaled(stretched, e.size);
  return r;
}

template <class S>
struct CylinderRim {
  Vec3<S> a, v, e, material;  // material: e in the body's frame, where it moves with the body
  S flip, lean, inverse;      // flip: a = flip axis; lean: n.a; inverse: 1/|v|
  mask_t<S> upright;
};
template <class S>
COSTATE_INLINE CylinderRim<S> lowest_of_cylinder(const Vec3<S>& n, const Shape<S>& c) {
  using T = value_t<S>;
  const S one(1);
  CylinderRim<S> r;
  const Vec3<S> axis = c.R.column(2);
  r.flip = select(dot(n, axis) > S(0), S(-1), one);
  r.a = r.flip * axis;
  r.lean = dot(n, r.a);
  r.v = r.lean * r.a - n;
  const S square = squared_norm(r.v);
  const mask_t<S> exactly = square < S(T(1e-30));
  r.upright = square < S(T(1e-10));
  r.inverse = one / sqrt(select(exactly, one, square));
  const Vec3<S> tilted = r.inverse * r.v;
  const Vec3<S> local = transpose_times(c.R, tilted);
  r.material =
      select(exactly, Vec3<S>{one, S(0), S(0)}, Vec3<S>{held(local.x), held(local.y), held(local.z)});
  r.e = select(r.upright, c.R * r.material, tilted);
  return r;
}

const double kSine60 = std::sqrt(3.0) / 2;

}  // namespace

// --- box -------------------------------------------------------------------------------------------

template <class S>
void plane_box(const Shape<S>& plane, const Shape<S>& box, const S& margin, ContactPoint<S>* out) {
  const Corners<S> corners = lowest_corners(plane, box, margin);
  for (int k = 0; k < kBoxSlots; ++k) {
    out[k] = plane_point(plane, box.x + box.R * scaled(corners.sign[k], box.size));
    out[k].dist = select(corners.filled[k], out[k].dist, S(value_t<S>(kFar)));
  }
}

template <class S>
void plane_box_vjp(const Shape<S>& plane, const Shape<S>& box, const S& margin, const ContactPoint<S>* bar,
                   ShapeBar<S>& plane_bar, ShapeBar<S>& box_bar) {
  const Corners<S> corners = lowest_corners(plane, box, margin);
  for (int k = 0; k < kBoxSlots; ++k) {
    const Vec3<S> local = scaled(corners.sign[k], box.size);
    Vec3<S> p_bar = Vec3<S>::zero(), local_bar = Vec3<S>::zero();
    plane_point_vjp(plane, box.x + box.R * local, masked(corners.filled[k], bar[k]), plane_bar, p_bar);
    box_bar.x += p_bar;
    times_vjp(box.R, local, p_bar, box_bar.R, local_bar);
    for (int i = 0; i < 3; ++i) box_bar.size[i] += corners.sign[k][i] * local_bar[i];
  }
}

// --- ellipsoid -------------------------------------------------------------------------------------

template <class S>
void plane_ellipsoid(const Shape<S>& plane, const Shape<S>& ellipsoid, const S&, ContactPoint<S>* out) {
  const Vec3<S> w = lowest_of_ellipsoid(plane.R.column(2), ellipsoid).w;
  out[0] = plane_point(plane, ellipsoid.x - ellipsoid.R * w);
}

template <class S>
void plane_ellipsoid_vjp(const Shape<S>& plane, const Shape<S>& ellipsoid, const S&,
                         const ContactPoint<S>* bar, ShapeBar<S>& plane_bar, ShapeBar<S>& ellipsoid_bar) {
  const Vec3<S> n = plane.R.column(2);
  const EllipsoidSupport<S> s = lowest_of_ellipsoid(n, ellipsoid);
  Vec3<S> p_bar = Vec3<S>::zero(), minus_w_bar = Vec3<S>::zero();
  plane_point_vjp(plane, ellipsoid.x - ellipsoid.R * s.w, bar[0], plane_bar, p_bar);
  ellipsoid_bar.x += p_bar;
  times_vjp(ellipsoid.R, -s.w, p_bar, ellipsoid_bar.R, minus_w_bar);
  // w = size^2 o u / L, L = |size o u|
  const Vec3<S> w_bar = -minus_w_bar;
  const S L_bar = -(dot(s.w, w_bar) * s.inverse);
  Vec3<S> u_bar, n_bar = Vec3<S>::zero();
  for (int i = 0; i < 3; ++i) {
    const S size = ellipsoid.size[i], stretched_bar = (L_bar * size * s.u[i] + size * w_bar[i]) * s.inverse;
    u_bar[i] = size * stretched_bar;
    ellipsoid_bar.size[i] += s.u[i] * (stretched_bar + size * w_bar[i] * s.inverse);
  }
  transpose_times_vjp(ellipsoid.R, n, u_bar, ellipsoid_bar.R, n_bar);
  add_to_column(plane_bar.R, 2, n_bar);
}

// --- cylinder --------------------------------------------------------------------------------------

template <class S>
void plane_cylinder(const Shape<S>& plane, const Shape<S>& cylinder, const S&, ContactPoint<S>* out) {
  const S half(value_t<S>(0.5)), sine = S(value_t<S>(kSine60)), &radius = cylinder.size[0];
  const CylinderRim<S> rim = lowest_of_cylinder(plane.R.column(2), cylinder);
  const Vec3<S> to_rim = radius * rim.e, to_cap = cylinder.size[1] * rim.a;
  const Vec3<S> side = (sine * radius) * cross(rim.e, rim.a);
  const Vec3<S> back = cylinder.x + to_cap - half * to_rim;
  out[0] = plane_point(plane, cylinder.x + to_rim + to_cap);
  out[1] = plane_point(plane, cylinder.x + to_rim - to_cap);
  out[2] = plane_point(plane, back + side);
  out[3] = plane_point(plane, back - side);
}

template <class S>
void plane_cylinder_vjp(const Shape<S>& plane, const Shape<S>& cylinder, const S&, const ContactPoint<S>* bar,
                        ShapeBar<S>& plane_bar, ShapeBar<S>& cylinder_bar) {
  const S half(value_t<S>(0.5)), sine = S(value_t<S>(kSine60)), &radius = cylinder.size[0];
  const Vec3<S> n = plane.R.column(2), zero = Vec3<S>::zero();
  const CylinderRim<S> rim = lowest_of_cylinder(n, cylinder);
  const Vec3<S> to_rim = radius * rim.e, to_cap = cylinder.size[1] * rim.a;
  const Vec3<S> across = cross(rim.e, rim.a);
  const Vec3<S> side = (sine * radius) * across;
  const Vec3<S> back = cylinder.x + to_cap - half * to_rim;
  Vec3<S> near_bar = zero, far_bar = zero, left_bar = zero, right_bar = zero;
  plane_point_vjp(plane, cylinder.x + to_rim + to_cap, bar[0], plane_bar, near_bar);
  plane_point_vjp(plane, cylinder.x + to_rim - to_cap, bar[1], plane_bar, far_bar);
  plane_point_vjp(plane, back + side, bar[2], plane_bar, left_bar);
  plane_point_vjp(plane, back - side, bar[3], plane_bar, right_bar);

  const Vec3<S> back_bar = left_bar + right_bar, side_bar = sine * (left_bar - right_bar);
  const Vec3<S> to_rim_bar = near_bar + far_bar - half * back_bar, to_cap_bar = near_bar - far_bar + back_bar;
  cylinder_bar.x += near_bar + far_bar + back_bar;
  cylinder_bar.size[1] += dot(rim.a, to_cap_bar);
  cylinder_bar.size[0] += dot(rim.e, to_rim_bar) + dot(across, side_bar);
  const Vec3<S> across_bar = radius * side_bar;
  Vec3<S> e_bar = radius * to_rim_bar + cross(rim.a, across_bar);
  Vec3<S> a_bar = cylinder.size[1] * to_cap_bar + cross(across_bar, rim.e);

  // e: a point of the body, or v / |v|
  const Vec3<S> tilted = rim.inverse * rim.v;
  cylinder_bar.R += outer(select(rim.upright, e_bar, zero), rim.material);
  const Vec3<S> v_bar = select(rim.upright, zero, normalized_vjp(tilted, rim.inverse, e_bar));
  // v = lean a - n, lean = n.a
  const S lean_bar = dot(rim.a, v_bar);
  a_bar += rim.lean * v_bar + lean_bar * n;
  add_to_column(plane_bar.R, 2, lean_bar * rim.a - v_bar);
  add_to_column(cylinder_bar.R, 2, rim.flip * a_bar);
}

// --- mesh ------------------------------------------------------------------------------------------

namespace {

constexpr int kMeshSlots = 4;

struct LowestVertices {
  int count = 0;
  int vertex[kMeshSlots];
};

LowestVertices lowest_vertices(const Shape<double>& plane, const Shape<double>& body, double margin) {
  const ConvexMesh& mesh = *body.mesh;
  const Vec3<double> n = plane.R.column(2), up = transpose_times(body.R, n);
  const double centre_height = dot(n, body.x - plane.x);
  const auto vertex = [&](int i) -> const Vec3<double>& { return mesh.vertices[i]; };
  LowestVertices r;
  const int lowest = farthest_vertex(mesh, -up);
  r.vertex[r.count++] = lowest;
  int face = -1;
  double most = 2;
  for (int k = mesh.vertex_face_begin[lowest]; k < mesh.vertex_face_begin[lowest + 1]; ++k) {
    const int f = mesh.vertex_faces[k];
    const double cosine = dot(up, mesh.face_normals[f]);
    if (cosine < most) {
      most = cosine;
      face = f;
    }
  }
  // Places round the face, counted from the lowest vertex, of what counts.
  const int begin = mesh.face_begin[face], size = mesh.face_begin[face + 1] - begin;
  int start = 0;
  while (mesh.face_vertices[begin + start] != lowest) ++start;
  const auto round = [&](int k) { return mesh.face_vertices[begin + (start + k) % size]; };
  const auto below = [&](int i) { return dot(up, vertex(i)); };
  const auto counts = [&](int k) {
    return below(round(k)) <= 0 && centre_height + below(round(k)) <= margin;
  };
  int candidates = 0, farthest = 0, left = 0, right = 0;
  double far = -1, far_left = 0, far_right = 0;
  for (int k = 1; k < size; ++k) {
    if (!counts(k)) continue;
    ++candidates;
    const double d = squared_norm(vertex(round(k)) - vertex(lowest));
    if (d > far) {
      far = d;
      farthest = k;
    }
  }
  // The lowest first; of those as low as each other the first round the face.
  const auto insert = [&](int i) {
    int at = std::min(r.count, kMeshSlots - 1);
    if (r.count == kMeshSlots && !(below(i) < below(r.vertex[at]))) return;
    for (; at > 0 && below(i) < below(r.vertex[at - 1]); --at) r.vertex[at] = r.vertex[at - 1];
    r.vertex[at] = i;
    r.count = std::min(r.count + 1, kMeshSlots);
  };
  if (candidates < kMeshSlots) {
    for (int k = 1; k < size; ++k)
      if (below(round(k)) <= 0) insert(round(k));
    return r;
  }
  const Vec3<double> across = cross(mesh.face_normals[face], vertex(round(farthest)) - vertex(lowest));
  for (int k = 1; k < size; ++k) {
    if (!counts(k) || k == farthest) continue;
    const double side = dot(across, vertex(round(k)) - vertex(lowest));
    if (side < far_left) {
      far_left = side;
      left = k;
    }
    if (side > far_right) {
      far_right = side;
      right = k;
    }
  }
  for (int k = 1; k < size; ++k)
    if (k == farthest || (k == left && left > 0) || (k == right && right > 0)) insert(round(k));
  return r;
}

template <class T>
Vec3<T> vertex_of(const ConvexMesh& mesh, int i) {
  const Vec3<double>& v = mesh.vertices[i];
  return {T(v.x), T(v.y), T(v.z)};
}

}  // namespace

template <class S>
void plane_mesh(const Shape<S>& plane, const Shape<S>& mesh, const S& margin, ContactPoint<S>* out) {
  in_lanes<kMeshSlots>(plane, mesh, margin, out, [](const auto& p, const auto& m, double reach, auto* found) {
    using T = lane_t<S>;
    const LowestVertices lowest = lowest_vertices(plain(p), plain(m), reach);
    for (int k = 0; k < lowest.count; ++k)
      found[k] = plane_point(p, m.x + m.R * vertex_of<T>(*m.mesh, lowest.vertex[k]));
  });
}

template <class S>
void plane_mesh_vjp(const Shape<S>& plane, const Shape<S>& mesh, const S& margin, const ContactPoint<S>* bar,
                    ShapeBar<S>& plane_bar, ShapeBar<S>& mesh_bar) {
  in_lanes_vjp<kMeshSlots>(
      plane, mesh, margin, bar, plane_bar, mesh_bar,
      [](const auto& p, const auto& m, double reach, const auto* b, auto& p_bar, auto& m_bar) {
        using T = lane_t<S>;
        const LowestVertices lowest = lowest_vertices(plain(p), plain(m), reach);
        for (int k = 0; k < lowest.count; ++k) {
          const Vec3<T> local = vertex_of<T>(*m.mesh, lowest.vertex[k]);
          Vec3<T> point_bar = Vec3<T>::zero();
          plane_point_vjp(p, m.x + m.R * local, b[k], p_bar, point_bar);
          m_bar.x += point_bar;
          m_bar.R += outer(point_bar, local);
        }
      });
}

#define COSTATE_INSTANTIATE(S)                      \
  COSTATE_GEOMETRY_INSTANTIATE(plane_box, S);       \
  COSTATE_GEOMETRY_INSTANTIATE(plane_ellipsoid, S); \
  COSTATE_GEOMETRY_INSTANTIATE(plane_cylinder, S);  \
  COSTATE_GEOMETRY_INSTANTIATE(plane_mesh, S)
COSTATE_GEOMETRY_SCALARS(COSTATE_INSTANTIATE);

}  // namespace costate::geometry

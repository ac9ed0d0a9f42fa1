#include "costate/geometry/convex_feature.h"

#include <algorithm>

namespace costate::geometry {

namespace {

// A normal this close to being across an edge or a face may belong to it.
constexpr double kNear = 0.1;

void box_features(const ConvexBody& body, const Vec3<double>& u, Feature* out, int& count) {
  const double* size = body.shape.size;
  for (int flats = 2; flats >= 0; --flats)
    for (int mask = 0; mask < 8; ++mask) {  // bit i: flat along i
      int bits = 0;
      bool near = true;
      for (int i = 0; i < 3; ++i)
        if (mask & (1 << i)) {
          ++bits;
          near &= std::abs(u[i]) < kNear;
        }
      if (bits != flats || !near) continue;
      // A corner whose side along a flat direction is not decided by u stands for both.
      Feature f;
      for (int i = 0; i < 3; ++i) {
        if (mask & (1 << i)) {
          f.flat[f.flats] = Vec3<double>::zero();
          f.flat[f.flats][i] = 1;
          f.low[f.flats] = -size[i];
          f.high[f.flats++] = size[i];
        } else
          f.multiple[i] = u[i] >= 0 ? 1 : -1;
      }
      out[count++] = f;
    }
}

void cylinder_features(const ConvexBody& body, const Vec3<double>& u, Feature* out, int& count) {
  const double* size = body.shape.size;
  Feature cap, side, rim;
  cap.which[2] = rim.which[2] = 1;
  cap.multiple[2] = rim.multiple[2] = u.z >= 0 ? 1 : -1;
  cap.flats = 2;
  cap.flat[0] = {1, 0, 0};
  cap.flat[1] = {0, 1, 0};
  side.curve = rim.curve = Feature::round;
  side.flats = 1;
  side.flat[0] = {0, 0, 1};
  side.low[0] = -size[1];
  side.high[0] = size[1];
  const double across = std::hypot(u.x, u.y);
  if (across < kNear) out[count++] = cap;
  if (std::abs(u.z) < kNear) {
    out[count++] = side;
    Feature other = rim;
    other.multiple[2] = -rim.multiple[2];
    if (across > 1e-9) out[count++] = other;
  }
  if (across > 1e-9) out[count++] = rim;
}

void capsule_features(const ConvexBody& body, const Vec3<double>& u, Feature* out, int& count) {
  Feature end;
  end.which[2] = 1;
  end.multiple[2] = u.z >= 0 ? 1 : -1;
  if (std::abs(u.z) < kNear) {
    Feature axis;
    axis.flats = 1;
    axis.flat[0] = {0, 0, 1};
    axis.low[0] = -body.shape.size[1];
    axis.high[0] = body.shape.size[1];
    out[count++] = axis;
    Feature other = end;
    other.multiple[2] = -end.multiple[2];
    out[count++] = other;
  }
  out[count++] = end;
}

void mesh_features(ConvexBody& body, const Vec3<double>& u, Feature* out, int& count) {
  const ConvexMesh& mesh = *body.shape.mesh;
  body.last_vertex = farthest_vertex(mesh, u, body.last_vertex);
  const int v = body.last_vertex;
  const Vec3<double>& a = mesh.vertices[std::size_t(v)];
  for (int k = mesh.vertex_face_begin[std::size_t(v)]; k < mesh.vertex_face_begin[std::size_t(v) + 1]; ++k) {
    const int face = mesh.vertex_faces[std::size_t(k)];
    const Vec3<double>& n = mesh.face_normals[std::size_t(face)];
    if (squared_norm(cross(n, u)) > kNear * kNear || count >= 4) continue;
    Feature f;
    f.fixed = a;
    f.flats = 2;
    const Vec3<double> seed = std::abs(n.x) < 0.6 ? Vec3<double>{1, 0, 0} : Vec3<double>{0, 1, 0};
    f.flat[0] = normalized(cross(n, seed));
    f.flat[1] = cross(n, f.flat[0]);
    f.face = face;
    out[count++] = f;
  }
  // Edges from this vertex, and those of its near faces, most across the direction first.
  struct Edge {
    int from, to;
    double slope;
  };
  Edge edges[16];
  int edge_count = 0;
  const auto offer = [&](int i, int j) {
    const Vec3<double> e = mesh.vertices[std::size_t(j)] - mesh.vertices[std::size_t(i)];
    const double slope = std::abs(dot(u, e)) / std::sqrt(squared_norm(e));
    if (slope < kNear && edge_count < 16) edges[edge_count++] = {i, j, slope};
  };
  for (int k = mesh.neighbour_begin[std::size_t(v)]; k < mesh.neighbour_begin[std::size_t(v) + 1]; ++k)
    offer(v, mesh.neighbours[std::size_t(k)]);
  std::sort(edges, edges + edge_count, [](const Edge& x, const Edge& y) { return x.slope < y.slope; });
  for (int k = 0; k < edge_count && count < kMaxFeatures - 4; ++k) {
    const Vec3<double>&p = mesh.vertices[std::size_t(edges[k].from)],
          &q = mesh.vertices[std::size_t(edges[k].to)];
    Feature f;
    f.fixed = p;
    f.flats = 1;
    f.high[0] = std::sqrt(squared_norm(q - p));
    f.flat[0] = (1 / f.high[0]) * (q - p);
    out[count++] = f;
  }
  Feature corner;
  corner.fixed = a;
  out[count++] = corner;
  // A face that looks along u is held up by any of its corners.
  for (int k = 0; k < edge_count && count < kMaxFeatures; ++k) {
    corner.fixed = mesh.vertices[std::size_t(edges[k].to)];
    out[count++] = corner;
  }
}

}  // namespace

int features_towards(ConvexBody& body, const Vec3<double>& m, Feature* out) {
  const Vec3<double> u = transpose_times(body.shape.R, m);
  int count = 0;
  switch (body.type) {
    case ShapeType::capsule:
      capsule_features(body, u, out, count);
      break;
    case ShapeType::ellipsoid:
      out[count++].curve = Feature::ellipsoid;
      break;
    case ShapeType::cylinder:
      cylinder_features(body, u, out, count);
      break;
    case ShapeType::box:
      box_features(body, u, out, count);
      break;
    case ShapeType::mesh:
      mesh_features(body, u, out, count);
      break;
    default:
      ++count;  // a sphere's centre
  }
  return count;
}

double beyond(const ConvexBody& body, const Feature& f, const double* t) {
  if (f.face >= 0) {
    const ConvexMesh& mesh = *body.shape.mesh;
    const Vec3<double> p = f.fixed + t[0] * f.flat[0] + t[1] * f.flat[1];
    const Vec3<double>& n = mesh.face_normals[std::size_t(f.face)];
    const int begin = mesh.face_begin[std::size_t(f.face)], end = mesh.face_begin[std::size_t(f.face) + 1];
    double most = 0;
    for (int k = begin; k < end; ++k) {
      const Vec3<double>& a = mesh.vertices[std::size_t(mesh.face_vertices[std::size_t(k)])];
      const Vec3<double>& b =
          mesh.vertices[std::size_t(mesh.face_vertices[std::size_t(k + 1 == end ? begin : k + 1)])];
      const Vec3<double> outward = cross(b - a, n);
      most = std::max(most, dot(outward, p - a) / std::sqrt(squared_norm(outward)));
    }
    return most;
  }
  if (body.type == ShapeType::cylinder && f.flats == 2)
    return std::max(0.0, std::hypot(t[0], t[1]) - body.shape.size[0]);
  double most = 0;
  for (int j = 0; j < f.flats; ++j) most = std::max({most, t[j] - f.high[j], f.low[j] - t[j]});
  return most;
}

}  // namespace costate::geometry

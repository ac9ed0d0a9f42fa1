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

// Two flat directions across a normal.
void set_flats(Feature& f, const Vec3<double>& n) {
  const Vec3<double> seed = std::abs(n.x) < 0.6 ? Vec3<double>{1, 0, 0} : Vec3<double>{0, 1, 0};
  f.flats = 2;
  f.flat[0] = normalized(cross(n, seed));
  f.flat[1] = cross(n, f.flat[0]);
}

void mesh_features(ConvexBody& body, const Vec3<double>& u, Feature* out, int& count) {
  const ConvexMesh& mesh = *body.shape.mesh;
  body.last_vertex = farthest_vertex(mesh, u, body.last_vertex);
  const int v = body.last_vertex;
  const Vec3<double>& a = mesh.vertices[v];
  for (int k = mesh.vertex_face_begin[v]; k < mesh.vertex_face_begin[v + 1]; ++k) {
    const int face = mesh.vertex_faces[k];
    const Vec3<double>& n = mesh.face_normals[face];
    if (squared_norm(cross(n, u)) > kNear * kNear || count >= 4) continue;
    Feature f;
    f.fixed = a;
    set_flats(f, n);
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
    const Vec3<double> e = mesh.vertices[j] - mesh.vertices[i];
    const double slope = std::abs(dot(u, e)) / std::sqrt(squared_norm(e));
    if (slope < kNear && edge_count < 16) edges[edge_count++] = {i, j, slope};
  };
  for (int k = mesh.neighbour_begin[v]; k < mesh.neighbour_begin[v + 1]; ++k) offer(v, mesh.neighbours[k]);
  std::sort(edges, edges + edge_count, [](const Edge& x, const Edge& y) { return x.slope < y.slope; });
  for (int k = 0; k < edge_count && count < kMaxFeatures - 4; ++k) {
    const Vec3<double>&p = mesh.vertices[edges[k].from], &q = mesh.vertices[edges[k].to];
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
    corner.fixed = mesh.vertices[edges[k].to];
    out[count++] = corner;
  }
}

// Corners of a prism's faces, counterclockwise from outside: bottom, top, sides.
constexpr int kPrismFace[5][4] = {{0, 2, 1, -1}, {3, 4, 5, -1}, {0, 1, 4, 3}, {1, 2, 5, 4}, {2, 0, 3, 5}};
constexpr int kPrismEdge[9][2] = {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}, {0, 3}, {1, 4}, {2, 5}};

// Whichever way round the prism's triangle runs, normals point out.
Vec3<double> prism_normal(const Vec3<double>* v, int face) {
  const int* k = kPrismFace[face];
  const Vec3<double> n = normalized(cross(v[k[1]] - v[k[0]], v[k[2]] - v[k[0]]));
  Vec3<double> centre = Vec3<double>::zero();
  for (int i = 0; i < 6; ++i) centre += (1.0 / 6) * v[i];
  return dot(n, v[k[0]] - centre) < 0 ? -n : n;
}

void prism_features(const ConvexBody& body, const Vec3<double>& u, Feature* out, int& count) {
  const Vec3<double>* v = body.prism;
  double far[6], most = -1e300, size = 0;
  for (int k = 0; k < 6; ++k) {
    far[k] = dot(u, v[k]);
    most = std::max(most, far[k]);
    size = std::max(size, std::sqrt(squared_norm(v[k] - v[0])));
  }
  for (int face = 0; face < 5; ++face) {
    const Vec3<double> n = prism_normal(v, face);
    if (dot(n, u) < 0 || squared_norm(cross(n, u)) > kNear * kNear) continue;
    Feature f;
    f.fixed = v[kPrismFace[face][0]];
    set_flats(f, n);
    f.face = face;
    out[count++] = f;
  }
  for (const auto& e : kPrismEdge) {
    if (count >= kMaxFeatures - 4 || std::min(far[e[0]], far[e[1]]) < most - kNear * size) continue;
    Feature f;
    f.fixed = v[e[0]];
    f.flats = 1;
    f.high[0] = std::sqrt(squared_norm(v[e[1]] - v[e[0]]));
    if (f.high[0] < 1e-12) continue;
    f.flat[0] = (1 / f.high[0]) * (v[e[1]] - v[e[0]]);
    out[count++] = f;
  }
  for (int k = 0; k < 6 && count < kMaxFeatures; ++k) {
    if (far[k] < most - kNear * size) continue;
    Feature f;
    f.fixed = v[k];
    out[count++] = f;
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
    case ShapeType::heightfield:
      prism_features(body, u, out, count);
      break;
    default:
      ++count;  // a sphere's centre
  }
  return count;
}

double beyond(const ConvexBody& body, const Feature& f, const double* t) {
  if (f.face >= 0 && body.prism) {
    const Vec3<double> p = f.fixed + t[0] * f.flat[0] + t[1] * f.flat[1],
                       n = prism_normal(body.prism, f.face);
    const int* k = kPrismFace[f.face];
    const int corners = k[3] < 0 ? 3 : 4;
    Vec3<double> centre = Vec3<double>::zero();
    for (int i = 0; i < corners; ++i) centre += (1.0 / corners) * body.prism[k[i]];
    double most = 0;
    for (int i = 0; i < corners; ++i) {
      const Vec3<double>&a = body.prism[k[i]], &b = body.prism[k[(i + 1) % corners]];
      Vec3<double> outward = cross(b - a, n);
      const double length = std::sqrt(squared_norm(outward));
      if (length < 1e-12) continue;
      if (dot(outward, centre - a) > 0) outward = -outward;
      most = std::max(most, dot(outward, p - a) / length);
    }
    return most;
  }
  if (f.face >= 0) {
    const ConvexMesh& mesh = *body.shape.mesh;
    const Vec3<double> p = f.fixed + t[0] * f.flat[0] + t[1] * f.flat[1];
    const Vec3<double>& n = mesh.face_normals[f.face];
    const int begin = mesh.face_begin[f.face], end = mesh.face_begin[f.face + 1];
    double most = 0;
    for (int k = begin; k < end; ++k) {
      const Vec3<double>& a = mesh.vertices[mesh.face_vertices[k]];
      const Vec3<double>& b = mesh.vertices[mesh.face_vertices[k + 1 == end ? begin : k + 1]];
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
